"""Every variant against its definition, in sets and loops, on tiny tables."""

import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import oracle
import oracle_auto
import pandas as pd
import pytest

from proximity_kernel import ProximityKernel
from proximity_kernel_paper.datasets import Dataset
from proximity_kernel_paper.experiments import differences
from proximity_kernel_paper.experiments._trials import Request, Trial
from proximity_kernel_paper.experiments._variants import (
    Rule,
    find_centers,
    find_touched,
    represent_by,
    split_blocks,
)

VARIANTS, PAPER = differences.VARIANTS, differences.PAPER
real_cluster = differences.cluster
RULES = [name for name, variant in VARIANTS.items() if not variant.matching]


def plain(matching, n_bins=4, **options):
    """The kernel with gaps that tell nothing, as the paper's variants take them."""
    simple = {"missingness": "ignorable", "dtype": np.float64}
    return ProximityKernel(n_bins, matching=matching, **simple, **options)


def random_table(seed, n_rows=16):
    """Numbers with ties, ranks and categories; twins, and a row with nothing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.integers(0, 9, n_rows).astype(float),
            "y": rng.normal(size=n_rows),
            "o": pd.Categorical(
                rng.choice(list("lmh"), n_rows), list("lmh"), ordered=True
            ),
            "c": pd.Categorical(rng.choice(list("abcdefg"), n_rows), list("abcdefgh")),
        }
    )
    frame = frame.mask(rng.random(frame.shape) < 0.4)
    frame.iloc[1] = frame.iloc[2]
    frame.loc[n_rows - 1, :] = None
    frame.iloc[0] = [0.0, -1.5, "l", "a"]  # every column observes something
    return frame


# ------------------------------------------------- the definitions, cell by cell


def brute_force(rule, frame, n_bins):
    """The representation by a rule: a list of cells for each row."""
    columns = oracle.read_columns(frame)
    if not rule.nominal:
        columns = [number_categories(column) for column in columns]
    coded = [code(column, rule, n_bins) for column in columns]
    rows = list(zip(*(codes for codes, _, _ in coded), strict=True))
    found = []
    for i, row in enumerate(rows):
        cells = []
        for j, (codes, n_cells, prior) in enumerate(coded):
            if row[j] is not None:
                block = [float(k == row[j]) for k in range(n_cells)]
            elif rule.own_bin:
                block = [0.0] * n_cells
            else:
                block = estimate(i, j, rows, n_cells, prior, rule)
            if rule.own_bin and None in codes:
                block = [*block, float(row[j] is None)]
            cells.append(block)
        found.append(cells)
    return found


def number_categories(column):
    if column.numeric:
        return column
    labels = sorted({value for value in column.values if value is not None})
    places = [None if v is None else float(labels.index(v)) for v in column.values]
    return oracle.Column(True, places)


def code(column, rule, n_bins):
    """Codes (None where missing), number of cells, and prior."""
    observed = [value for value in column.values if value is not None]
    if not column.numeric:
        cells = oracle.fit_cells(column, max_categories=rule.most_categories)
        codes = [oracle.assign_code(value, cells) for value in column.values]
        codes = [None if k == oracle.MISSING else k for k in codes]
        return codes, cells.n_bins, frequencies(codes, cells.n_bins)
    ordered, steps = sorted(observed), n_bins + rule.more_centers - 1
    shares = [Fraction(k, steps) for k in range(steps + 1)]
    centers = [oracle_auto.percentile(ordered, share) for share in shares]
    if rule.merged:
        centers = sorted(set(centers))
    if rule.assignment == "interval":
        n_cells = max(1, len(centers) - 1)
        codes = [find_interval(value, centers) for value in column.values]
        return codes, n_cells, frequencies(codes, n_cells)
    exact = rule.assignment == "nearest"
    codes = [find_nearest(value, centers, exact) for value in column.values]
    counted = codes
    if rule.prior == "interval":
        counted = [sum(c <= value for c in centers) - 1 for value in observed]
    return codes, len(centers), frequencies(counted, len(centers))


def find_nearest(value, centers, exact):
    if value is None:
        return None
    if exact:  # no rounding, but of the midpoints: 4.4 is as far from 4 as from 4.8
        distinct = sorted(set(centers))
        code = oracle.assign_code(value, oracle.Cells(centers=distinct))
        return centers.index(distinct[code])
    distances = [abs(value - center) for center in centers]
    return distances.index(min(distances))


def find_interval(value, centers):
    if value is None:
        return None
    for k, (low, high) in enumerate(pairwise(centers)):
        if low <= value < high:
            return k
    return max(0, len(centers) - 2)


def frequencies(codes, n_cells):
    known = [k for k in codes if k is not None]
    return [known.count(k) / len(known) for k in range(n_cells)]


def estimate(i, j, rows, n_cells, prior, rule):
    row = rows[i]
    features = [f for f, k in enumerate(row) if k is not None]
    if not features:
        return [0.0] * n_cells if rule.empty_row_zero else prior
    sharing = [
        {m for m, other in enumerate(rows) if other[f] == row[f]} for f in features
    ]
    everything, anything = set.intersection(*sharing), set.union(*sharing)
    observers = {m for m, other in enumerate(rows) if other[j] is not None}
    if rule.intersection and everything & observers:
        return frequencies([rows[m][j] for m in everything & observers], n_cells)
    if rule.skipped and everything - {i}:
        return prior
    if rule.union and anything & observers:
        return frequencies([rows[m][j] for m in anything & observers], n_cells)
    return prior


# --------------------------------------------------------------------- the variants


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_bins", [2, 4])
@pytest.mark.parametrize("name", RULES)
def test_a_variant_is_its_definition(name, n_bins, seed):
    frame, rule = random_table(seed), VARIANTS[name].rule
    found = represent_by(rule, frame, n_bins)
    for j, blocks in enumerate(zip(*brute_force(rule, frame, n_bins), strict=True)):
        np.testing.assert_allclose(found[j], np.array(blocks), atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_without_a_change_it_is_ours(seed):
    frame = random_table(seed)
    model = plain("cascade")
    ours = model.fit_transform(frame).toarray()
    np.testing.assert_allclose(np.hstack(represent_by(Rule(), frame)), ours)
    columns = oracle.read_columns(frame)
    truth = oracle.represent(columns, oracle.fit(columns), "cascade")
    np.testing.assert_allclose(ours, truth)


def test_pairwise_is_that_of_the_kernel():
    frame = random_table(0)
    ours = plain("pairwise", n_bins=3).fit_transform(frame).toarray()
    found = differences.represent_variant(VARIANTS["pairwise"], frame, 3)
    np.testing.assert_allclose(np.hstack(found), ours, atol=1e-6)


def test_rules_by_hand():
    """Rows 0 and 1 are twins that miss y; nobody else has their x."""
    frame = pd.DataFrame(
        {
            "x": [0.0, 0.0, 9.0, 9.0, None, None],
            "z": [1.0, 1.0, 1.0, 5.0, 5.0, None],
            "y": [None, None, 1.0, 2.0, 2.0, None],
        }
    )
    twins = {
        Rule(): [1, 0],  # the union: row 2, by z
        Rule(skipped=True): [1 / 3, 2 / 3],
        Rule(union=False): [1 / 3, 2 / 3],
        Rule(intersection=False): [1, 0],
    }
    for rule, expected in twins.items():
        np.testing.assert_allclose(represent_by(rule, frame, 2)[2][:2], [expected] * 2)
    empty = represent_by(Rule(empty_row_zero=True), frame, 2)
    assert not np.hstack(empty)[5].any()
    np.testing.assert_allclose(represent_by(Rule(), frame, 2)[2][5], [1 / 3, 2 / 3])


def test_intervals_by_hand():
    frame = pd.DataFrame({"x": [0.0, 4.0, 6.0, 10.0], "y": [1.0, 1.0, 1.0, None]})
    # Centers 0, 5, 10: the intervals [0, 5) and [5, 10], the cells 0, 4 | 6 | 10.
    np.testing.assert_array_equal(
        represent_by(Rule(assignment="interval"), frame, 3)[0].argmax(axis=1),
        [0, 0, 1, 1],
    )
    np.testing.assert_array_equal(
        represent_by(Rule(), frame, 3)[0].argmax(axis=1), [0, 1, 1, 2]
    )


def test_a_tie_is_a_tie_whatever_the_rounding():
    frame = pd.DataFrame({"x": [4.0, 4.4, 4.8], "y": [1.0, 2.0, 3.0]})
    assert abs(4.4 - 4.0) > abs(4.4 - 4.8)  # in floats
    nearest, distance = (
        represent_by(Rule(assignment=name), frame, 2)[0].argmax(axis=1).tolist()
        for name in ("nearest", "distance")
    )
    assert (nearest, distance) == ([0, 0, 1], [0, 1, 1])


def test_a_percentile_on_a_value_is_that_value():
    values = np.repeat([0.0, 1.0], [67, 33])  # number 66 of 0 to 99: 4 of 6 steps
    np.testing.assert_array_equal(find_centers(values, 7, merged=True), [0, 1])


@pytest.mark.parametrize("most", [2, 3, 6, 9])
def test_rare_categories_share_the_last_bin(most):
    frame = random_table(5, 30)
    rule = Rule(most_categories=most)
    model = plain("cascade", max_categories=most)
    ours = model.fit_transform(frame).toarray()
    np.testing.assert_allclose(np.hstack(represent_by(rule, frame)), ours)
    truth = [np.hstack(cells) for cells in brute_force(rule, frame, 4)]
    np.testing.assert_allclose(ours, truth)


# --------------------------------------------------------------------- what is touched


def test_touched_cells_are_those_that_changed():
    ours = [np.array([[1.0, 0], [1, 0], [0, 1], [0.5, 0.5]])]
    missing = np.array([[False], [False], [False], [True]])

    def touched(block):
        return find_touched(ours, [np.array(block)], missing)[:, 0].tolist()

    assert touched(ours[0]) == [False] * 4
    renumbered = [[0.0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0.5, 0.5]]
    assert touched(renumbered) == [False] * 4  # a bin that nobody has is no change
    assert touched([[1.0, 0], [1, 0], [0, 1], [0.2, 0.8]]) == [False] * 3 + [True]
    assert touched([[1.0, 0], [0, 1], [0, 1], [0.5, 0.5]]) == [True] * 3 + [False]
    own_bin = [[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert touched(own_bin) == [False] * 3 + [True]


def test_blocks_of_a_representation():
    model = plain("cascade", n_bins=3)
    frame = random_table(1)
    matrix = model.fit_transform(frame)
    blocks = split_blocks(matrix, model.n_bins_)
    assert [block.shape[1] for block in blocks] == model.n_bins_.tolist()
    np.testing.assert_array_equal(np.hstack(blocks), matrix.toarray())


# --------------------------------------------------------------------- the experiment


@pytest.fixture
def small(monkeypatch):
    """A table of two blobs with a stray label, in place of every real one."""

    def load(name, data_home, labels="clean"):
        frame = random_table(3, 40)
        frame["y"] += np.repeat([0.0, 50.0], 20)
        target = pd.Series(np.repeat(["a", "b"], 20), name=name)
        if labels == "as published":
            target[5] = "a "
        return Dataset(frame, target.astype("category"), {}, str(data_home))

    def cluster(points, n_clusters, seed, n_init):
        assert n_init in (1, 10)
        return real_cluster(points, n_clusters, seed, 1)  # ten take long

    monkeypatch.setattr(differences, "load_once", load)
    monkeypatch.setattr(differences, "cluster", cluster)
    differences._represent.cache_clear()
    yield
    differences._represent.cache_clear()


def run(request):
    """What the runner would keep."""
    kept = []
    for trial in differences.plan(request, pd.DataFrame()):
        outcome = differences.measure(trial, None)
        keys = ("protocol", "dataset", "method", "parameters", "setting", "seed")
        row = dict(zip(keys, trial.key, strict=True)) | {"seed": trial.seed}
        kept.append(row | outcome | {"error": ""})
    return pd.DataFrame(kept)


@pytest.mark.usefixtures("small")
def test_the_experiment_from_plan_to_tables():
    request = Request(quick=True)
    rendering = differences.render(run(request), request)
    shown, effects, each, bins = (table.frame for table in rendering.tables)
    assert [table.detail for table in rendering.tables] == [False, True, True, True]
    assert set(shown.index) < set(VARIANTS)
    assert list(effects.index) == list(VARIANTS)
    assert effects.loc["labels as published", "rows"] == "2"  # one in each table
    assert effects.loc["equal centers kept", "cells"] == "0"
    assert effects.loc[PAPER, "cells"] == "0"
    assert each.loc["equal centers kept"].to_list() == ["0.000", "0.000"]
    assert list(bins.index) == [2, 4]


def test_trials_of_a_part_hold_ours_to_compare_with():
    request = Request(only=("mammo", "no union"))
    trials = differences.plan(request, pd.DataFrame())
    at_four = [trial for trial in trials if trial.setting == {"n_bins": 4}]
    assert {(t.dataset, t.method) for t in trials} == {
        ("mammo", PAPER),
        ("mammo", "no union"),
    }
    assert len(at_four) == 2 * differences.SEEDS
    everything = differences.plan(Request(), pd.DataFrame())
    assert len({trial.key for trial in everything}) == len(everything)


@pytest.mark.usefixtures("small")
def test_large_tables_are_drawn_from(monkeypatch):
    monkeypatch.setattr(differences, "MOST_ROWS", 30)
    trial = Trial("adult", PAPER, 1, setting={"n_bins": 4})
    outcome = differences.measure(trial, None)
    assert outcome["note"] == "30 of 40 rows"
    assert outcome["touched_cells"] == 0


def test_summary_is_mean_spread_and_range():
    results = pd.DataFrame(
        {
            "method": PAPER,
            "dataset": "mammo",
            "setting": json.dumps({"n_bins": 4}),
            "nmi": [0.1, 0.3],
            "touched_cells": [2, 4],
            "touched_rows": [1, 1],
        }
    )
    row = differences.summarise(results).iloc[0]
    assert row[["nmi", "spread", "range", "touched_cells"]].to_list() == pytest.approx(
        [0.2, 0.02**0.5, 0.2, 3]
    )


@pytest.mark.usefixtures("small")
def test_a_variant_that_failed_is_a_gap():
    request = Request(quick=True, only=("mammo", "no union"))
    results = run(request)
    failed = results["method"] == "no union"
    results.loc[failed, ["nmi", "touched_cells", "touched_rows"]] = np.nan
    results.loc[failed, "error"] = "MemoryError: no"
    _, effects, each, _ = differences.render(results, request).tables
    told = effects.frame.loc["no union"]
    assert set(told.drop("from")) == {"-"}
    assert each.frame.loc["no union", "mammo"] == "-"
