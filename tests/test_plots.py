"""Figures are read back through their axes: what is drawn, where, and in what order."""

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from proximity_kernel import plots
from proximity_kernel.plots import (
    draw_bars,
    draw_bins,
    draw_critical_difference,
    draw_distributions,
    draw_lines,
    make_panels,
    save_figure,
    share_legend,
)
from proximity_kernel.plots._ranks import _levels
from proximity_kernel.plots._style import house_style, looks

METHODS = ["Mean", "MissForest", "MICE", "KNN", "EM", "GAIN", "MIRACLE", "MIWAE"]
METHODS += ["HI-PMK", "PK", "prior only", "mode/mean, then bins"]
NAN = float("nan")
RANKS = dict(
    zip(
        METHODS,
        [8.1, 5.2, 6.3, 5.6, 5.7, 9.9, 8.4, 8.2, 4.0, 1.9, 3.9, 6.1],
        strict=True,
    )
)
GROUPS = [["PK", "prior only", "HI-PMK"], ["MissForest", "MICE", "KNN"], ["GAIN"]]
SAVING = """
from proximity_kernel.plots import draw_lines, save_figure
save_figure(draw_lines([1, 2], {"PK": [1, 2]}).figure, "figure")
"""


def draw_all():
    """One of each figure, by name."""
    few = METHODS[:3]
    return {
        "bars": draw_bars({"adult": {"ours": 0.2, "paper": 0.3}}),
        "bins": draw_bins([1, 2, 3, 9], [1, 3, 9], [2, 6], {"pair": (1, 2)}),
        "ranks": draw_critical_difference(RANKS, GROUPS, 4.6),
        "distributions": draw_distributions({name: [1, 2, 4] for name in few}),
        "lines": draw_lines([1, 2], {name: [1, 2] for name in few}),
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


# ------------------------------------------------------------------------ the room


def test_all_is_sorted_and_exact():
    members = {name for name in vars(plots) if name.startswith(("draw", "make"))}
    assert members | {"save_figure", "share_legend"} == set(plots.__all__)
    assert plots.__all__ == sorted(plots.__all__)


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import proximity_kernel.plots", "matplotlib"),
        (SAVING, "matplotlib.pyplot"),
    ],
)
def test_matplotlib_is_imported_late_and_pyplot_never(code, absent, tmp_path):
    code += f"\nimport sys; sys.exit({absent!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: draw_lines([1], {"PK": [1]}),
        lambda: draw_bars({"adult": {"PK": 1}}),
        lambda: draw_bins([1, 2], [1, 2], [1.5], {}),
        lambda: draw_distributions({"PK": [1, 2]}),
        lambda: draw_critical_difference({"PK": 1, "KNN": 2}, [], 1),
        lambda: make_panels(2),
        lambda: save_figure(None, "never written"),
    ],
)
def test_without_matplotlib_the_error_names_the_extra(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=re.escape("proximity-kernel[plots]")):
        draw()


def test_no_setting_is_changed_for_others():
    # Reading "backend" would choose one.
    names = [name for name in mpl.rcParams if name != "backend"]
    before = {name: mpl.rcParams[name] for name in names}
    draw_all()
    assert {name: mpl.rcParams[name] for name in names} == before


def test_each_draws_on_the_axes_it_is_given():
    _, axes = make_panels(5)
    drawn = [
        draw_bars({"adult": {"ours": 0.2}}, axes[0]),
        draw_bins([1, 2, 3], [1, 3], [2], {}, axes[1]),
        draw_critical_difference(RANKS, GROUPS, 4.6, axes[2]),
        draw_distributions({"PK": [1, 2]}, axes[3]),
        draw_lines([1, 2], {"PK": [1, 2]}, None, axes[4]),
    ]
    assert all(one is other for one, other in zip(drawn, axes, strict=True))


@pytest.mark.parametrize("name", draw_all())
def test_no_text_is_smaller_than_eight_points(name):
    from matplotlib.text import Text

    figure = draw_all()[name].figure
    renderer_of(figure)
    texts = [text for text in figure.findobj(Text) if text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 8


# ----------------------------------------------------------------------- the looks


def test_each_method_has_its_own_look():
    known = looks(METHODS)
    for kind in ("marker", "hatch"):
        assert len({getattr(look, kind) for look in known.values()}) == len(METHODS)
    lines = {(look.color, look.line) for look in known.values()}
    assert len(lines) == len(METHODS)


def test_neighbours_differ_in_every_way():
    known = list(looks(METHODS).values())
    for one, other in pairwise(known):
        assert one.color != other.color
        assert one.line != other.line


def test_names_give_the_same_look_in_every_figure():
    both = draw_lines([1, 2], {"Mean": [1, 2], "PK": [2, 3]}, names=METHODS)
    alone = draw_lines([1, 2], {"PK": [2, 3]}, names=METHODS)
    assert line(both, "PK").get_marker() == line(alone, "PK").get_marker()
    assert line(both, "PK").get_color() == line(alone, "PK").get_color()


# ----------------------------------------------------------------------- the lines


def test_a_line_holds_its_data_and_nan_stays_a_gap():
    ax = draw_lines([1, 2, 3], {"PK": [0.5, NAN, 0.7]}, xlabel="bins", ylabel="NMI")
    drawn = line(ax, "PK")
    np.testing.assert_array_equal(drawn.get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(drawn.get_ydata(), [0.5, NAN, 0.7])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bins", "NMI")


def test_each_line_has_its_own_marker():
    ax = draw_lines([1, 2], {name: [1, 2] for name in METHODS})
    assert len({one.get_marker() for one in ax.lines}) == len(METHODS)


def test_highlighted_lines_are_thicker_and_on_top():
    ax = draw_lines(
        [1, 2], {"PK": [1, 2], "HI-PMK": [1, 2], "P": [1, 2]}, highlight="PK"
    )
    top = line(ax, "PK")
    for name in ("HI-PMK", "P"):  # a string is one name, not its letters
        assert top.get_linewidth() > line(ax, name).get_linewidth()
        assert top.get_zorder() > line(ax, name).get_zorder()


@pytest.mark.parametrize(
    ("spread", "low", "high"),
    [([1, 2], [9, 18], [11, 22]), ([[1, 2], [3, 4]], [9, 18], [13, 24])],
)
def test_the_band_lies_around_the_line(spread, low, high):
    ax = draw_lines([1, 2], {"PK": [10, 20]}, {"PK": spread})
    (band,) = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    assert corners >= {(1, low[0]), (2, low[1]), (1, high[0]), (2, high[1])}


def test_a_band_has_a_gap_where_its_line_has():
    ax = draw_lines(range(5), {"PK": [1, 1, NAN, 1, 1]}, {"PK": [0.1] * 5})
    (band,) = ax.collections
    assert len(band.get_paths()) == 2


def test_logarithmic_axes_with_slopes_and_a_band_below_zero(tmp_path):
    ax = draw_lines(
        [1e3, 1e4],
        {"PK": [1, 10], "KNN": [1, NAN]},
        {"PK": [2, 20]},
        logx=True,
        logy=True,
        slopes={"PK": 1.0},
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries == ["PK (slope 1.00)", "KNN"]
    save_figure(ax.figure, tmp_path / "times")  # and no warning


def test_printed_values_are_hollow_in_the_look_of_their_series():
    ax = draw_lines(
        [1, 2], {"Mean": [1, 2], "PK": [3, 4]}, reference={"PK": ([1], [3.5])}
    )
    paper, ours = line(ax, "PK (paper)"), line(ax, "PK")
    np.testing.assert_array_equal(paper.get_xydata(), [[1, 3.5]])
    assert paper.get_markerfacecolor() == "none"
    assert paper.get_linestyle() == "None"
    assert (paper.get_marker(), paper.get_color()) == (
        ours.get_marker(),
        ours.get_color(),
    )


def test_whole_numbers_are_not_split_by_ticks():
    ax = draw_lines([2, 3, 4], {"PK": [1, 2, 3]})
    ticks = ax.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 2], {"PK": [1]}), "PK has 1 values; x has 2"),
        (([[1, 2]], {"PK": [1]}), "x has shape"),
        (([1, 2], {"PK": [1, 2]}, {"KNN": [1, 2]}), "not in series"),
        (([1, 2], {"PK": [1, 2]}, {"PK": [1]}), "spread of PK has shape"),
    ],
)
def test_lines_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        draw_lines(*arguments)


# ------------------------------------------------------------------------ the bins


@pytest.fixture
def bins():
    sample = [*np.random.default_rng(0).lognormal(size=200), NAN]
    pairs = {"dense pair: similarity 0": (0.9, 1.1), "sparse pair: 1": (6, 9)}
    return draw_bins(sample, [0, 2, 10], [1, 6], pairs, xlabel="income")


def test_centers_borders_and_sample_are_drawn(bins):
    np.testing.assert_array_equal(line(bins, "bin center").get_xdata(), [0, 2, 10])
    (borders,) = [c for c in bins.collections if c.get_label() == "border of cells"]
    assert [segment[0, 0] for segment in borders.get_segments()] == [1, 6]
    assert sum(bar.get_height() for bar in bins.patches) == 200
    rug = bins.collections[0]
    assert len(rug.get_segments()) == 200
    assert bins.get_xlabel() == "income"


def test_pairs_are_marked_in_lanes_of_their_own(bins):
    tallest = max(bar.get_height() for bar in bins.patches)
    dense, sparse = [one for one in bins.lines if len(one.get_xdata()) == 2]
    assert list(dense.get_xdata()) == [0.9, 1.1]
    assert list(sparse.get_xdata()) == [6, 9]
    assert tallest < dense.get_ydata()[0] < sparse.get_ydata()[0] < bins.get_ylim()[1]
    assert dense.get_marker() != sparse.get_marker()
    assert said(bins) == ["dense pair: similarity 0", "sparse pair: 1"]


def test_labels_of_pairs_stay_inside_and_apart(bins):
    renderer = renderer_of(bins.figure)
    texts = [*bins.texts, *bins.get_legend().get_texts()]
    assert overlaps(texts, renderer) == []
    frame = bins.figure.bbox
    for text in texts:
        box = text.get_window_extent(renderer)
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1


def test_a_wrong_number_of_borders_is_refused():
    with pytest.raises(ValueError, match="3 centers have 2 borders"):
        draw_bins([1, 2], [1, 2, 3], [1.5], {})


@pytest.mark.parametrize("sample", [[5.0], [5.0, 5.0]])
def test_a_constant_feature_can_be_drawn(sample):
    assert draw_bins(sample, [5.0], [], {"same": (5.0, 5.0)}).texts


# --------------------------------------------------------------- the distributions


def y_labels(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_largest_median_is_on_top_and_gaps_are_said():
    ax = draw_distributions(
        {"none": [NAN] * 3, "low": [0, 0.1, 0.9], "high": [0.2, 0.5, NAN]}
    )
    assert y_labels(ax) == ["high (2 of 3)", "low", "none (0 of 3)"]
    bottom, top = ax.get_ylim()
    assert top < bottom  # row 0 is at the top


def test_box_and_points_are_where_the_scores_are():
    scores = np.arange(9.0)
    ax = draw_distributions({"PK": scores})
    (box,) = ax.patches
    assert (box.get_x(), box.get_width()) == (2, 4)
    median = ax.lines[-1]
    assert list(median.get_xdata()) == [4, 4]
    _, points = ax.collections
    np.testing.assert_array_equal(points.get_offsets()[:, 0], scores)


def test_the_jitter_is_always_the_same_and_spreads():
    heights = [
        draw_distributions({"PK": [1.0, 1.0, 1.0, 2.0]}).collections[-1].get_offsets()
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*heights)
    assert len(np.unique(heights[0][:, 1])) == 4


def test_other_points_can_be_given_and_none():
    given = {"PK": [1, 2, 3], "KNN": [2, 3, 4]}
    ax = draw_distributions(given, points={"PK": [7.0, NAN]})
    drawn = [c.get_offsets() for c in ax.collections if len(c.get_offsets())]
    assert [7.0] in [list(offsets[:, 0]) for offsets in drawn]
    assert all(2.0 not in offsets[:, 0] for offsets in drawn)


def test_equal_scores_have_a_box_but_no_shape():
    ax = draw_distributions({"PK": [0.5] * 4})
    assert len(ax.patches) == 1
    assert len(ax.collections) == 1  # the points


def test_bold_is_for_the_highlighted_name_only():
    ax = draw_distributions({"PK": [1, 2], "HI-PMK": [3, NAN]}, highlight=["HI-PMK"])
    weights = {t.get_text(): t.get_fontweight() for t in ax.get_yticklabels()}
    assert weights == {"HI-PMK (1 of 2)": "bold", "PK": "normal"}


def test_without_methods_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="no method"):
        draw_distributions({})


# ----------------------------------------------------------------------- the ranks


@pytest.fixture
def diagram():
    return draw_critical_difference(RANKS, GROUPS, 4.62, highlight="PK")


def test_the_best_is_on_the_left_and_the_axis_says_so(diagram):
    low, high = diagram.get_xlim()
    assert low < 1 < len(RANKS) < high
    assert "mean rank (1, left: best)" in said(diagram)


@pytest.mark.parametrize("name", METHODS)
def test_an_elbow_leads_from_the_rank_to_the_label(diagram, name):
    (elbow,) = with_gid(diagram, name)
    x, y = elbow.get_data()
    assert x[0] == x[1] == RANKS[name]
    assert y[0] == 0 > y[1] == y[2]
    better_half = sorted(RANKS.values()).index(RANKS[name]) < 6
    assert x[2] == diagram.get_xlim()[0 if better_half else 1]
    (label,) = [t for t in diagram.texts if t.get_text().startswith(f"{name}  ")]
    assert label.get_text() == f"{name}  {RANKS[name]:.2f}"
    assert label.xy == (x[2], y[2])
    assert label.get_fontweight() == ("bold" if name == "PK" else "normal")


def test_elbows_do_not_cross(diagram):
    for one in METHODS:
        for other in METHODS:
            (a,), (b,) = with_gid(diagram, one), with_gid(diagram, other)
            (rank, _, end), height = a.get_xdata(), a.get_ydata()[-1]
            across = min(rank, end) < b.get_xdata()[0] < max(rank, end)
            assert not (across and b.get_ydata()[-1] < height), (one, other)


def test_bars_join_the_groups_and_single_methods_have_none(diagram):
    bars = [one.get_xdata() for one in with_gid(diagram, "group")]
    np.testing.assert_allclose(bars, [[1.9, 4.0], [5.2, 6.3]], atol=0.1)
    for (low, high), (first, last) in zip(bars, [(1.9, 4), (5.2, 6.3)], strict=True):
        assert low < first
        assert high > last


def test_the_critical_difference_has_its_length(diagram):
    (bar,) = with_gid(diagram, "critical difference")
    assert np.ptp(bar.get_xdata()) == pytest.approx(4.62)
    assert "critical difference 4.62" in said(diagram)


def test_overlapping_bars_have_levels_and_others_share_one():
    assert _levels([(1, 3), (2, 5), (4, 6), (5.5, 7)], gap=0.2) == [0, 1, 0, 1]
    assert _levels([(1, 3), (1, 5), (2, 6)], gap=0.2) == [0, 1, 2]
    assert _levels([], gap=0.2) == []


@pytest.mark.parametrize("tied", [False, True])
def test_labels_do_not_overlap_and_lie_within_the_figure(tied):
    ranks = dict.fromkeys(METHODS, 6.5) if tied else RANKS
    order = sorted(ranks, key=ranks.get)
    groups = [order[start : start + 4] for start in range(0, 9, 2)]
    ax = draw_critical_difference(ranks, groups, 4.62)
    renderer = renderer_of(ax.figure)
    assert overlaps(ax.texts, renderer) == []
    frame = ax.figure.bbox
    for text in ax.texts:
        box = text.get_window_extent(renderer)
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
        assert frame.y0 <= box.y0
        assert box.y1 <= frame.y1


@pytest.mark.parametrize(
    ("ranks", "groups", "message"),
    [
        ({"PK": 1}, [], "at least two"),
        ({"PK": 1, "KNN": 2}, [["PK", "Mean"]], "No mean rank for Mean"),
        ({"PK": 1, "KNN": NAN}, [], "not finite"),
    ],
)
def test_ranks_that_make_no_diagram_are_refused(ranks, groups, message):
    with pytest.raises(ValueError, match=message):
        draw_critical_difference(ranks, groups, 1)


# ------------------------------------------------------------------------ the bars


def test_bars_have_their_lengths_from_the_top_down():
    ax = draw_bars(
        {"adult": {"ours": 0.2, "paper": 0.3}, "kidney": {"ours": 0.9, "paper": 0.5}},
        xlabel="NMI",
    )
    ours, paper = ax.containers
    assert [bar.get_width() for bar in ours] == [0.2, 0.9]
    assert [bar.get_width() for bar in paper] == [0.3, 0.5]
    assert ours[0].get_y() < paper[0].get_y() < ours[1].get_y()
    assert ax.get_ylim()[1] < ax.get_ylim()[0]
    assert y_labels(ax) == ["adult", "kidney"]
    assert ours[0].get_hatch() != paper[0].get_hatch()
    assert said(ax) == ["ours - paper", "-0.10", "+0.40"]
    assert ax.get_xlabel() == "NMI"


def test_what_is_absent_is_said():
    ax = draw_bars(
        {"adult": {"ours": 0.2, "paper": NAN}, "heart": {"paper": 0.5}}, digits=3
    )
    assert [len(bars) for bars in ax.containers] == [1, 1]
    assert said(ax) == ["no value", "no value", "ours - paper", "n/a", "n/a"]


def test_the_difference_can_be_of_any_two():
    values = {"adult": {"a": 1.0, "b": 2.0, "c": 4.0}}
    assert said(draw_bars(values)) == []
    assert said(draw_bars(values, difference=("c", "a"))) == ["c - a", "+3.00"]


def test_texts_beside_the_bars_do_not_overlap():
    tables = {f"table {place}": {"ours": place, "paper": 3} for place in range(12)}
    ax = draw_bars(tables)
    texts = [*ax.texts, *ax.get_legend().get_texts(), *ax.get_yticklabels()]
    assert overlaps(texts, renderer_of(ax.figure)) == []


def test_without_values_there_is_nothing_to_draw():
    with pytest.raises(ValueError, match="no value"):
        draw_bars({"adult": {}})


# ---------------------------------------------------------------------- the panels


def test_panels_are_as_many_as_asked_with_their_titles():
    figure, axes = make_panels(5, titles=list("abcde"), size=(2, 1.5))
    assert figure.axes == axes
    assert [ax.get_title(loc="left") for ax in axes] == list("abcde")
    assert figure.get_size_inches().tolist() == [6, 3]


def test_labels_are_at_the_edge_of_the_grid_and_stay():
    _, axes = make_panels(5, xlabel="bins", ylabel="NMI", share_x=True, share_y=True)
    for ax in axes:
        draw_lines([1, 2], {"PK": [1, 2]}, ax=ax)
    assert [ax.get_xlabel() for ax in axes] == ["", "", "bins", "bins", "bins"]
    assert [ax.get_ylabel() for ax in axes] == ["NMI", "", "", "NMI", ""]


def test_one_legend_in_place_of_many():
    figure, axes = make_panels(2)
    draw_lines([1, 2], {"PK": [1, 2], "KNN": [1, 2]}, ax=axes[0], names=METHODS)
    draw_lines([1, 2], {"Mean": [1, 2], "PK": [1, 2]}, ax=axes[1], names=METHODS)
    legend = share_legend(figure, axes, columns=2)
    assert [text.get_text() for text in legend.get_texts()] == ["PK", "KNN", "Mean"]
    assert [ax.get_legend() for ax in axes] == [None, None]


def test_a_legend_fits_under_the_panels():
    figure, axes = make_panels(3, share_x=True, xlabel="bins")
    for ax in axes:
        draw_lines([1, 2], {name: [1, 2] for name in METHODS}, ax=ax, legend=False)
    legend = share_legend(figure, axes)
    renderer = renderer_of(figure)
    box = legend.get_window_extent(renderer)
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert box.y1 <= min(ax.get_tightbbox(renderer).y0 for ax in axes)


def test_one_name_with_two_looks_is_refused():
    figure, axes = make_panels(2)
    draw_lines([1, 2], {"PK": [1, 2]}, ax=axes[0])
    draw_lines([1, 2], {"Mean": [1, 2], "PK": [1, 2]}, ax=axes[1])
    with pytest.raises(ValueError, match="PK looks different in two panels"):
        share_legend(figure, axes)


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (0, {}, "at least 1"),
        (2, {"columns": 0}, "at least 1"),
        (2, {"titles": ["a"]}, "1 titles for 2 panels"),
    ],
)
def test_panels_that_cannot_be_are_refused(n, options, message):
    with pytest.raises(ValueError, match=message):
        make_panels(n, **options)


# ---------------------------------------------------------------------- the saving


@pytest.mark.parametrize("name", draw_all())
def test_the_same_data_give_the_same_bytes(name, tmp_path):
    first = save_figure(draw_all()[name].figure, tmp_path / "one")
    with mpl.rc_context({"axes.facecolor": "black", "font.size": 20}):
        second = save_figure(draw_all()[name].figure, tmp_path / "deep" / "two")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_saving_again_gives_the_same_bytes(tmp_path):
    figure, axes = make_panels(3, columns=2, xlabel="bins")
    for ax in axes:
        draw_lines([1, 2], {name: [1, 2] for name in METHODS}, ax=ax)
    share_legend(figure, axes)
    first, second = (save_figure(figure, tmp_path / name) for name in ("one", "two"))
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_axes_placed_by_hand_stay_there(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure()
    ax = draw_lines([1, 2], {"PK": [1, 2]}, ax=figure.add_axes((0.2, 0.3, 0.4, 0.5)))
    save_figure(figure, tmp_path / "figure")
    np.testing.assert_allclose(ax.get_position().bounds, (0.2, 0.3, 0.4, 0.5))


def test_png_has_200_dots_an_inch_and_svg_has_text(tmp_path):
    ax = draw_lines([1, 2], {"HI-PMK": [1, 2]})
    ax.figure.set_size_inches(3, 2)
    png, svg = save_figure(ax.figure, tmp_path / "v1.2")
    assert (png.name, svg.name) == ("v1.2.png", "v1.2.svg")
    size = png.read_bytes()[16:24]
    assert [int.from_bytes(size[:4]), int.from_bytes(size[4:])] == [600, 400]
    text = svg.read_text()
    assert ">HI-PMK</text>" in text
    assert "<dc:date>" not in text


def test_a_figure_that_cannot_be_drawn_writes_nothing(tmp_path, monkeypatch):
    ax = draw_lines([1, 2], {"PK": [1, 2]})
    figure, render = ax.figure, ax.figure.savefig

    def fail_at_svg(*arguments, format, **options):  # noqa: A002 (matplotlib's name)
        if format == "svg":
            raise RuntimeError("no ink")
        render(*arguments, format=format, **options)

    monkeypatch.setattr(figure, "savefig", fail_at_svg)
    with pytest.raises(RuntimeError, match="no ink"):
        save_figure(figure, tmp_path / "figure")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failed_write_leaves_the_older_file_whole(step, tmp_path, monkeypatch):
    old = tmp_path / "figure.png"
    old.write_bytes(b"old")
    write = Path.write_bytes

    def fail(path, _):
        write(path, b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Path, step, fail)
    with pytest.raises(OSError, match="disk full"):
        save_figure(draw_lines([1, 2], {"PK": [1, 2]}).figure, tmp_path / "figure")
    assert old.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
