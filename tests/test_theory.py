"""The claims of docs/theory.md, each with a test that fails if it is false.

The simulations have seeds, so they do not fail by chance; the tolerances beside them
are four standard errors or more, so another seed would pass as well.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import assert_same_bits, dense, fitted, mixed_table, tables

from proximity_kernel import ProximityKernel

HERE = Path(__file__).parent
MATCHINGS = ("weighted", "graded", "cascade")
SUPPORT = 20
RATE = 0.1  # of cells that are missing, completely at random


@st.composite
def options(draw):
    """Every option that the kernel depends on."""
    return {
        "n_bins": draw(st.sampled_from([2, 3, 5, "auto"])),
        "matching": draw(st.sampled_from(MATCHINGS)),
        "min_support": draw(st.sampled_from([1, 3, 20])),
        "missingness": draw(st.sampled_from(["ignorable", "informative", "auto"])),
        "normalize": draw(st.booleans()),
        "dtype": draw(st.sampled_from([np.float32, np.float64])),
    }


# 1. The kernel is valid


def rounding(pk, n_columns):
    """What an entry of the kernel may be off, E of docs/theory.md."""
    return (2 * n_columns + 16) * np.finfo(pk.dtype).eps / 2


def assert_alike_to_itself(pk, frame):
    """Rows without estimates have similarity one; all rows, if it is normalized."""
    own = np.diag(pk.kernel(frame)).astype(float)
    error = rounding(pk, pk.transform(frame).shape[1])
    cells = pk.provenance(frame)
    guessed = cells["row"][pk.n_bins_[cells["feature"]] > 0]
    known = np.setdiff1d(np.arange(len(frame)), guessed)
    np.testing.assert_allclose(own[known], 1, rtol=0, atol=error)
    if pk.normalize:
        np.testing.assert_allclose(own, 1, rtol=0, atol=error)
    elif pk.n_bins != "auto":
        assert (own[known] == 1).all()


def assert_valid(pk, frame, new):
    """The kernel of old rows, new rows, and all of them is what a kernel should be."""
    z = np.concatenate([dense(pk.transform(table)) for table in (frame, new)])
    error = rounding(pk, z.shape[1])
    parts = [[pk.kernel(one, two) for two in (frame, new)] for one in (frame, new)]
    whole = np.block(parts).astype(float)
    for k in (pk.kernel(frame), pk.kernel(new)):
        assert k.tobytes() == k.T.copy().tobytes()
        assert k.min() >= 0
        assert k.max() <= 1
        assert np.linalg.eigvalsh(k.astype(float)).min() >= -len(k) * error
    np.testing.assert_allclose(whole, whole.T, rtol=0, atol=2 * error)
    lowest = np.linalg.eigvalsh((whole + whole.T) / 2).min()
    assert lowest >= -len(whole) * error
    # It is the product of an explicit map, which each table has from the fit alone.
    d = max(np.count_nonzero(pk.n_bins_), 1)
    product = z.astype(float) @ z.T.astype(float) / d
    np.testing.assert_allclose(whole, product, rtol=0, atol=error)


@settings(max_examples=40)
@given(tables(), options())
def test_the_kernel_is_valid_for_every_table(drawn, chosen):
    frame, new = drawn
    assert_valid(fitted(ProximityKernel(**chosen), frame), frame, new)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n_bins", [4, "auto"])
@pytest.mark.parametrize("missingness", ["ignorable", "informative", "auto"])
@pytest.mark.parametrize("matching", MATCHINGS)
def test_the_kernel_is_valid_for_every_option(matching, missingness, n_bins, normalize):
    """On a table where each option makes a difference."""
    frame, new = mixed_table(150, 6, 0.1, seed=0), mixed_table(30, 6, 0.2, seed=1)
    rng = np.random.default_rng(2)
    for table in (frame, new):  # a panel that was not ordered, three columns wide
        chance = np.where(table["col0"] == 0, 0.7, 0.1)
        table.loc[rng.random(len(table)) < chance, ["col1", "col3", "col4"]] = np.nan
    pk = ProximityKernel(
        n_bins, matching=matching, missingness=missingness, normalize=normalize,
        dtype=np.float64,
    ).fit(frame)  # fmt: skip
    events = [absence.informative for absence in pk.missingness_]
    wanted = {"ignorable": [0], "informative": [6], "auto": range(1, 6)}
    assert sum(events) in wanted[missingness]
    assert frame.notna().all(axis=1).any()
    assert any(groups is not None for groups in pk.bin_groups_) == (n_bins == "auto")
    assert_valid(pk, frame, new)
    assert_alike_to_itself(pk, frame)


@settings(max_examples=30)
@given(tables(), options())
def test_a_row_without_estimates_is_alike_to_itself(drawn, chosen):
    frame, _ = drawn
    assert_alike_to_itself(fitted(ProximityKernel(**chosen), frame), frame)


def test_two_resolutions_are_a_mean_of_two_kernels():
    """0.2 for the same bin and 0.8 for the same coarse bin, counted pair by pair."""
    values = np.random.default_rng(0).lognormal(size=(60, 3))
    pk = ProximityKernel("auto", dtype=np.float64).fit(values)
    same = np.zeros((60, 60))
    for j, (centers, groups) in enumerate(
        zip(pk.bin_centers_, pk.bin_groups_, strict=True)
    ):
        assert sorted(set(groups)) == [0, 1]
        code = np.abs(values[:, [j]] - centers).argmin(axis=1)
        fine = code[:, None] == code
        coarse = groups[code][:, None] == groups[code]
        same += (0.2 * fine + 0.8 * coarse) / 3
    np.testing.assert_allclose(pk.kernel(values), same, atol=1e-14)


# 2. The estimate of a missing block converges

# Three features with two categories each tell about a fourth with three.
SHARES = np.array([0.12, 0.13, 0.11, 0.14, 0.13, 0.12, 0.13, 0.12]).reshape(2, 2, 2)
GIVEN = np.random.default_rng(7).dirichlet([2.0, 2.0, 2.0], size=(2, 2, 2))
EVERYWHERE = SHARES[..., None] * GIVEN
NOT_AT_ZERO = EVERYWHERE.copy()  # nobody has code 0 in all three
NOT_AT_ZERO[0, 0, 0] = 0
NOT_AT_ZERO /= NOT_AT_ZERO.sum()
QUERIES = np.array(
    [[*codes, np.nan] for codes in itertools.product([0.0, 1.0], repeat=3)]
)
SIZES = (1000, 4000, 16000)


def draw_table(joint, n, rng, observes=(1.0, 1.0, 1.0)):
    """Draw rows of codes with holes; `observes`: of the fourth, by its value."""
    places = rng.choice(joint.size, size=n, p=joint.ravel())
    table = np.stack(np.unravel_index(places, joint.shape), axis=1).astype(float)
    hidden = rng.random(table.shape) < RATE
    hidden[:, 3] |= rng.random(n) > np.take(observes, table[:, 3].astype(int))
    table[hidden] = np.nan
    return table


def fit_table(table, **chosen):
    pk = ProximityKernel(
        categorical_features=[0, 1, 2, 3], dtype=np.float64, min_support=SUPPORT,
        **chosen,
    ).fit(table)  # fmt: skip
    assert pk.n_bins_.tolist() == [2, 2, 2, 3]
    return pk


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
                    weights = pk._model.weigh("weighted", 1)[3, [0, 2, 4]].astype(int)
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


# 4. Exact, and always the same


@settings(max_examples=25)
@given(tables(), options(), st.randoms(use_true_random=False))
def test_order_and_company_do_not_matter_for_any_option(drawn, chosen, random):
    frame, new = drawn
    order = list(range(len(frame)))
    random.shuffle(order)
    pk = fitted(ProximityKernel(**chosen), frame)
    again = fitted(ProximityKernel(**chosen), frame.iloc[order])
    for table in (frame, new):
        z = dense(pk.transform(table))
        assert_same_bits(again.transform(table), z)
        for i in (0, len(table) - 1):
            assert_same_bits(pk.transform(table.iloc[[i]]), z[[i]])
    fresh = ProximityKernel(**chosen)
    z = dense(fitted(fresh, frame).transform(frame))
    assert_same_bits(z[order], dense(pk.transform(frame.iloc[order])))


@settings(max_examples=20)
@given(tables(), options())
def test_equal_rows_get_equal_answers(drawn, chosen):
    frame, new = drawn
    pk = fitted(ProximityKernel(**chosen), frame)
    for table in (frame, new):
        z = dense(pk.transform(table))
        first = {}
        for i, row in enumerate(table.itertuples(index=False)):
            key = tuple(None if pd.isna(cell) else cell for cell in row)
            assert z[i].tobytes() == z[first.setdefault(key, i)].tobytes()


@pytest.mark.parametrize("matching", MATCHINGS)
def test_a_row_never_answers_for_itself(matching):
    """Fit without a row that misses a cell: the estimate is the same to the bit."""
    table = draw_table(EVERYWHERE, 120, np.random.default_rng(11))
    whole = fit_table(table, matching=matching)
    z = dense(whole.transform(table))
    incomplete = np.flatnonzero(np.isnan(table).any(axis=1))[:12]
    for i in incomplete:
        without = fit_table(np.delete(table, i, axis=0), matching=matching)
        assert_same_bits(without.transform(table[[i]]), z[[i]])


def test_the_seed_does_not_matter():
    frame = mixed_table(200, 5, 0.3, seed=12)
    chosen = {"n_bins": "auto", "missingness": "auto"}
    one, two = (
        ProximityKernel(**chosen, random_state=seed).fit(frame) for seed in (0, 1)
    )
    assert_same_bits(one.transform(frame), two.transform(frame))


# The page itself


def test_every_test_that_the_page_names_is_there():
    page = (HERE.parent / "docs" / "theory.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    there = set()
    for file in HERE.glob("test_*.py"):
        there.add(file.stem)
        there |= set(re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE))
    assert len(named) > 15
    assert named <= there
    mine = re.findall(r"^def (test_\w+)", Path(__file__).read_text(), re.MULTILINE)
    assert set(mine) - {"test_every_test_that_the_page_names_is_there"} <= named
