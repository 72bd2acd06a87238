"""The claims of docs/theory.md about estimates: sections 2 and 3.

The simulations have seeds, so they do not fail by chance; the tolerances beside them
are four standard errors or more, so another seed would pass as well.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from simulation import (
    EVERYWHERE,
    GIVEN,
    MATCHINGS,
    NOT_AT_ZERO,
    RATE,
    SUPPORT,
    draw_table,
    fit_table,
)
from strategies import assert_same_bits, dense

from proximity_kernel import ProximityKernel
from proximity_kernel._weights import weigh_codes

# 2. The estimate of a missing block converges

QUERIES = np.array(
    [[*codes, np.nan] for codes in itertools.product([0.0, 1.0], repeat=3)]
)
SIZES = (1000, 4000, 16000)


def answer(pk, rows, matching):
    """Estimates of the fourth feature, with their rungs and supports."""
    pk.set_params(matching=matching)
    cells = pk.provenance(rows)
    return dense(pk.transform(rows))[:, -3:], cells[cells["feature"] == 3]


def given_rung(joint, weights, rung):
    """Distribution of the fourth feature given "shares at least the rung with 000".

    By enumeration of all rows and all patterns of holes.
    """
    found = np.zeros(3)
    for codes in itertools.product([0, 1], repeat=3):
        for seen in itertools.product([0, 1], repeat=3):
            score = sum(
                w * s * (code == 0)
                for w, s, code in zip(weights, seen, codes, strict=True)
            )
            if score >= rung:
                chance = (1 - RATE) ** sum(seen) * RATE ** (3 - sum(seen))
                found += chance * joint[codes]
    return found / found.sum()


def squared(gap):
    return (np.asarray(gap) ** 2).sum(axis=-1)


def slope(x, y):
    """Of the line through the points on a log-log scale."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


def test_the_estimate_converges_at_the_stated_rate():
    """The root mean squared error falls like n**-0.5, for every matching.

    With 25 tables a size and 8 rows a table, the slope has a standard error of 0.02,
    and the mean of n_u * error**2 / (1 - ||p||**2), which should be 1, of 0.05.
    """
    rng = np.random.default_rng(1)
    truth = GIVEN.reshape(8, 3)
    errors = {name: np.zeros(len(SIZES)) for name in (*MATCHINGS, "prior")}
    scaled = {name: [] for name in MATCHINGS}
    for at, n in enumerate(SIZES):
        for _ in range(25):
            pk = fit_table(draw_table(EVERYWHERE, n, rng))
            for matching in MATCHINGS:
                found, cells = answer(pk, QUERIES, matching)
                assert (cells["level"] == "intersection").all()
                off = squared(found - truth)
                errors[matching][at] += off.mean() / 25
                scaled[matching] += list(off * cells["support"] / (1 - squared(truth)))
            errors["prior"][at] += squared(pk.prior_[3] - truth).mean() / 25
    for matching in MATCHINGS:
        rate = slope(SIZES, np.sqrt(errors[matching]))
        assert rate == pytest.approx(-0.5, abs=0.08), matching
        assert np.mean(scaled[matching]) == pytest.approx(1, abs=0.2), matching
    # An estimator of something else does not get there: this test can fail.
    assert slope(SIZES, np.sqrt(errors["prior"])) > -0.05


def test_the_limit_is_given_the_highest_rung_that_can_be_reached():
    """Nobody shares all three codes: two (graded), any (cascade), or the heaviest."""
    rng = np.random.default_rng(2)
    row = np.array([[0.0, 0.0, 0.0, np.nan]])
    reached = set()
    scaled = {name: [] for name in MATCHINGS}
    for n in SIZES:
        for _ in range(25):
            pk = fit_table(draw_table(NOT_AT_ZERO, n, rng))
            for matching in MATCHINGS:
                found, cells = answer(pk, row, matching)
                weights = np.ones(3)
                if matching == "weighted":
                    weights = weigh_codes(pk._model.reference, 1)[3, [0, 2, 4]]
                    weights = weights.astype(int)
                    reached.add((n, *weights.tolist()))
                rung = int(cells["rung"][0])
                p = given_rung(NOT_AT_ZERO, weights, rung)
                wanted = {"weighted": sum(weights) - min(weights), "graded": 2}
                assert rung == wanted.get(matching, 1)
                off = squared(found - p) * cells["support"] / (1 - squared(p))
                scaled[matching] += off.tolist()
    for matching in MATCHINGS:  # 75 draws: a standard error of 0.12 at the most
        assert np.mean(scaled[matching]) == pytest.approx(1, abs=0.5), matching
    # The integer weights settle: fewer and fewer are met as rows grow.
    met = [len([key for key in reached if key[0] == n]) for n in SIZES]
    assert met[0] > met[-1]


def test_gaps_that_depend_on_their_own_value_have_another_limit():
    """The limit is the distribution among those who are observed, not among all."""
    observes = (1.0, 0.5, 0.25)
    table = draw_table(EVERYWHERE, 16000, np.random.default_rng(3), observes)
    found, cells = answer(fit_table(table), QUERIES, "graded")
    truth = GIVEN.reshape(8, 3)
    among = truth * observes
    among /= among.sum(axis=1, keepdims=True)
    spread = np.sqrt(1 / cells["support"])
    assert (np.sqrt(squared(found - among)) < 4 * spread).all()
    assert (np.sqrt(squared(found - truth)) > 4 * spread).sum() >= 6


@pytest.mark.parametrize("matching", ["graded", "cascade"])
def test_the_choice_of_the_rung_does_not_look_at_the_missing_feature(matching):
    """Shuffle what others hold in it: same rung, same support, other estimates."""
    rng = np.random.default_rng(4)
    table = draw_table(EVERYWHERE, 300, rng)
    shuffled = table.copy()
    observed = ~np.isnan(table[:, 3])
    shuffled[observed, 3] = rng.permutation(table[observed, 3])
    rows = table[~observed]
    assert len(rows) > 20
    one, cells = answer(fit_table(table), rows, matching)
    other, others = answer(fit_table(shuffled), rows, matching)
    np.testing.assert_array_equal(cells, others)
    assert np.abs(one - other).max() > 0.1
    assert len(set(cells["rung"].tolist())) > 1


def test_on_any_rung_the_estimate_is_unbiased_given_what_chose_it():
    """Keep all but the values of the missing feature, and draw these 300 times.

    The mean of 300 estimates has a standard error below 0.008 in each bin, and the mean
    squared error one of 6 %.
    """
    rng = np.random.default_rng(13)
    codes = np.nan_to_num(draw_table(NOT_AT_ZERO, 90, rng)).astype(int)
    observed = rng.random(90) > RATE
    row = np.array([[0.0, 0.0, 0.0, np.nan]])
    p = GIVEN[tuple(codes[:, :3].T)]
    found, rungs = [], set()
    for _ in range(300):
        value = (rng.random((90, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
        table = np.c_[codes[:, :3], np.where(observed, value, np.nan)]
        z, cells = answer(fit_table(table), row, "graded")
        rungs.add((int(cells["rung"][0]), int(cells["support"][0])))
        found.append(z[0])
    ((rung, support),) = rungs
    on_it = observed & ((codes[:, :3] == 0).sum(axis=1) >= rung)
    assert support == on_it.sum() >= SUPPORT
    middle = p[on_it].mean(axis=0)
    np.testing.assert_allclose(np.mean(found, axis=0), middle, atol=0.03)
    error = squared(np.array(found) - middle).mean()
    stated = (1 - squared(p[on_it])).sum() / support**2
    assert error == pytest.approx(stated, rel=0.25)
    assert stated < (1 - squared(middle)) / support


def test_where_the_intersection_has_support_weights_do_not_matter():
    rng = np.random.default_rng(5)
    table = draw_table(EVERYWHERE, 200, rng)
    rows = table[np.isnan(table[:, 3])]
    pk = fit_table(table)
    plain, cells = answer(pk, rows, "graded")
    weighted, heavy = answer(pk, rows, "weighted")
    enough = (cells["level"] == "intersection") & (cells["support"] >= SUPPORT)
    assert 0 < enough.sum() < len(enough)
    np.testing.assert_array_equal(heavy["level"][enough], "intersection")
    np.testing.assert_array_equal(heavy["support"][enough], cells["support"][enough])
    np.testing.assert_array_equal(weighted[enough], plain[enough])
    assert not np.array_equal(weighted[~enough], plain[~enough])


@pytest.mark.parametrize("n_above", [1, 5, 19, 20, 21])
def test_refining_moves_by_the_stated_share(n_above):
    """Rows with both codes hold "1", 40 with one of them hold "0"."""
    rows = [["p", "x", "1"]] * n_above + [["p", "y", "0"]] * 40
    rows += [["q", "y", "1"]] * 40
    frame = pd.DataFrame(rows, columns=list("abc"), dtype="str")
    new = pd.DataFrame({"a": ["p"], "b": ["x"], "c": [None]}).astype("str")
    pk = ProximityKernel(matching="weighted", dtype=np.float64).fit(frame)
    below = n_above / (n_above + 40)
    share = n_above / (n_above + SUPPORT)
    wanted = 1 if n_above >= SUPPORT else (1 - share) * below + share
    assert dense(pk.transform(new))[0, -1] == pytest.approx(wanted, abs=1e-15)


# 3. What fewer reference rows cost


@pytest.fixture(scope="module")
def sampled():
    """Rows to compare, a table, its fit, and fits on R rows drawn from it."""
    rng = np.random.default_rng(6)
    table = draw_table(EVERYWHERE, 8000, rng)
    rows = np.nan_to_num(draw_table(EVERYWHERE, 60, rng))
    rows[:40, 3] = np.nan
    rows[20:40, 1] = np.nan
    fits = [
        (size, fit_table(table[rng.choice(8000, size, replace=False)]))
        for size in (1000, 1500, 2500, 4000)
        for _ in range(40)
    ]
    return rows, table, fit_table(table), fits


def blocks(pk, rows):
    """The representation feature by feature."""
    return np.split(dense(pk.transform(rows)), np.cumsum(pk.n_bins_)[:-1], axis=1)


def block_gaps(full, part, rows):
    """Norms of what the blocks are off, shape (n_rows, n_features)."""
    pairs = zip(blocks(part, rows), blocks(full, rows), strict=True)
    return np.stack([np.sqrt(squared(a - b)) for a, b in pairs], axis=1)


@pytest.mark.parametrize("matching", MATCHINGS)
def test_fewer_references_cost_what_is_stated(sampled, matching):
    """In the mean: (1 - ||p||**2) n_u / (n_u - 1) (1 / n_R - 1 / n_u)."""
    _, _, full, fits = sampled
    whole, cells = answer(full, QUERIES, matching)
    n_u = cells["support"]
    ratios = []
    for _, part in fits:
        found, some = answer(part, QUERIES, matching)
        same = some["support"] >= SUPPORT
        n_r = some["support"]
        spread = (1 - squared(whole)) * n_u / (n_u - 1) * (1 / n_r - 1 / n_u)
        ratios += (squared(found - whole) / spread)[same].tolist()
    assert len(ratios) == 1280
    assert np.mean(ratios) == pytest.approx(1, abs=0.2)  # standard error 0.03


@pytest.mark.parametrize("matching", MATCHINGS)
def test_the_kernel_of_fewer_references_is_within_the_bounds(sampled, matching):
    rows, _, full, fits = sampled
    full.set_params(matching=matching)
    k, d = full.kernel(rows), 4
    cells = full.provenance(rows)
    chance = 0.001 / (len(fits) * len(cells))  # that one of the bounds is broken
    norms = np.stack([squared(block) for block in blocks(full, rows)], axis=1)
    errors = {}
    for size, part in fits:
        part.set_params(matching=matching)
        gap = np.abs(part.kernel(rows) - k)
        off = block_gaps(full, part, rows)
        total = off.sum(axis=1)
        assert (gap <= (total[:, None] + total) / d + 1e-12).all()
        for cell in part.provenance(rows):
            i, j, n_r = cell["row"], cell["feature"], cell["support"]
            assert cell["level"] == "intersection"
            most = np.sqrt(1 - norms[i, j]) + np.sqrt(np.log(1 / chance))
            assert off[i, j] <= most / np.sqrt(n_r)
        errors.setdefault(size, []).append(np.sqrt((gap**2).mean()))
    sizes = np.array(list(errors))
    mean = [np.mean(errors[size]) for size in errors]
    # Over draws the slope has a standard error of 0.016.
    assert slope(1 / sizes - 1 / 8000, mean) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize("matching", MATCHINGS)
def test_all_rows_as_references_cost_nothing(sampled, matching):
    rows, table, full, _ = sampled
    other = fit_table(np.random.default_rng(9).permutation(table))
    kernels = [pk.set_params(matching=matching).kernel(rows) for pk in (full, other)]
    assert_same_bits(*kernels)


def test_too_few_references_cost_rungs(sampled):
    """Where n_u R / n falls below the support, the estimate is of a lower rung."""
    _, table, full, _ = sampled
    _, cells = answer(full, QUERIES, "graded")
    assert (cells["level"] == "intersection").all()
    assert (cells["support"] * 100 / 8000 < SUPPORT).all()
    some = np.random.default_rng(10).choice(8000, 100, replace=False)
    _, cells = answer(fit_table(table[some]), QUERIES, "graded")
    assert (cells["level"] == "partial").mean() > 0.8
