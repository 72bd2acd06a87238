"""What the tests of the plots share: one of each figure, and ways to read them."""

import numpy as np

from proximity_kernel_paper.plots import (
    draw_bins,
    draw_critical_difference,
    draw_distributions,
    draw_lines,
    draw_scatter,
    make_panels,
)
from proximity_kernel_paper.plots._style import house_style

METHODS = ["Mean", "MissForest", "MICE", "KNN", "EM", "GAIN", "MIRACLE", "MIWAE"]
METHODS += ["HI-PMK", "PK", "prior only", "mean or mode"]
NAN = float("nan")
SKEWED = [1, 2, 3, 9], [1, 3, 9], [2, 6]  # values, centers, borders
RANKS = dict(
    zip(
        METHODS,
        [8.1, 5.2, 6.3, 5.6, 5.7, 9.9, 8.4, 8.2, 4.0, 1.9, 3.9, 6.1],
        strict=True,
    )
)
GROUPS = [["PK", "prior only", "HI-PMK"], ["MissForest", "MICE", "KNN"]]
SAVING = """
from proximity_kernel_paper.plots import draw_scatter, save_figure
save_figure(draw_scatter({"PK": ([1, 2], [1, 2])}).figure, "figure")
"""


def lines(*arguments, **options):
    """Draw lines on axes of their own."""
    _, [ax] = make_panels(["table"], size=(3, 2))
    draw_lines(ax, *arguments, **options)
    return ax


def draw_all():
    """One of each figure, by name."""
    few = METHODS[:3]
    return {
        "bins": draw_bins(*map(np.array, SKEWED), {"pair": (1, 2)}),
        "ranks": draw_critical_difference(RANKS, GROUPS, 4.6),
        "distributions": draw_distributions({name: [1, 2, 4] for name in few}),
        "lines": lines([1, 2], {name: [1, 2] for name in few}),
        "scatter": draw_scatter({name: ([1, 2], [1, 2]) for name in few}),
    }


def line(ax, label):
    (found,) = [one for one in ax.lines if one.get_label() == label]
    return found


def with_gid(ax, gid):
    return [one for one in ax.lines if one.get_gid() == gid]


def said(ax):
    return [text.get_text() for text in ax.texts]


def overlaps(texts, renderer):
    boxes = [text.get_window_extent(renderer) for text in texts]
    return [
        (one.get_text(), other.get_text())
        for place, one in enumerate(texts)
        for above, other in enumerate(texts[:place])
        if boxes[place].overlaps(boxes[above])
    ]


def renderer_of(figure):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with house_style():
        canvas.draw()
    return canvas.get_renderer()
