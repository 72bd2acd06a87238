"""The claims of docs/theory.md about estimates: section 2, less bin centers (2g).

The simulations have seeds, so they do not fail by chance; the tolerances beside them
are four standard errors or more, so another seed would pass as well.
"""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from strategies import dense, fitted, tables

from proximity_kernel import ProximityKernel
from proximity_kernel import _row_summary as row_summary

MATCHINGS = ("pairwise", "cascade")
WEIGHTS = (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1)

# A law that is known. The last feature has three categories; given it, the three others
# are independent.
SHARES = np.array([0.5, 0.3, 0.2])
GIVEN = [
    np.random.default_rng(7 + i).dirichlet([2.0] * size, size=3)
    for i, size in enumerate((2, 3, 2))
]
QUERIES = np.array(
    [[*codes, np.nan] for codes in itertools.product(range(2), range(3), range(2))],
)
RATE = 0.1  # of cells that are missing, completely at random
SIZES = (1000, 4000, 16000)


def posterior(shares=SHARES):
    """The distribution of the last feature given the others, one row per query."""
    found = np.array(
        [
            shares * np.prod([GIVEN[i][:, int(row[i])] for i in range(3)], axis=0)
            for row in QUERIES
        ]
    )
    return found / found.sum(axis=1, keepdims=True)


def draw_codes(n, rng):
    """Draw complete rows of codes."""
    last = rng.choice(3, size=n, p=SHARES)
    others = [
        (rng.random((n, 1)) > np.cumsum(given[last], axis=1)).sum(axis=1)
        for given in GIVEN
    ]
    return np.stack([*others, last], axis=1)


def draw_table(n, rng, rate=RATE):
    codes = draw_codes(n, rng)
    return np.where(rng.random(codes.shape) < rate, np.nan, codes)


def fit_labels(table, **chosen):
    return ProximityKernel(
        categorical_features=list(range(np.shape(table)[1])), dtype=np.float64,
        missingness="ignorable", **chosen,
    ).fit(table)  # fmt: skip


def estimate(pk, rows):
    """Estimates of the last feature."""
    return dense(pk.transform(rows))[:, -pk.n_bins_[-1] :]


def weights(pk):
    """The weights of the others for the last feature."""
    return pk.model_.matcher.weight_table.toarray()[-1, :-1]


def squared(gap):
    return (np.asarray(gap) ** 2).sum(axis=-1)


def slope(x, y):
    """Of the line through the points on a log-log scale."""
    return np.polyfit(np.log(x), np.log(y), 1)[0]


# 2a. An estimate is a distribution


@settings(max_examples=40)
@given(tables())
def test_every_estimate_is_a_distribution_over_the_observed_bins(drawn):
    frame, new = drawn
    pk = fitted(ProximityKernel(3, missingness="ignorable", dtype=np.float64), frame)
    first = np.cumsum(pk.n_bins_) - pk.n_bins_
    for table in (frame, new):
        z = dense(pk.transform(table))
        for cell in pk.provenance(table):
            j = cell["feature"]
            block = z[cell["row"], first[j] : first[j] + pk.n_bins_[j]]
            if not len(block):
                continue
            assert block.sum() == pytest.approx(1, abs=1e-14)
            assert ((block > 0) == (pk.prior_[j] > 0)).all()


def test_much_evidence_does_not_overflow():
    """300 copies of a column, all against one new value."""
    column = np.random.default_rng(0).integers(2, size=(200, 1)).astype(float)
    table = np.repeat(column, 301, axis=1)
    pk = fit_labels(table)
    found = estimate(pk, np.r_[np.zeros(300), np.nan][None])
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1, abs=1e-14)
    assert found[0, 0] > 0.999


# 2b. Never above the prior, on the fitted rows


def leave_one_out(codes, smoothing):
    """What the others of each row tell of each of its cells, by loops.

    Every row in turn is left out of the counts of pairs. Returns, for each feature, its
    prior and a list of own bin and evidence, of shape (n_features, n_bins).
    """
    n, d = codes.shape
    sizes = [int(np.nanmax(column)) + 1 for column in codes.T]
    priors = [
        np.array([(codes[:, j] == b).sum() for b in range(sizes[j])])
        / (~np.isnan(codes[:, j])).sum()
        for j in range(d)
    ]
    found = [(priors[j], []) for j in range(d)]
    for r in range(n):
        rest = np.delete(codes, r, axis=0)
        for j in np.flatnonzero(~np.isnan(codes[r])):
            told = np.zeros((d, sizes[j]))
            for i in np.flatnonzero(~np.isnan(codes[r])):
                if i == j:
                    continue
                a, q = codes[r, i], priors[i][int(codes[r, i])]
                for b in range(sizes[j]):
                    with_b = rest[(rest[:, j] == b) & ~np.isnan(rest[:, i]), i]
                    seen = (with_b == a).sum() + smoothing * q
                    told[i, b] = np.log(seen / ((len(with_b) + smoothing) * q))
            found[j][1].append((int(codes[r, j]), told))
    return found


def estimate_cell(prior, told, weights):
    share = prior * np.exp(np.asarray(weights) @ told)
    return share / share.sum()


def squared_errors(cells):
    """Of every common weight, shape (n_weights, n_features)."""
    errors = np.zeros((len(WEIGHTS), len(cells)))
    for j, (prior, rows) in enumerate(cells):
        for own, told in rows:
            for w, weight in enumerate(WEIGHTS):
                share = estimate_cell(prior, told, np.full(len(told), weight))
                share[own] -= 1
                errors[w, j] += squared(share)
    return errors


def lose(cells, j, weights, common):
    """The penalized loss of the weights of feature j."""
    prior, rows = cells[j]
    loss = -sum(np.log(estimate_cell(prior, told, weights)[own]) for own, told in rows)
    others = np.delete(weights, j)
    return loss + 10 * np.mean((others / common - 1) ** 2)


def related_table(n, seed):
    """One column and a noisy copy, one that tells nothing, and holes."""
    rng = np.random.default_rng(seed)
    first = rng.integers(3, size=n)
    copied = np.where(rng.random(n) < 0.2, rng.integers(3, size=n), first)
    table = np.stack([first, copied, rng.integers(2, size=n)], axis=1)
    return np.where(rng.random(table.shape) < 0.15, np.nan, table)


@pytest.mark.parametrize("seed", [0, 1])
def test_on_the_fitted_rows_no_step_is_worse_than_the_one_before(seed):
    """The common weight than the prior, and the weights than the common one."""
    table = related_table(50, seed)
    matcher = fit_labels(table).model_.matcher
    cells = {s: leave_one_out(table, s) for s in (1, 4, 16)}
    errors = {s: squared_errors(cells[s]) for s in cells}
    sums = {s: error.min(axis=0).sum() for s, error in errors.items()}
    assert sums[matcher.smoothing] == pytest.approx(min(sums.values()), abs=1e-8)
    chosen = errors[matcher.smoothing]
    assert chosen.min(axis=0)[0] < chosen[0, 0] - 1  # it is not the prior everywhere
    for error in errors.values():  # weight 0 is the prior, whatever the smoothing
        np.testing.assert_allclose(error[0], chosen[0], rtol=0, atol=1e-12)
    rng = np.random.default_rng(seed)
    found = matcher.weight_table.toarray()
    for j in range(3):
        common = max(WEIGHTS[int(np.argmin(np.round(chosen[:, j], 9)))], 0.05)
        reached = lose(cells[matcher.smoothing], j, found[j], common)
        start = lose(cells[matcher.smoothing], j, np.full(3, common), common)
        assert reached <= start + 1e-9
        for _ in range(20):  # it is the least: no weights nearby are better
            near = np.clip(found[j] + rng.normal(size=3) * 0.02, 0, 1.5)
            assert lose(cells[matcher.smoothing], j, near, common) > reached - 1e-7


def test_columns_that_tell_nothing_leave_the_prior():
    every = np.array(list(itertools.product(range(3), repeat=4)), float)
    table = np.concatenate([every] * 5 + [every[every[:, 3] == 0]])
    pk = fit_labels(table)
    assert weights(pk).max() < 0.06  # the columns are independent, exactly
    assert pk.prior_[3].tolist() == [6 / 16, 5 / 16, 5 / 16]
    rows = table[:20].copy()
    rows[:, 3] = np.nan
    np.testing.assert_allclose(
        estimate(pk, rows), np.tile(pk.prior_[3], (20, 1)), rtol=1e-14
    )
    assert (pk.provenance(rows)["level"] == "prior").all()


# 2c. The limit


def evidence_gaps(pk):
    """How far the evidence is from log P(a | b) / P(a), for all codes and bins."""
    matcher = pk.model_.matcher
    n_codes = len(matcher.counts.totals)
    evidence = matcher.evidence.values.reshape(n_codes, n_codes)[:, -3:]
    likely = np.concatenate([given.T for given in GIVEN])  # code after code
    return evidence[:-3] - np.log(likely / (likely @ SHARES)[:, None])


def test_evidence_and_estimates_converge_at_the_stated_rate():
    """Both root mean squared errors fall like n**-0.5.

    With 20 tables a size both slopes have a standard error of about 0.03.
    """
    rng = np.random.default_rng(1)
    truth = posterior()
    errors = {name: np.zeros(len(SIZES)) for name in ("evidence", "estimate", "prior")}
    found = []
    for at, n in enumerate(SIZES):
        for _ in range(20):
            pk = fit_labels(draw_table(n, rng))
            errors["evidence"][at] += (evidence_gaps(pk) ** 2).mean()
            errors["estimate"][at] += squared(estimate(pk, QUERIES) - truth).mean()
            errors["prior"][at] += squared(pk.prior_[3] - truth).mean()
            found += list(weights(pk)) if n == SIZES[-1] else []
    assert slope(SIZES, np.sqrt(errors["evidence"])) == pytest.approx(-0.5, abs=0.12)
    assert slope(SIZES, np.sqrt(errors["estimate"])) == pytest.approx(-0.5, abs=0.12)
    # An estimator of something else does not get there: this test can fail.
    assert slope(SIZES, np.sqrt(errors["prior"])) > -0.05
    # The weights that leaving one out chooses settle at 1.
    assert np.mean(found) == pytest.approx(1, abs=0.05)


def test_repeated_features_need_a_weight_below_one():
    """A column three times over counts once: the weights add up to 1."""
    rng = np.random.default_rng(2)
    codes = draw_codes(8000, rng)[:, [1, 1, 1, 3]].astype(float)
    pk = fit_labels(codes)
    assert weights(pk).sum() == pytest.approx(1, abs=0.1)
    assert np.ptp(weights(pk)) < 1e-4  # none of the three is preferred
    rows = np.array([[a, a, a, np.nan] for a in range(3)])
    right = (SHARES[:, None] * GIVEN[1]).T
    right /= right.sum(axis=1, keepdims=True)
    thrice = (SHARES[:, None] * GIVEN[1] ** 3).T
    thrice /= thrice.sum(axis=1, keepdims=True)
    off = np.sqrt(squared(estimate(pk, rows) - right))
    assert (off < 0.05).all()
    assert (np.sqrt(squared(thrice - right)) > 3 * off).all()


def noisy_copy(coin, rng, share=0.8):
    return np.where(rng.random(len(coin)) < share, coin, 1 - coin)


def test_a_row_with_one_of_three_copies_is_estimated_with_a_third_of_its_weight():
    """Weights are for the rows that were scored, and these observe all three.

    The right estimate is 0.8. A column that repeats nothing keeps its own weight.
    """
    rng = np.random.default_rng(11)
    coin = rng.integers(2, size=8000)
    one, other = noisy_copy(coin, rng), noisy_copy(coin, rng)
    pk = fit_labels(np.stack([one, one, one, other, coin], axis=1).astype(float))
    assert weights(pk)[:3].sum() == pytest.approx(1, abs=0.1)
    assert weights(pk)[3] == pytest.approx(1, abs=0.1)
    nan = np.nan
    rows = np.array([[1, 1, 1, nan, nan], [nan, nan, nan, 1, nan], [1] + [nan] * 4])
    found = estimate(pk, rows)[:, 1]
    assert found[:2] == pytest.approx([0.8, 0.8], abs=0.03)
    assert found[2] == pytest.approx(4 ** (1 / 3) / (1 + 4 ** (1 / 3)), abs=0.03)


def test_a_sample_of_frequent_rows_finds_the_same_weight(monkeypatch):
    """The budgets in small: 100 of about 140 distinct rows, 450 copies in the mean."""
    monkeypatch.setattr(row_summary, "SAMPLE", 100)
    drawn = [draw_table(64_000, np.random.default_rng(seed)) for seed in range(4)]
    assert np.mean([weights(fit_labels(table)) for table in drawn]) > 0.8
    monkeypatch.setattr(row_summary, "_MOST_COPIES", 0.01)  # a row counts once: biased
    assert max(weights(fit_labels(table)).mean() for table in drawn) < 0.65


def test_columns_that_are_never_seen_together_leave_the_prior():
    """Two forms, of which each row has one at random: completely at random, useless."""
    rng = np.random.default_rng(16)
    coin = rng.integers(2, size=20_000)
    table = np.column_stack([coin, noisy_copy(coin, rng, 0.95)]).astype(float)
    form = rng.random(len(coin)) < 0.5
    table[form, 0] = table[~form, 1] = np.nan
    pk = fit_labels(table)
    found = estimate(pk, np.array([[1.0, np.nan]]))[0]
    assert found == pytest.approx(pk.prior_[1], abs=1e-12)
    assert found == pytest.approx([0.5, 0.5], abs=0.02)  # the truth is 0.95


def test_a_frequent_row_is_in_the_counted_share_or_not(monkeypatch):
    """Beyond the limit, here lowered, pairs are counted in a share of distinct rows."""
    rng = np.random.default_rng(17)
    n = 20_000
    coin = rng.integers(2, size=n)
    related = np.where(rng.random(n) < 0.6, coin, rng.integers(2, size=n))
    table = np.column_stack([coin, rng.integers(4, size=(n, 6)), related]).astype(float)
    table[rng.random(n) < 0.4] = [0] * 7 + [1]
    row = np.array([[0.0] + [np.nan] * 7])
    truth = (table[table[:, 0] == 0, -1] == 0).mean()
    assert truth == pytest.approx(0.34, abs=0.005)
    every = estimate(fit_labels(table), row)[0, 0]
    assert every == pytest.approx(0.36, abs=0.005)
    monkeypatch.setattr(row_summary, "SAMPLE", 1000)
    monkeypatch.setattr(row_summary, "_MOST_PAIRS", int(0.2 * n * 8**2 / 2))
    found = np.array(
        [
            estimate(fit_labels(table, random_state=seed), row)[0, 0]
            for seed in range(30)
        ]
    )
    low = found < 0.5
    assert found[low] == pytest.approx(0.3, abs=0.02)
    assert found[~low] == pytest.approx(0.65, abs=0.06)
    assert 1 <= low.sum() <= 14  # 6 are expected: a share of 0.2


def test_a_column_of_noise_keeps_the_common_weight():
    """What docs/method.md says of the weights; its evidence is near 0."""
    rng = np.random.default_rng(18)
    coin = rng.integers(2, size=8000)
    view, noise = noisy_copy(coin, rng), rng.integers(2, size=8000)
    table = np.column_stack([view, view, noise, coin]).astype(float)
    pk = fit_labels(table)
    assert weights(pk) == pytest.approx([0.5] * 3, abs=0.1)
    rows = np.array([[1, 1, a, np.nan] for a in (0, 1, np.nan)])
    assert np.ptp(estimate(pk, rows)[:, 1]) < 0.02


# 2d. What gaps may depend on


def test_gaps_that_depend_on_codes_leave_the_limit_as_it_is():
    """Whether the last is seen depends on the first: its prior is off, not the rest."""
    rng = np.random.default_rng(3)
    codes = draw_codes(60_000, rng)
    table = np.where(rng.random(codes.shape) < RATE, np.nan, codes)
    table[:, 0] = codes[:, 0]
    hidden = rng.random(len(codes)) > np.array([0.9, 0.3])[codes[:, 0]]
    table[hidden, 3] = np.nan
    pk = fit_labels(table)
    assert np.abs(pk.prior_[3] - SHARES).max() > 0.04
    assert weights(pk) == pytest.approx([1, 1, 1], abs=0.15)
    # Among 60,000 rows the estimates are off by 0.012 in the root mean square.
    assert np.sqrt(squared(estimate(pk, QUERIES) - posterior()).mean()) < 0.03


def test_gaps_that_depend_on_their_own_value_have_another_limit():
    """The limit is the distribution among the rows that show it, not among all."""
    rng = np.random.default_rng(4)
    codes = draw_codes(60_000, rng)
    shown = np.array([1.0, 0.5, 0.25])
    table = codes.astype(float)
    table[rng.random(len(codes)) > shown[codes[:, 3]], 3] = np.nan
    pk = fit_labels(table)
    among = posterior(SHARES * shown / (SHARES @ shown))
    off = np.sqrt(squared(estimate(pk, QUERIES) - among).mean())
    assert off < 0.03
    assert np.sqrt(squared(among - posterior()).mean()) > 5 * off


def test_the_pattern_of_a_row_can_tell_what_its_codes_do_not():
    """Whether i is observed depends on the coin that is missing; its code does not.

    The limit is right for all rows with this code, not for those that observe i. With
    missing cells as codes it is right for both.
    """
    rng = np.random.default_rng(12)
    codes = rng.integers(2, size=(60_000, 2)).astype(float)
    table = codes.copy()
    seen = rng.random(len(codes)) < np.array([0.1, 0.9])[codes[:, 1].astype(int)]
    table[~seen, 0] = np.nan
    hidden = rng.random(len(codes)) < 0.3
    table[hidden, 1] = np.nan
    row = np.array([[0.0, np.nan]])
    here = hidden & (table[:, 0] == 0)
    assert codes[here, 1].mean() == pytest.approx(0.9, abs=0.02)
    assert codes[hidden & (codes[:, 0] == 0), 1].mean() == pytest.approx(0.5, abs=0.02)
    assert estimate(fit_labels(table), row)[0, 1] == pytest.approx(0.5, abs=0.02)
    pk = ProximityKernel(
        categorical_features=[0, 1], missingness={0: "informative", 1: "ignorable"}
    ).fit(table)
    assert estimate(pk, row)[0, 1] == pytest.approx(0.9, abs=0.02)


def test_an_assumption_about_hidden_values_can_find_them():
    """Here j is missing by its own value alone.

    What i shows among the rows that miss j tells how often each value is hidden: two
    equations, two unknowns.
    """
    rng = np.random.default_rng(13)
    coin = (rng.random(60_000) < 0.7).astype(int)
    told = noisy_copy(coin, rng).astype(float)
    shown = rng.random(len(coin)) < np.array([0.2, 0.9])[coin]
    table = np.column_stack([told, np.where(shown, coin, np.nan)])
    truth = coin[~shown & (told == 1)].mean()
    given = np.array(
        [[(told[shown & (coin == b)] == a).mean() for b in (0, 1)] for a in (0, 1)]
    )
    seen = np.array([(told[~shown] == a).mean() for a in (0, 1)])
    chance = given[1] * np.linalg.solve(given, seen)
    assert chance[1] / chance.sum() == pytest.approx(truth, abs=0.03)
    found = estimate(fit_labels(table), np.array([[1.0, np.nan]]))[0, 1]
    assert found == pytest.approx(coin[shown & (told == 1)].mean(), abs=0.02)
    assert found > truth + 0.3


def test_dependent_distributions_leave_the_hidden_shares_open():
    """Three bins of j and two codes of i: two laws that show the same table.

    The rows that show j are the same in both. Of those that miss it, both have as many
    with each code of i, and one has none in the middle bin.
    """
    given = np.array([0.2, 0.5, 0.8])  # of code 1 of i, by the bin of j
    one, other = np.array([0.1, 0.2, 0.1]), np.array([0.2, 0.0, 0.2])
    assert np.linalg.matrix_rank([given, 1 - given]) < len(given)
    for code in (given, 1 - given):
        assert one @ code == pytest.approx(other @ code, abs=1e-15)


def inside_bins(n, rng):
    """A label that is told by the place of u inside its bin, and so are its gaps."""
    u = rng.random(n)
    label = (2 * u) % 1 > 0.5
    shown = rng.random(n) < np.where(label, 0.85, 0.2)
    return pd.DataFrame({"u": u, "c": np.where(shown, label, np.nan)}), label


@pytest.mark.parametrize("matching", MATCHINGS)
def test_gaps_that_depend_on_values_inside_a_bin_have_another_limit(matching):
    """Missing at random given the values, but not given the codes."""
    for n in (4000, 40_000):
        table, label = inside_bins(n, np.random.default_rng(5))
        pk = ProximityKernel(
            2, matching=matching, missingness="ignorable", categorical_features=["c"],
        ).fit(table)  # fmt: skip
        assert pk.bin_centers_[0].mean() == pytest.approx(0.5, abs=0.001)
        rows = pd.DataFrame({"u": [0.2, 0.4, 0.6, 0.8], "c": np.nan})
        found = estimate(pk, rows)[:, 1]
        hidden = table["c"].isna()
        # 4 standard errors of a share among 1,000 rows, and of one among 10,000.
        assert np.abs(found - 0.85 / 1.05).max() < 4 * np.sqrt(0.6 / n)
        assert label.mean() == pytest.approx(0.5, abs=0.03)
        assert label[hidden].mean() == pytest.approx(0.15 / 0.95, abs=0.03)
    # With edges near the quarters the gaps depend on the codes, and it is right.
    fine = ProximityKernel(
        "auto", matching=matching, missingness="ignorable", categorical_features=["c"]
    ).fit(table)
    rows["u"] = [0.1, 0.4, 0.6, 0.9]
    assert np.abs(estimate(fine, rows)[:, 1] - [0, 1, 0, 1]).max() < 0.05


# 2e. What pairs of codes cannot tell


def test_tables_with_the_same_pairs_have_the_same_evidence():
    """Exclusive or, and three independent coins: the cascade tells them apart."""
    coins = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    exclusive = coins.copy()
    exclusive[:, 2] = coins[:, 0] != coins[:, 1]
    coins, exclusive = np.tile(coins, (50, 1)), np.tile(exclusive, (50, 1))
    one, two = (fit_labels(table).model_.matcher for table in (coins, exclusive))
    np.testing.assert_array_equal(one.counts.pairs, two.counts.pairs)
    np.testing.assert_array_equal(one.evidence.values, two.evidence.values)
    rows = np.c_[coins[:8:2, :2], np.full(4, np.nan)]
    np.testing.assert_allclose(estimate(fit_labels(exclusive), rows), 0.5, atol=1e-12)
    found = estimate(fit_labels(exclusive, matching="cascade"), rows)
    np.testing.assert_array_equal(found[:, 1], [0, 1, 1, 0])


def test_tables_with_the_same_pairs_can_have_another_smoothing():
    """The smoothing is chosen on rows; for a given one the evidence is the same."""
    counts = (
        [[[10, 0, 5], [2, 5, 7]], [[4, 4, 5], [3, 5, 1]]],
        [[[7, 3, 5], [5, 2, 7]], [[7, 1, 5], [0, 8, 1]]],
    )
    tables = []
    for cells in counts:
        codes = np.argwhere(np.ones((2, 2, 3))).astype(float)
        tables.append(np.repeat(codes, np.ravel(cells), axis=0))
    one, two = (fit_labels(table).model_.matcher for table in tables)
    np.testing.assert_array_equal(one.counts.pairs, two.counts.pairs)
    assert one.smoothing != two.smoothing
    assert (one.evidence.values != two.evidence.values).any()


def test_an_exclusive_or_is_not_seen_in_a_random_table():
    rng = np.random.default_rng(6)
    table = rng.integers(2, size=(2000, 3)).astype(float)
    table[:, 2] = table[:, 0] != table[:, 1]
    hidden = rng.random(2000) < 0.3
    truth = table[hidden, 2].astype(int)
    table[hidden, 2] = np.nan
    errors = {}
    for matching in MATCHINGS:
        off = estimate(fit_labels(table, matching=matching), table[hidden])
        off[np.arange(len(truth)), truth] -= 1
        errors[matching] = squared(off).mean()
    assert errors["pairwise"] == pytest.approx(0.5, abs=0.01)
    assert errors["cascade"] == 0


# 2f. The cascade


def test_the_cascade_converges_at_the_stated_rate():
    """With 20 tables a size and 12 rows a table, the slope has an error of 0.02.

    The mean of n_u * error**2 / (1 - ||p||**2), which should be 1, has one of 0.04.
    """
    rng = np.random.default_rng(8)
    truth = posterior()
    errors, scaled = np.zeros(len(SIZES)), []
    for at, n in enumerate(SIZES):
        for _ in range(20):
            pk = fit_labels(draw_table(n, rng), matching="cascade")
            cells = pk.provenance(QUERIES)
            assert (cells["level"] == "intersection").all()
            off = squared(estimate(pk, QUERIES) - truth)
            errors[at] += off.mean()
            scaled += list(off * cells["support"] / (1 - squared(truth)))
    assert slope(SIZES, np.sqrt(errors)) == pytest.approx(-0.5, abs=0.1)
    assert np.mean(scaled) == pytest.approx(1, abs=0.2)


def test_where_nobody_shares_all_codes_the_cascade_has_another_limit():
    """Given "shares any of three codes", which is far from "shares all of them"."""
    rng = np.random.default_rng(9)
    codes = draw_codes(40_000, rng)
    codes = codes[(codes[:, :3] != 0).any(axis=1)]
    pk = fit_labels(codes.astype(float), matching="cascade")
    row = np.array([[0.0, 0.0, 0.0, np.nan]])
    assert pk.provenance(row)["level"].tolist() == ["union"]
    chance = np.zeros(3)
    for others in itertools.product(range(2), range(3), range(2)):
        if 0 in others and any(others):
            likely = [given[:, a] for given, a in zip(GIVEN, others, strict=True)]
            chance += SHARES * np.prod(likely, axis=0)
    union = chance / chance.sum()
    (found,) = estimate(pk, row)
    assert np.sqrt(squared(found - union)) < 0.02
    assert np.sqrt(squared(union - posterior()[0])) > 0.1


def test_the_cascade_needs_a_pattern_that_tells_nothing():
    """The row misses a third feature, which the hidden coin mostly decides.

    Rows that share its codes and observe the coin mostly observe the third feature.
    """
    rng = np.random.default_rng(14)
    codes = rng.integers(2, size=(40_000, 3)).astype(float)
    coin, table = codes[:, 2].astype(int), codes.copy()
    lost = rng.random(len(codes)) < np.array([0.1, 0.6])[coin]
    table[lost, 1] = np.nan
    hidden = rng.random(len(codes)) < 0.3
    table[hidden, 2] = np.nan
    row = np.array([[0.0, np.nan, np.nan]])
    here = hidden & lost & (codes[:, 0] == 0)
    assert coin[here].mean() == pytest.approx(6 / 7, abs=0.02)
    pk = fit_labels(table, matching="cascade")
    assert pk.provenance(row)["level"].tolist() == ["intersection"] * 2
    assert estimate(pk, row)[0, 1] == pytest.approx(0.5, abs=0.02)
