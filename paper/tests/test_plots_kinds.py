"""Figures are read back through their axes: what is drawn, where, in what order."""

import numpy as np
import pytest
from plotting import (
    GROUPS,
    METHODS,
    NAN,
    RANKS,
    line,
    lines,
    overlaps,
    renderer_of,
    said,
    with_gid,
)

from proximity_kernel_paper.plots import (
    draw_bins,
    draw_critical_difference,
    draw_distributions,
    draw_scatter,
    save_figure,
)
from proximity_kernel_paper.plots._ranks import _levels

# ----------------------------------------------------------------------- the lines


def test_a_line_holds_its_data_and_nan_stays_a_gap():
    ax = lines([1, 2, 3], {"PK": [0.5, NAN, 0.7]}, xlabel="bins", ylabel="NMI")
    drawn = line(ax, "PK")
    np.testing.assert_array_equal(drawn.get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(drawn.get_ydata(), [0.5, NAN, 0.7])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bins", "NMI")


def test_highlighted_lines_are_thicker_and_on_top():
    ax = lines([1, 2], {"PK": [1, 2], "HI-PMK": [1, 2]}, highlight=["PK"])
    top, other = line(ax, "PK"), line(ax, "HI-PMK")
    assert top.get_linewidth() > other.get_linewidth()
    assert top.get_zorder() > other.get_zorder()


def test_the_band_lies_around_the_line():
    ax = lines([1, 2], {"PK": [10, 20]}, {"PK": [1, 2]})
    (band,) = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    assert corners >= {(1, 9), (2, 18), (1, 11), (2, 22)}


def test_a_band_has_a_gap_where_its_line_has():
    ax = lines(range(5), {"PK": [1, 1, NAN, 1, 1]}, {"PK": [0.1] * 5})
    (band,) = ax.collections
    assert len(band.get_paths()) == 2


def test_logarithmic_axes_with_slopes_and_a_band_below_zero(tmp_path):
    ax = lines(
        [1e3, 1e4],
        {"PK": [1, 10], "KNN": [1, NAN]},
        {"PK": [2, 20]},
        logx=True,
        logy=True,
        slopes={"PK": 1.0},
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_legend_handles_labels()[1] == ["PK (slope 1.00)", "KNN"]
    save_figure(ax.figure, tmp_path / "times")  # and no warning


def test_whole_numbers_are_not_split_by_ticks():
    ax = lines([2, 3, 4], {"PK": [1, 2, 3]})
    ticks = ax.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))


# ------------------------------------------------------------------------ the bins


@pytest.fixture
def bins():
    sample = np.random.default_rng(0).lognormal(size=200)
    pairs = {"dense pair: similarity 0": (0.9, 1.1), "sparse pair: 1": (6, 9)}
    return draw_bins(sample, np.array([0, 2, 10]), np.array([1, 6]), pairs)


def test_centers_borders_and_sample_are_drawn(bins):
    np.testing.assert_array_equal(line(bins, "bin center").get_xdata(), [0, 2, 10])
    (borders,) = [c for c in bins.collections if c.get_label() == "border of bins"]
    assert [segment[0, 0] for segment in borders.get_segments()] == [1, 6]
    assert sum(bar.get_height() for bar in bins.patches) == 200
    rug = bins.collections[0]
    assert len(rug.get_segments()) == 200


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


@pytest.mark.parametrize("sample", [[5.0], [5.0, 5.0]])
def test_a_constant_feature_can_be_drawn(sample):
    one_bin = np.array(sample), np.array([5.0]), np.array([])
    assert draw_bins(*one_bin, {"same": (5.0, 5.0)}).texts


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
    (points,) = ax.collections
    np.testing.assert_array_equal(points.get_offsets()[:, 0], scores)


def test_the_jitter_is_always_the_same_and_spreads():
    heights = [
        draw_distributions({"PK": [1.0, 1.0, 1.0, 2.0]}).collections[-1].get_offsets()
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*heights)
    assert len(np.unique(heights[0][:, 1])) == 4


def test_equal_scores_have_a_box():
    ax = draw_distributions({"PK": [0.5] * 4})
    assert len(ax.patches) == 1
    assert len(ax.collections) == 1  # the points


def test_bold_is_for_the_highlighted_name_only():
    ax = draw_distributions({"PK": [1, 2], "HI-PMK": [3, NAN]}, highlight=["HI-PMK"])
    weights = {t.get_text(): t.get_fontweight() for t in ax.get_yticklabels()}
    assert weights == {"HI-PMK (1 of 2)": "bold", "PK": "normal"}


# ----------------------------------------------------------------------- the ranks


@pytest.fixture
def diagram():
    return draw_critical_difference(RANKS, GROUPS, 4.62, highlight=["PK"])


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


def test_bars_join_the_groups(diagram):
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


# --------------------------------------------------------------------- the scatter


def test_points_lie_where_they_should_and_texts_beside_them():
    ax = draw_scatter(
        {"PK": ([0.1, 0.2], [0.3, 0.4]), "Mean": ([0.5], [0.6])},
        diagonal=True,
        labels=[(0.5, 0.6, "kidney")],
        names=["Mean", "PK"],
    )
    pk, mean = ax.collections
    np.testing.assert_allclose(pk.get_offsets(), [[0.1, 0.3], [0.2, 0.4]])
    assert mean.get_facecolor().tolist() != pk.get_facecolor().tolist()
    assert said(ax) == ["kidney"]
    assert ax.get_xscale() == "linear"


def test_a_scatter_can_have_a_logarithmic_axis_and_no_legend():
    ax = draw_scatter({"PK": ([1, 10], [1, 2])}, logx=True, legend=False)
    assert ax.get_xscale() == "log"
    assert ax.get_legend() is None
