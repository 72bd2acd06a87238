"""HI-PMK against its formulae written with loops, and against known results."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from proximity_kernel_paper.baselines import registry
from proximity_kernel_paper.baselines._hipmk import HIPMK, cut_by_frequency
from proximity_kernel_paper.datasets import load

GRADES = ["low", "mid", "high"]


def make_table(n, seed, rate=0.25):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ties": random.integers(0, 5, n).astype(float),
            "size": random.normal(size=n),
            "grade": pd.Categorical(random.choice(GRADES, n), GRADES, ordered=True),
            "colour": random.choice(["blue", "green", "red", "grey"], n),
            "same": "one",
        }
    )
    return frame.mask(random.random(frame.shape) < rate)


# ------------------------------------------------- the formulae, one cell at a time


def slow_cuts(observed, n_bins):
    """Each wanted cut at the nearest border between distinct values."""
    distinct = sorted(set(observed))
    borders = list(itertools.pairwise(distinct))
    cuts = set()
    for k in range(1, n_bins):
        wanted = k * len(observed) / n_bins
        misses = [abs(sum(v <= low for v in observed) - wanted) for low, _ in borders]
        if borders:
            low, high = borders[misses.index(min(misses))]
            cuts.add((low + high) / 2)
    return sorted(cuts)


def slow_bins(column):
    """(bin of a cell, number of bins, kind) of a column, from the fitted cells."""
    observed = list(column.dropna())
    if isinstance(column.dtype, pd.CategoricalDtype):
        order = list(column.dtype.categories)
        return order.index, len(order), "ordinal"
    if column.dtype == float:
        cuts = slow_cuts(observed, math.floor(math.log2(len(column))) + 1)
        return lambda v: sum(cut < v for cut in cuts), len(cuts) + 1, "numeric"
    labels = sorted(set(observed))
    return labels.index, len(labels), "nominal"


def slow_region(a, b, counts, n_missing, kind):
    """Rows in the region of two bins, None for a missing side."""
    L = len(counts)
    if a is None and b is None:
        most = sorted(counts)[-2:] if kind == "nominal" else counts
        return sum(most) + n_missing
    if a is None or b is None:
        a = b if a is None else a
        if kind == "nominal":
            others = [counts[k] for k in range(L) if k != a]
            return counts[a] + max(others, default=0) + n_missing
        return max(sum(counts[: a + 1]), sum(counts[a:])) + n_missing
    if kind == "nominal":
        return counts[a] if a == b else counts[a] + counts[b]
    return sum(counts[min(a, b) : max(a, b) + 1])


def slow_similarity(new, fitted, missing):
    n = len(fitted)

    def total(x, y):
        """Sum of l over the columns; x and y map columns to bins."""
        result = 0
        for name, (counts, n_missing, kind) in columns.items():
            N = slow_region(x[name], y[name], counts, n_missing, kind)
            L = len(counts)
            result += math.log(min(N + 1, n + L - 1e-6) / (n + L))
        return result

    columns, rows = (
        {},
        {"new": [{} for _ in new.index], "fitted": [{} for _ in range(n)]},
    )
    for name in fitted.columns:
        find, L, kind = slow_bins(fitted[name])
        bins = [find(v) for v in fitted[name].dropna()]
        counts = [bins.count(k) for k in range(L)]
        columns[name] = counts, n - len(bins), kind
        nowhere = None if missing == "maxu" else 0
        for where, table in (("new", new), ("fitted", fitted)):
            for row, v in zip(rows[where], table[name], strict=True):
                row[name] = nowhere if pd.isna(v) else find(v)
    return np.array(
        [
            [2 * total(x, y) / (total(x, x) + total(y, y)) for y in rows["fitted"]]
            for x in rows["new"]
        ]
    )


@pytest.mark.parametrize("missing", ["maxu", "bin0"])
@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_the_formulae(missing, seed):
    n = (5, 16, 31, 40)[seed]  # also around powers of 2, where the bins change
    fitted = make_table(n, seed)
    new = make_table(12, seed + 10)
    # The loops know no unseen category, but HI-PMK takes it as missing.
    new["colour"] = new["colour"].where(new["colour"].isin(set(fitted["colour"])))
    hipmk = HIPMK(missing=missing).fit(fitted)
    want = slow_similarity(fitted, fitted, missing)
    np.testing.assert_allclose(hipmk.transform(fitted), want, rtol=1e-12)
    want = slow_similarity(new, fitted, missing)
    np.testing.assert_allclose(hipmk.transform(new), want, rtol=1e-12)


def test_a_small_table_by_hand():
    # n = 4, L = 2, c = [2, 1], m = 1: n + L = 6.
    table = np.array([[1.0], [1.0], [5.0], [np.nan]])
    low, high, gap = math.log(3 / 6), math.log(2 / 6), math.log(5 / 6)
    want = 2 * math.log(4 / 6) / (low + high)
    K = HIPMK().fit_transform(table)
    assert K[0, 2] == pytest.approx(want)
    assert K[0, 3] == pytest.approx(2 * gap / (low + gap))
    assert K[2, 3] == pytest.approx(2 * gap / (high + gap))
    K = HIPMK(missing="bin0").fit_transform(table)
    np.testing.assert_array_equal(K[3], K[0])


@pytest.mark.parametrize("missing", ["maxu", "bin0"])
def test_symmetric_with_ones_on_the_diagonal(missing):
    # More rows than one block holds.
    table = make_table(700, seed=0)
    K = HIPMK(missing=missing).fit_transform(table)
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    np.testing.assert_allclose(K.diagonal(), 1)
    assert K.min() >= 0


def test_an_unseen_category_is_missing():
    fitted = make_table(30, seed=0)
    new = make_table(5, seed=1, rate=0)
    hipmk = HIPMK().fit(fitted)
    np.testing.assert_array_equal(
        hipmk.transform(new.assign(colour="violet")),
        hipmk.transform(new.assign(colour=None)),
    )


def test_a_column_with_nothing_observed_is_left_out():
    table = make_table(30, seed=0)
    want = HIPMK().fit_transform(table)
    for missing in ("maxu", "bin0"):
        more = HIPMK(missing=missing).fit(table.assign(empty=np.nan))
        assert len(more.tables_) == 5
    got = HIPMK().fit_transform(table.assign(empty=np.nan))
    np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match="Nothing is observed"):
        HIPMK().fit(np.full((3, 2), np.nan))


def test_a_wrong_word_for_missing_is_refused():
    with pytest.raises(ValueError, match="'maxu' or 'bin0', not 'bin1'"):
        HIPMK(missing="bin1").fit(np.eye(3))


def test_the_columns_of_the_output_are_named():
    hipmk = HIPMK().fit(make_table(3, seed=0, rate=0))
    assert hipmk.get_feature_names_out().tolist() == ["hipmk0", "hipmk1", "hipmk2"]


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7])
def test_cuts_agree_with_the_loop(n_bins):
    random = np.random.default_rng(n_bins)
    for size in (1, 2, 9, 50):
        observed = random.integers(0, 8, size).astype(float)
        want = slow_cuts(list(observed), n_bins)
        np.testing.assert_array_equal(cut_by_frequency(observed, n_bins), want)


def test_bins_without_ties_are_equally_full():
    values = np.random.default_rng(0).permutation(np.arange(60.0))
    cuts = cut_by_frequency(values, 6)
    assert np.bincount(np.searchsorted(cuts, values)).tolist() == [10] * 6


# ---------------------------------------------------------------------- real data


@pytest.mark.parametrize(
    ("name", "missing", "low", "high"),
    [
        ("mammo", "maxu", 0.317, 0.317),
        ("mammo", "bin0", 0.314, 0.314),
        ("kidney", "maxu", 0.60, 0.63),
        ("kidney", "bin0", 0.787, 0.787),
    ],
)
def test_clusters_real_tables_as_measured_before(name, missing, low, high, home):
    dataset = load(name, data_home=home)
    K = registry["HI-PMK"].build(missing=missing).fit_transform(dataset.frame)
    scores = []
    for seed in range(5):
        found = KMeans(2, n_init=10, random_state=seed).fit_predict(K)
        scores.append(normalized_mutual_info_score(dataset.target, found))
    assert low - 0.02 < np.mean(scores) < high + 0.02
