"""`rarity` against its definition in loops: the kernel, neighbors, explanations."""

import dask
import dask.dataframe as dd
import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_fine import FineTable
from strategies import (
    adopt_weights,
    assert_same_bits,
    fitted,
    mixed_table,
    parameters,
    plain,
    raises_naming,
    tables,
)

from proximity_kernel import (
    ProximityKernel,
    ProximityKNNClassifier,
    ProximityNeighbors,
    explain,
)
from proximity_kernel._nearest import GRID
from proximity_kernel.dask import DaskProximityKernel

POWER = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))
BINS = st.sampled_from(["auto", "fine", 2, 5])


@given(tables(), parameters(), POWER)
def test_kernel_is_that_of_the_definition(drawn, chosen, rarity):
    frame, new = drawn
    pk = fitted(plain(**chosen, rarity=rarity, dtype=np.float64), frame)
    columns = oracle.read_columns(frame)
    reference = oracle.fit(columns, chosen["n_bins"])
    if pk.matching == "pairwise":
        adopt_weights(pk.model_.matcher, reference.pairwise)
    z = oracle.represent(columns, reference, pk.matching)
    other = oracle.represent(oracle.read_columns(new), reference, pk.matching)
    wanted = oracle.rare_kernel(other, z, reference, rarity)
    np.testing.assert_allclose(pk.kernel(new, frame), wanted, rtol=1e-9, atol=1e-12)


@given(tables(), parameters(), POWER)
def test_neighbors_report_the_share_of_what_an_equal_row_scores(drawn, chosen, rarity):
    frame, new = drawn
    kernel = plain(**chosen, rarity=rarity, dtype=np.float64)
    near = fitted(ProximityNeighbors(len(frame), kernel=kernel), frame)
    columns = oracle.read_columns(frame)
    reference = oracle.fit(columns, chosen["n_bins"])
    if kernel.matching == "pairwise":
        adopt_weights(near.kernel_.model_.matcher, reference.pairwise)
    z = oracle.represent(columns, reference, kernel.matching)
    other = oracle.represent(oracle.read_columns(new), reference, kernel.matching)
    wanted = oracle.rare_kernel(other, z, reference, rarity)
    wanted /= oracle.full_scores(other, reference, rarity)[:, None]
    distances, indices = near.kneighbors(new)
    got = 1 - distances
    found = np.take_along_axis(wanted, indices, axis=1)
    np.testing.assert_allclose(got, found, rtol=0, atol=0.51 * GRID)


def odd_numbers(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(60, 4))
    table[:, 1] = np.round(table[:, 1] * 2)
    table[:, 2] = table[:, 2] > 1
    table[rng.random(table.shape) < 0.2] = np.nan
    return table, np.vstack([table[:12], rng.normal(size=(3, 4)) * 9])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rarity", [0.0, 0.5, 1.0])
def test_fine_scale_is_that_of_the_definition(seed, rarity):
    table, new = odd_numbers(seed)
    pk = ProximityKernel(
        "fine", missingness="ignorable", rarity=rarity, dtype=np.float64
    ).fit(table)
    truth = FineTable(table)
    wanted = truth.rare_kernel(new, rarity)
    np.testing.assert_allclose(pk.kernel(new), wanted, atol=1e-12)
    shares = wanted / truth.full_scores(new, rarity)[:, None]
    near = ProximityNeighbors(5, kernel=pk).fit(table)
    distances, indices = near.kneighbors(new)
    got = 1 - distances
    found = np.take_along_axis(shares[:, :12], np.minimum(indices, 11), axis=1)
    known = indices < 12  # the first rows of the table are among the new ones
    assert known.any()
    np.testing.assert_allclose(got[known], found[known], atol=0.51 * GRID)


@given(tables(), POWER, BINS, st.floats(0, 1), st.sampled_from(["auto", "informative"]))
def test_valid_for_every_power(drawn, rarity, n_bins, normalize, missingness):
    frame, new = drawn
    pk = ProximityKernel(
        n_bins,
        rarity=rarity,
        normalize=normalize,
        missingness=missingness,
        dtype=np.float64,
    )
    fitted(pk, frame)
    for table in (frame, new):
        k = pk.kernel(table)
        np.testing.assert_array_equal(k, k.T)
        assert np.linalg.eigvalsh(k).min() > -1e-9 * max(1, k.max())
        d = pk.distance(table)
        assert d.min() >= 0
        assert d.max() <= 1
    near = fitted(ProximityNeighbors(kernel=pk), frame)
    distances, indices = near.kneighbors(new, len(frame))
    found = 1 - distances
    assert found.min() >= 0
    assert found.max() <= 1
    assert (np.diff(found, axis=1) <= 0).all()
    tied = np.diff(found, axis=1) == 0
    assert (np.diff(indices, axis=1)[tied] > 0).all()
    row, other = new.iloc[[0]], frame.iloc[[int(indices[0, 0])]]
    why = explain(near, row, other)
    parts = sum(feature.contribution for feature in why.features)
    assert parts == pytest.approx(why.similarity, abs=1e-12)
    assert why.similarity == pytest.approx(float(found[0, 0]), abs=GRID)
    plainly = explain(near.kernel_, row, other).similarity
    assert plainly == pytest.approx(float(pk.kernel(row, other)[0, 0]), abs=1e-9)


@settings(max_examples=30)
@given(tables(), BINS, POWER)
def test_a_complete_row_has_similarity_one_with_itself_on_average(drawn, bins, rarity):
    frame, _ = drawn
    complete = frame.dropna(axis=1, how="all").dropna()
    if complete.empty:
        return
    pk = ProximityKernel(bins, rarity=rarity, dtype=np.float64).fit(complete)
    assert np.diag(pk.kernel(complete)).mean() == pytest.approx(1)
    near = ProximityNeighbors(1, kernel=pk).fit(complete)
    assert near.kneighbors(complete)[0].tolist() == [[0.0]] * len(complete)


def test_no_rarity_is_the_kernel_of_the_paper_to_the_bit():
    frame = mixed_table(150, 6, 0.2, seed=1)
    for bins in ("auto", "fine", 4):
        plainly = ProximityKernel(bins).fit(frame)
        rare = ProximityKernel(bins, rarity=0.5).fit(frame)
        none = ProximityKernel(bins, rarity=0).fit(frame)
        assert_same_bits(none.transform(frame), plainly.transform(frame))
        assert abs(rare.kernel(frame) - plainly.kernel(frame)).max() > 0.05


def test_a_rare_match_counts_more():
    """The second row shares the rare "yes" with the first, the third two others."""
    table = pd.DataFrame(
        {
            "rare": ["yes", "yes", "no", "no"] + ["no"] * 36,
            "b": ["x", "y", "x", "x"] + ["x", "y"] * 18,
            "c": ["x", "x", "x", "y"] + ["x", "y"] * 18,
        }
    )
    query = table.iloc[[0]]
    plainly = ProximityNeighbors(3, kernel=ProximityKernel()).fit(table)
    assert plainly.kneighbors(query)[1][0, 1] == 1  # a tie of two of three
    rare = ProximityNeighbors(3).fit(table)
    distances, indices = rare.kneighbors(query)
    similarities = 1 - distances
    assert indices[0].tolist()[:2] == [0, 1]
    assert similarities[0, 1] > 1.5 * similarities[0, 2]
    why = explain(rare, query, table.iloc[[1]])
    assert "same, shared by only 5 % of the rows" in str(why)
    assert why.features[0].weight > 2
    assert why.features[0].shared == pytest.approx(0.05)
    assert why.features[2].reason == "same"
    assert "shared by only" not in str(explain(plainly, query, table.iloc[[1]]))
    knn = ProximityKNNClassifier(1).fit(table.iloc[1:], table["rare"].iloc[1:])
    assert explain(knn, query, table.iloc[[1]]).similarity == pytest.approx(
        1 - float(knn.kneighbors(query)[0][0, 0]), abs=GRID
    )


@pytest.mark.parametrize("n_bins", ["auto", "fine", 4])
@pytest.mark.parametrize("missingness", ["ignorable", "informative"])
def test_batches_partitions_and_files_give_the_same_bits(n_bins, missingness, tmp_path):
    table = mixed_table(400, 6, 0.2, seed=1)
    pk = ProximityKernel(n_bins, missingness=missingness, rarity=0.5)
    wanted = pk.fit_transform(table)
    parts = [table.iloc[:90], table.iloc[90:91], table.iloc[91:]]
    batched = ProximityKernel(n_bins, missingness=missingness, rarity=0.5)
    assert_same_bits(batched.fit_batches(parts).transform(table), wanted)
    with dask.config.set(scheduler="synchronous"):
        frame = dd.from_pandas(table, npartitions=3)
        on_dask = DaskProximityKernel(pk).fit(frame)
    assert_same_bits(on_dask.kernel_.transform(table), wanted)
    pk.save(tmp_path / "rare.model")
    loaded = ProximityKernel.load(tmp_path / "rare.model")
    assert_same_bits(loaded.transform(table), wanted)
    assert loaded.model_.rarity == 0.5
    near = ProximityNeighbors(4).fit(table)
    near.save(tmp_path / "near.model")
    again = ProximityNeighbors.load(tmp_path / "near.model")
    for got, want in zip(again.kneighbors(), near.kneighbors(), strict=True):
        np.testing.assert_array_equal(got, want)


def test_weights_of_rows_count_in_the_frequencies():
    table = mixed_table(100, 4, 0.1, seed=2)
    copies = np.random.default_rng(0).integers(0, 4, size=100)
    repeated = table.loc[np.repeat(np.arange(100), copies)].reset_index(drop=True)
    weighted = ProximityKernel("fine", rarity=0.7).fit(table, sample_weight=copies)
    assert_same_bits(
        weighted.transform(table),
        ProximityKernel("fine", rarity=0.7).fit(repeated).transform(table),
    )


@pytest.mark.parametrize("rarity", [-0.1, 1.5, "much", True, float("nan"), None])
def test_bad_powers_are_named(rarity):
    with raises_naming(ValueError, "rarity", "0 to 1"):
        ProximityKernel(rarity=rarity).fit([[1.0], [2.0]])


# --- normalize


@given(tables(), parameters(), st.floats(0, 1), POWER)
def test_normalize_divides_by_a_power_of_the_self_similarities(
    drawn, chosen, power, rarity
):
    frame, new = drawn
    plainly = fitted(plain(**chosen, rarity=rarity, dtype=np.float64), frame)
    options = {**chosen, "rarity": rarity, "dtype": np.float64}
    pk = fitted(plain(**options, normalize=power), frame)
    k, itself = plainly.kernel(new, frame), np.diag(plainly.kernel(frame))
    own = np.diag(plainly.kernel(new))
    whole = (np.where(own > 0, own, 1)[:, None] * itself[None, :]) ** (power / 2)
    wanted = k / np.where(whole > 0, whole, 1)
    np.testing.assert_allclose(pk.kernel(new, frame), wanted, rtol=1e-9, atol=1e-12)


def test_normalize_as_a_number_and_as_a_flag():
    frame = mixed_table(80, 5, 0.3, seed=4)
    for flag, number in ((False, 0), (False, 0.0), (True, 1), (True, 1.0)):
        wanted = ProximityKernel(normalize=flag).fit_transform(frame)
        found = ProximityKernel(normalize=number).fit_transform(frame)
        assert_same_bits(found, wanted)
    itself = [
        np.diag(ProximityKernel(normalize=power).fit(frame).kernel(frame)).mean()
        for power in (0, 0.5, 1)
    ]
    assert itself[0] < itself[1] < itself[2] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("normalize", [-0.1, 1.5, "yes", None])
def test_bad_normalize_is_named(normalize):
    with raises_naming(ValueError, "normalize", "0 to 1"):
        ProximityKernel(normalize=normalize).fit([[1.0], [2.0]])


# --- ties


def test_ties_have_one_order_in_every_dtype_thread_and_partition():
    """Few features of few values: many rows are equally similar, by other features."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 4, size=(500, 6)).astype(float))
    table = table.mask(rng.random(table.shape) < 0.1)
    table.columns = [f"c{j}" for j in range(6)]
    for rarity in (0.0, 0.5):
        found = []
        for dtype in (np.float32, np.float64):
            for n_jobs in (1, 2):
                pk = ProximityKernel("fine", rarity=rarity, dtype=dtype)
                near = ProximityNeighbors(12, kernel=pk, n_jobs=n_jobs).fit(table)
                found.append(near.kneighbors(table))
            with dask.config.set(scheduler="synchronous"):
                frame = dd.from_pandas(table, npartitions=7)
                on_dask = DaskProximityKernel(pk).fit(frame)
                found.append(on_dask.kneighbors(frame, table, 12))
        for distances, indices in found:
            np.testing.assert_array_equal(indices, found[0][1])
            np.testing.assert_array_equal(distances, found[0][0])
            tied = np.diff(distances, axis=1) == 0
            assert tied.mean() > 0.02
            assert (np.diff(indices, axis=1)[tied] > 0).all()
        # Every row that ties with the last one, and has a lower index, is there.
        exact = ProximityKernel("fine", rarity=rarity, dtype=np.float64).fit(table)
        similar = exact.kernel(table)
        for i in range(len(table)):
            last = found[0][1][i, -1]
            better = np.flatnonzero(similar[i] > similar[i, last] + 1e-6)
            ties = np.flatnonzero(abs(similar[i] - similar[i, last]) < 1e-12)
            assert set(better) <= set(found[0][1][i])
            assert set(ties[ties <= last]) <= set(found[0][1][i])
