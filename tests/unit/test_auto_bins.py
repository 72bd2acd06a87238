"""`n_bins="auto"`: frequent values, two resolutions, and the kernel they make."""

import pickle
import warnings

import numpy as np
import oracle
import oracle_auto
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import (
    MATCHINGS,
    adopt_weights,
    assert_same_bits,
    dense,
    fitted,
    mixed_table,
    raises_naming,
    tables,
)

from proximity_kernel import ProximityKernel
from proximity_kernel._bins import NumericBins, learn_bins
from proximity_kernel._coded import lay_out_columns
from proximity_kernel._table.columns import read_columns


def fit_values(values, **options):
    """Fit one column of numbers."""
    return ProximityKernel("auto", **options).fit(np.array(values)[:, None])


def centers_of(values):
    return fit_values(values).bin_centers_[0].tolist()


def groups_of(values):
    groups = fit_values(values).bin_groups_[0]
    return None if groups is None else groups.tolist()


# Centers


@given(st.lists(st.floats(-100, 100, allow_subnormal=False), min_size=1, max_size=40))
def test_centers_equal_the_definition(values):
    assert centers_of(values) == oracle_auto.spread(values, 4)


@given(
    st.lists(st.tuples(st.integers(-5, 9), st.integers(1, 30)), min_size=1, max_size=12)
)
def test_centers_of_ties_equal_the_definition(runs):
    values = [float(v) for v, count in runs for _ in range(count)]
    np.random.default_rng(len(values)).shuffle(values)
    assert centers_of(values) == oracle_auto.spread(values, 4)
    wanted = oracle_auto.join(values)
    one_resolution = wanted == list(range(len(wanted)))
    assert groups_of(values) == (None if one_resolution else wanted)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_centers_of_many_values_equal_the_definition(share):
    rng = np.random.default_rng(0)
    values = np.where(rng.random(20_001) < share, 3.0, rng.lognormal(size=20_001))
    assert centers_of(values) == oracle_auto.spread(values.tolist(), 4)


def test_few_values_keep_a_bin_each():
    assert centers_of([7.0]) == centers_of([7.0, 7.0]) == [7]
    assert centers_of([0.0, 1.0, 1.0]) == [0, 1]
    assert centers_of([5.0] * 90 + [1.0, 2.0, 9.0]) == [1, 2, 5, 9]


def test_an_ordered_column_keeps_its_rare_level():
    sizes = pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    size = pd.Series(["S"] * 60 + ["M"] * 2 + ["L"] * 38, dtype=sizes)
    frame = pd.DataFrame({"size": size})
    assert ProximityKernel(4).fit(frame).n_bins_[0] < 3
    pk = ProximityKernel("auto").fit(frame)
    assert pk.bin_centers_[0].tolist() == [0, 1, 2]
    alike = pk.kernel(frame.iloc[[0, 60, 99]])
    assert alike[0, 1] < 1
    assert alike[1, 2] < 1


def test_a_frequent_value_stands_alone():
    rng = np.random.default_rng(1)
    values = np.concatenate([np.zeros(600), rng.random(400)])
    pk = fit_values(values)
    centers = pk.bin_centers_[0]
    assert centers[0] == 0
    counts = np.bincount(dense(pk.transform(values[:, None]))[:, :4].argmax(axis=1))
    assert counts.max() < 700
    np.testing.assert_allclose(centers[1:], [1 / 6, 1 / 2, 5 / 6], atol=0.05)
    # The coarse centers are 0 and the middle of the rest, and 1/6 is nearer to 0.
    assert pk.bin_groups_[0].tolist() == [0, 0, 1, 1]


def test_of_equally_frequent_values_the_lower_is_first():
    values = [1.0] * 9 + [2.0] * 9 + [3.0] * 9 + [5.0] * 9 + [4.0]
    assert centers_of(values) == oracle_auto.spread(values, 4) == [1, 2, 3, 5]


def test_an_outlier_does_not_own_half_the_cells():
    values = [*np.linspace(0, 1, 999), 1e300]
    centers = centers_of(values)
    assert len(centers) == 4
    assert max(centers) < 1
    shares = fit_values(values).prior_[0]
    assert shares.max() < 0.3


def test_values_near_the_ends_of_float64():
    top = np.finfo(np.float64).max
    for values in (
        [-top, top, 0.0, 1.0, 2.0],
        [-top] * 3 + [top] * 4 + [1.0, 2.0, 3.0],
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pk = fit_values(values)
            alike = pk.kernel(np.array(values)[:, None])
        centers = pk.bin_centers_[0]
        assert np.isfinite(centers).all()
        assert (np.diff(centers) > 0).all()
        np.testing.assert_allclose(alike.diagonal(), 1, rtol=1e-6)


def test_minus_zero_is_zero():
    for values in (
        [-0.0, 1.0],
        [-0.0, 0.0, 1.0, 2.0, 3.0, 4.0],
        [-0.0] * 9 + [*range(9)],
    ):
        assert not np.signbit(centers_of(values)).any()


def test_the_order_of_rows_does_not_matter():
    values = np.round(np.random.default_rng(2).lognormal(size=500), 1)
    assert centers_of(values) == centers_of(values[::-1]) == centers_of(np.sort(values))


def test_resampled_rows_move_the_kernel_little():
    """Between two samples of the same rows, similarities differ less than with 4."""
    rng = np.random.default_rng(3)
    values = np.column_stack([rng.normal(size=400), rng.lognormal(sigma=2, size=400)])
    samples = [values[rng.integers(400, size=400)] for _ in range(6)]
    moved = {}
    for n_bins in (4, "auto"):
        kernels = [ProximityKernel(n_bins).fit(s).kernel(values) for s in samples]
        moved[n_bins] = np.std(kernels, axis=0).mean() / np.mean(kernels, axis=0).std()
    assert moved["auto"] < moved[4]
    assert moved["auto"] < 0.35


# The kernel


def same_as_oracle(frame, new, n_bins, matching, missingness):
    """Compare both kernels with the oracle's, and give the fitted estimator."""
    chosen = {"matching": matching, "missingness": missingness}
    pk = fitted(ProximityKernel(n_bins, **chosen, dtype=np.float64), frame)
    columns = oracle.read_columns(frame)
    estimates = oracle.find_gaps(columns) if missingness == "informative" else ()
    reference = oracle.fit(columns, n_bins, informative=estimates)
    if matching == "pairwise":
        adopt_weights(pk.model_.matcher, reference.pairwise)
    assert pk.n_bins_.tolist() == reference.n_bins
    auto = [j for j, n in enumerate(n_bins) if n == "auto"]
    z, z_new = (
        oracle.represent(c, reference, matching)
        for c in (columns, oracle.read_columns(new))
    )
    wanted = oracle_auto.kernel(z_new, z, columns, reference, auto)
    np.testing.assert_allclose(pk.kernel(new, frame), wanted, rtol=1e-6, atol=1e-9)
    wanted = oracle_auto.kernel(z, z, columns, reference, auto)
    np.testing.assert_allclose(pk.kernel(frame), wanted, rtol=1e-6, atol=1e-9)
    return pk


@given(
    tables(),
    st.lists(st.sampled_from(["auto", "auto", 3, 5]), min_size=6, max_size=6),
    st.sampled_from(MATCHINGS),
    st.sampled_from(["ignorable", "informative"]),
)
def test_equals_the_oracle(drawn, n_bins, matching, missingness):
    frame, new = drawn
    same_as_oracle(frame, new, n_bins[: frame.shape[1]], matching, missingness)


@pytest.mark.parametrize("matching", MATCHINGS)
@pytest.mark.parametrize("missingness", ["ignorable", "informative"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_larger_tables_equal_the_oracle(seed, missingness, matching):
    """Every numeric feature has coarse bins here, some with a single bin in one."""
    frame, new = (mixed_table(n, 7, 0.25, seed=seed) for n in (90, 20))
    frame["col6"] = np.round(np.random.default_rng(seed).normal(size=90) ** 3, 1)
    n_bins = ["auto", "auto", 4, "auto", 3, "auto", "auto"]
    pk = same_as_oracle(frame, new, n_bins, matching, missingness)
    assert sum(groups is not None for groups in pk.bin_groups_) >= 3


@given(tables())
def test_rows_are_in_canonical_form_and_named(drawn):
    frame, new = drawn
    pk = fitted(ProximityKernel("auto"), frame)
    matrix = pk.transform(new)
    for start, end in zip(matrix.indptr, matrix.indptr[1:], strict=False):
        assert (np.diff(matrix.indices[start:end]) > 0).all()
    names = pk.get_feature_names_out()
    assert len(set(names)) == len(names) == matrix.shape[1]


def test_scores_of_one_feature():
    values = np.arange(1.0, 9.0)[:, None]
    pk = ProximityKernel("auto", dtype=np.float64).fit(values)
    assert pk.bin_groups_[0].tolist() == [0, 0, 1, 1]
    alike = pk.kernel(values[[0]], values)
    np.testing.assert_allclose(alike[0], [1, 1, 0.8, 0.8, 0, 0, 0, 0], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_is_valid(dtype):
    frame = mixed_table(150, 7, 0.2, seed=4)
    pk = ProximityKernel("auto", dtype=dtype).fit(frame)
    alike = pk.kernel(frame)
    assert alike.dtype == pk.transform(frame).dtype == dtype
    eps = np.finfo(dtype).eps
    assert np.linalg.eigvalsh(alike.astype(np.float64)).min() > -1000 * eps
    complete = frame.notna().all(axis=1).to_numpy()
    np.testing.assert_allclose(alike.diagonal()[complete], 1, rtol=8 * eps)
    assert (alike.diagonal()[~complete] < 1).any()
    assert alike.max() <= 1
    same = ProximityKernel("auto", normalize=True).fit(frame).kernel(frame)
    np.testing.assert_allclose(same.diagonal(), 1, rtol=1e-6)


def test_values_outside_the_fitted_range_fall_in_the_end_bins():
    pk = fit_values(np.arange(8.0))
    new = np.array([[-1e9], [0.0], [7.0], [1e9]])
    assert_same_bits(pk.transform(new[[0, 3]]), pk.transform(new[[1, 2]]))


def test_gaps_of_their_own_are_a_coarse_bin_of_their_own():
    values = np.array([*range(8), np.nan, np.nan])[:, None]
    pk = ProximityKernel("auto", missingness="informative").fit(values)
    assert pk.n_bins_.tolist() == [5]
    assert pk.bin_groups_[0].tolist() == [0, 0, 1, 1]
    alike = pk.kernel(values)
    assert alike[8].tolist() == [0] * 8 + [1, 1]
    bins = ["up to 1", "2-3", "4-5", "6 or more", "missing", "up to 3", "4 or more"]
    names = [f"x0 {name}" for name in bins]
    assert pk.get_feature_names_out().tolist() == names


# Layout and names


def test_a_coarse_bin_of_one_bin_has_no_column():
    bins = [
        NumericBins(np.arange(3.0), np.array([0, 1, 1])),
        NumericBins(np.arange(2.0)),
        NumericBins(np.arange(4.0), np.array([0, 0, 0, 1])),
    ]
    totals = [np.ones(n, np.int64) for n in (3, 3, 4)]  # the second has one for missing
    layout = lay_out_columns(totals, bins, np.ones(len(bins)))
    columns = np.split(layout.entry_columns, layout.entry_start[1:-1])
    assert [own[0] for own in columns] == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10]
    coarse = [own[1] if len(own) > 1 else -1 for own in columns]
    assert coarse == [-1, 3, 3, -1, -1, -1, 11, 11, 11, -1]
    assert np.diff(layout.spread_start).tolist() == [4, 3, 5]
    weights = layout.entry_weights[layout.entry_start[:-1]]
    np.testing.assert_allclose(weights, np.where(np.array(coarse) < 0, 1, 0.2**0.5))


def test_a_gap_needs_room_for_the_bins_that_were_observed():
    bins = [NumericBins(np.arange(4.0), np.array([0, 0, 1, 1]))]
    for totals, room in (([1, 1, 1, 1], 6), ([1, 0, 1, 1], 5), ([0, 0, 1, 1], 3)):
        layout = lay_out_columns([np.array(totals)], bins, np.ones(1))
        assert np.diff(layout.spread_start).tolist() == [room]
        assert (np.diff(layout.bin_start) > 0).tolist() == [n > 0 for n in totals]


def test_names_stay_unique():
    frame = pd.DataFrame({"a": np.arange(8.0), "a up": ["to 1", "to 3"] * 4})
    names = ProximityKernel("auto").fit(frame).get_feature_names_out().tolist()
    bins = ["up to 1", "2-3", "4-5", "6 or more", "up to 3", "4 or more"]
    assert names[:6] == [f"a {name}" for name in bins]
    assert names[6:] == ["a up to 1_", "a up to 3_"]


def test_one_resolution_leaves_no_trace():
    """Two bins at most, or one coarse bin for all: as if there were no coarse ones."""
    assert groups_of([3.0]) is None
    assert groups_of([0.0, 1.0]) is None
    assert groups_of([-1.0, 0.0, 0.0, 0.0, 1.0]) is None
    binary = np.array([[0.0], [1.0], [1.0], [np.nan]])
    same = ProximityKernel(2).fit(binary).transform(binary)
    assert_same_bits(ProximityKernel("auto").fit(binary).transform(binary), same)


def test_whole_numbers_have_one_resolution():
    frame = mixed_table(80, 6, 0.3, seed=5)
    pk = ProximityKernel(4).fit(frame)
    assert pk.bin_groups_ == [None] * 6
    assert pk.transform(frame).shape[1] == pk.n_bins_.sum()


# As an option


def test_a_sequence_with_auto():
    values = np.random.default_rng(6).normal(size=(60, 3))
    pk = ProximityKernel(["auto", 4, "auto"]).fit(values)
    assert [groups is None for groups in pk.bin_groups_] == [False, True, False]
    np.testing.assert_array_equal(
        pk.bin_centers_[1], ProximityKernel(4).fit(values).bin_centers_[1]
    )
    assert pk.transform(values).shape[1] == 6 + 4 + 6


@pytest.mark.parametrize("n_bins", ["Auto", "many", "", ["auto", "4"], ["auto", 1]])
def test_what_is_no_number_of_bins_is_refused(n_bins):
    with raises_naming(ValueError, "n_bins", "at least 2", "at most"):
        ProximityKernel(n_bins).fit(np.ones((3, 2)))


def test_a_bad_word_is_told_the_good_one():
    with raises_naming(ValueError, "n_bins", "'auto'", "whole number", "'many'"):
        ProximityKernel("many").fit(np.ones((3, 2)))


def test_pickle_and_clone():
    frame = mixed_table(90, 6, 0.2, seed=7)
    pk = ProximityKernel(n_bins="auto").fit(frame)
    again = pickle.loads(pickle.dumps(pk))
    assert_same_bits(again.transform(frame), pk.transform(frame))
    assert clone(pk).n_bins == "auto"
    assert_same_bits(clone(pk).fit_transform(frame), pk.transform(frame))


def test_threads_do_not_matter():
    frame = mixed_table(300, 6, 0.2, seed=8)
    one, two = (ProximityKernel("auto", n_jobs=n).fit(frame) for n in (1, 2))
    assert_same_bits(one.transform(frame), two.transform(frame))


def test_bins_by_column():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    pk = ProximityKernel({"b": 7, 2: "fine"}).fit(frame)
    one_by_one = ProximityKernel(["auto", 7, "fine"]).fit(frame)
    assert_same_bits(pk.transform(frame), one_by_one.transform(frame))
    parts = ProximityKernel({"b": 7, 2: "fine"}).fit_batches([frame[:20], frame[20:]])
    assert_same_bits(parts.transform(frame), pk.transform(frame))
    paper = ProximityKernel({"a": 3}, matching="cascade").fit(frame)
    assert paper.n_bins_.tolist() == [3, 4, 4]
    for asked, words in (({"d": 3}, "'d'"), ({"a": 1}, r"n_bins\['a'\]")):
        with pytest.raises(ValueError, match=words):
            ProximityKernel(asked).fit(frame)


def test_many_short_columns_have_the_bins_of_each_alone():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(30, 40))
    table[:, ::3] = np.round(table[:, ::3])  # frequent values
    table[:, 1] = np.arange(30)  # whole numbers
    table[:, 2] *= 1e308  # differences beyond float64
    table[:, 4] = np.nan
    table[5:, 5] = np.nan  # five values
    table[rng.random(table.shape) < 0.2] = np.nan
    table[0, 7], table[1, 7] = 0.0, -0.0
    columns = read_columns(table)
    together = learn_bins(columns, None, ["auto"] * 40, 255, 1)
    for j, column in enumerate(columns):
        alone = learn_bins([column], None, ["auto"], 255, 1)
        assert together.types[j].form == alone.types[0].form
        one, other = together.bins[j], alone.bins[0]
        assert one.centers.tobytes() == other.centers.tobytes()
        assert one.midpoints.tobytes() == other.midpoints.tobytes()
        assert (one.groups is None) == (other.groups is None)
        if one.groups is not None:
            assert one.groups.tolist() == other.groups.tolist()
        for name in ("values", "spread"):
            one, other = (
                getattr(t, name) for t in (together.typical[j], alone.typical[0])
            )
            assert one.tobytes() == other.tobytes()
