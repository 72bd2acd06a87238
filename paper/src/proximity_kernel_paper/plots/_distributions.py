"""Scores over tables: for each method the box and the points themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import INK, Look, house_style, looks, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

_BOX = 0.07  # half its height, where the rows are 1 apart
_GOLDEN = 0.618033988749895


def draw_distributions(
    scores_by_method: Mapping[str, ArrayLike],
    *,
    xlabel: str = "score",
    highlight: Collection[str] = (),
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw a box and the points of each method, the largest median on top.

    The box reaches from the first to the third quartile with a line at the median, its
    whiskers to the last points within one and a half times its length.

    Parameters
    ----------
    scores_by_method : mapping from str to array-like of shape (n_tables,)
        NaN, a table without a score, is left out. A method with fewer scores than
        another says how many it has. One without any comes last.
    xlabel : str, default="score"
        What is scored.
    highlight : collection of str, default=()
        Names written in bold.
    names : sequence of str, optional
        All names, in the order that gives the looks; as given by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from proximity_kernel_paper.plots import draw_distributions
    >>> ax = draw_distributions({"Mean": [0.1, 0.3, 0.2], "PK": [0.5, 0.9, 0.6]})
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['PK', 'Mean']
    """
    scores = {name: _observed(values) for name, values in scores_by_method.items()}
    order = sorted(scores, key=lambda name: -_median(scores[name]))
    known = looks(scores, names)
    with house_style():
        ax = new_axes(6.0, 0.9 + 0.42 * len(order))
        for row, name in enumerate(order):
            _draw_box(ax, scores[name], row)
            _draw_points(ax, scores[name], row, known[name])
        ax.set_yticks(range(len(order)), _labels(order, scores))
        for text, name in zip(ax.get_yticklabels(), order, strict=True):
            text.set_fontweight("bold" if name in highlight else "normal")
        ax.set(xlabel=xlabel, ylim=(len(order) - 0.5, -0.55))
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
    return ax


def _observed(values: ArrayLike) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = np.asarray(values, dtype=float)
    return numbers[~np.isnan(numbers)]


def _median(scores: NDArray[np.float64]) -> float:
    return float(np.median(scores)) if len(scores) else -np.inf


def _labels(
    order: Sequence[str], scores: Mapping[str, NDArray[np.float64]]
) -> list[str]:
    most = max(map(len, scores.values()))
    return [
        name if len(scores[name]) == most else f"{name} ({len(scores[name])} of {most})"
        for name in order
    ]


def _draw_box(ax: Axes, scores: NDArray[np.float64], row: int) -> None:
    from matplotlib.cbook import boxplot_stats
    from matplotlib.patches import Rectangle

    if not len(scores):
        return
    box = boxplot_stats(scores)[0]
    for end, quartile in (("whislo", "q1"), ("whishi", "q3")):
        ax.plot([box[end], box[quartile]], [row, row], color=INK, lw=0.8)
    corner, width = (box["q1"], row - _BOX), box["q3"] - box["q1"]
    ax.add_patch(
        Rectangle(corner, width, 2 * _BOX, facecolor="white", edgecolor=INK, lw=0.8)
    ).set_zorder(3)
    median = [box["med"]] * 2
    ax.plot(median, [row - _BOX, row + _BOX], color=INK, lw=2.2, zorder=4)


def _draw_points(ax: Axes, points: NDArray[np.float64], row: int, look: Look) -> None:
    """Points under the box; multiples of the golden ratio keep neighbours apart."""
    place = np.arange(1, len(points) + 1) * _GOLDEN % 1
    ax.scatter(
        points,
        row + _BOX + 0.08 + 0.22 * place,
        s=14 * look.scale**2,
        color=look.color,
        marker=look.marker,
        linewidths=0,
        alpha=0.8,
    )
