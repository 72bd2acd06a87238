"""Numbers within their bins: the regression against plain loops, in any split."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.frozen import FrozenEstimator
from strategies import mixed_table

from proximity_kernel import ProximityImputer, ProximityKernel
from proximity_kernel import _number_model as numbers
from proximity_kernel._number_model import NumberModel


def plain_kernel(**options):
    return ProximityKernel(**({"n_bins": 4, "missingness": "ignorable"} | options))


def linear_table(n, seed, missing=0.25):
    """Three numbers that depend on each other, one that does not, and a label."""
    rng = np.random.default_rng(seed)
    a, noise = rng.normal(10, 3, n), rng.normal(size=(n, 3))
    table = pd.DataFrame({
        "a": a, "b": 2 * a + noise[:, 0], "c": a**2 / 10 + noise[:, 1],
        "d": np.exp(noise[:, 2]), "e": np.where(a > 10, "x", "y"),
    })  # fmt: skip
    return table.mask(rng.random(table.shape) < missing)


class Loops:
    """The definition, in loops."""

    def __init__(self, table, kernel):
        self.table, self.kernel = table, kernel
        self.names = [c for c in table if table[c].dtype == float]
        self.mean = {c: np.mean(table[c].dropna()) for c in self.names}
        self.sd = {c: np.std(table[c].dropna(), ddof=0) for c in self.names}
        self.at = {c: list(table).index(c) for c in table}
        self.bins = {c: self._bins(c) for c in self.names}
        self.labeled = {c: self._by_label(c) for c in self.names}

    def _code(self, c, x):
        centers = self.kernel.bin_centers_[self.at[c]]
        return min(range(len(centers)), key=lambda k: (abs(x - centers[k]), k))

    def _bins(self, c):
        held = {}
        for x in self.table[c].dropna():
            held.setdefault(self._code(c, x), []).append(x)
        return {k: (np.mean(xs), np.var(xs)) for k, xs in held.items()}

    def _by_label(self, c):
        """Bins of a number by the label e: of each bin and label mean and variance.

        Empty if e tells too little, or no more than by chance.
        """
        label, found, before, after = self.table["e"], {}, 0.0, 0.0
        between, inside, n_between, n_inside = 0.0, 0.0, 0, 0
        for k, (mean, variance) in self.bins[c].items():
            some = [
                i
                for i, x in self.table[c].items()
                if pd.notna(x) and pd.notna(label[i]) and self._code(c, x) == k
            ]
            if not some or variance == 0:
                continue
            off = {}
            for i in some:
                off.setdefault(label[i], []).append(self.table[c][i] - mean)
            n, groups = len(some), len(off)
            squares = sum(x**2 for xs in off.values() for x in xs)
            within = sum(len(xs) * np.var(xs) for xs in off.values())
            noise = (within + squares / n) / (n - groups + 1)
            effect = (squares - within - groups * noise) / n
            before += squares / variance
            between += (squares - within) / variance
            inside += within / variance
            n_between += groups - 1
            n_inside += n - groups
            if effect <= 0:
                after += squares / variance
                continue
            for name in "xy":
                xs = off.get(name, [])
                unsure = noise / (len(xs) + noise / effect)
                own = (len(xs) * np.var(xs) if xs else 0) + noise
                found[k, name] = (
                    mean + sum(xs) / (len(xs) + noise / effect),
                    own / max(len(xs), 1) + unsure,
                )
                after += len(xs) * (noise + unsure) / variance
        with np.errstate(divide="ignore"):
            ratio = between / n_between / np.float64(inside / n_inside)
        chance = stats.f.sf(ratio, n_between, n_inside)  # of one column of labels
        return found if after < 0.95 * before and chance < 0.01 else {}

    def moments(self, row, c):
        """Mean and variance of each bin of a number in the rows like this one."""
        found = self.labeled[c]
        return {k: found.get((k, row["e"]), own) for k, own in self.bins[c].items()}

    def expect(self, row, c):
        """Mean and variance of a number given the bins of the other cells."""
        hidden = row.to_frame().T.astype(self.table.dtypes)
        hidden[c] = np.nan
        first = int(self.kernel.n_bins_[: self.at[c]].sum())
        dense = self.kernel.transform(hidden).toarray()[0].astype(float)
        moments = self.moments(row, c)
        shares = {k: dense[first + k] for k in moments}
        mean = sum(p * moments[k][0] for k, p in shares.items())
        square = sum(
            p * (moments[k][1] + (moments[k][0] - mean) ** 2) for k, p in shares.items()
        )
        return mean, square

    def inputs(self, row, target):
        out = []
        for c in self.names:
            if c == target:
                continue
            if pd.isna(row[c]):
                out += [0.0, 0.0]
                continue
            offset = (row[c] - self.bins[c][self._code(c, row[c])][0]) / self.sd[c]
            value = (row[c] - self.mean[c]) / self.sd[c]
            out += [min(max(x, -5), 5) for x in (offset, value)]
        return out

    def seen(self, row, target):
        return [float(pd.notna(row[c])) for c in self.names if c != target]

    def learn(self, c):
        """Slopes, shares of the sources, what variance is left, and of how much."""
        rows = [row for _, row in self.table.iterrows() if pd.notna(row[c])]
        X = np.array([self.inputs(row, c) for row in rows])
        expected = [self.expect(row, c) for row in rows]
        off = [
            (row[c] - mean) / self.sd[c]
            for row, (mean, _) in zip(rows, expected, strict=True)
        ]
        r = np.clip(off, -5, 5)
        n = len(r)

        def unlikely(penalty):  # minus twice the log of the marginal likelihood
            cover = np.eye(n) + X @ X.T / penalty
            return (
                n * np.log(r @ np.linalg.solve(cover, r))
                + np.linalg.slogdet(cover).logabsdet
                + n * np.log(penalty) * 0
            )

        best = min(numbers.PENALTIES, key=unlikely)
        gram = X.T @ X + best * np.eye(X.shape[1])
        slopes = np.linalg.solve(gram, X.T @ r)
        degrees = np.trace(np.linalg.solve(gram, X.T @ X))
        after = (r - X @ slopes) ** 2 * n / (n - degrees)
        seen = np.array([self.seen(row, c) for row in rows])
        parts = [X[:, 2 * k : 2 * k + 2] @ slopes[2 * k : 2 * k + 2] for k in range(3)]
        power = np.array([np.sum(p**2) / seen[:, k].sum() for k, p in enumerate(parts)])
        power /= power.sum()
        known = seen @ power
        A = np.zeros((2, 2))
        y = np.zeros(2)
        for share, old, new in zip(known, r**2, after, strict=True):
            both = np.array([1 - share, share])
            A += old * np.outer(both, both)
            y += new * both
        A += np.mean(r**2) * np.eye(2)
        y += np.mean(r**2)
        left = np.clip(np.linalg.solve(A, y), 0, 1)
        return slopes, power, left, np.mean([variance for _, variance in expected])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_numbers_are_filled_as_the_definition_says(seed):
    table = linear_table(80, seed)
    kernel = plain_kernel(dtype=np.float64).fit(table)
    imputer = ProximityImputer(kernel=FrozenEstimator(kernel)).fit(table)
    filled, uncertainty = imputer.transform(table), imputer.uncertainty(table)
    loops = Loops(table, kernel)
    for c in loops.names:
        slopes, power, left, typical = loops.learn(c)
        for i in np.flatnonzero(table[c].isna()):
            row = table.iloc[i]
            mean, variance = loops.expect(row, c)
            known = float(np.dot(power, loops.seen(row, c)))
            rest = left[0] * (1 - known) + left[1] * known
            # The regression sees the residual with an error; the share of the residual
            # in what it sees is that of the typical variance.
            rest = min(rest, 1 - 1e-9)
            error = typical * rest / (1 - rest)
            weight = min(1, variance / (variance + error) / (1 - rest))
            shift = loops.sd[c] * float(np.dot(slopes, loops.inputs(row, c)))
            want = min(max(mean + weight * shift, table[c].min()), table[c].max())
            assert filled[c].iloc[i] == pytest.approx(want, rel=1e-6)
            gain = weight * (1 - rest)
            want = np.sqrt((1 - gain) ** 2 * variance + gain**2 * error)
            assert uncertainty[c].iloc[i] == pytest.approx(want, rel=1e-6, abs=1e-9)


def test_the_definition_is_tested_with_a_label_that_tells_something():
    table = linear_table(80, 0)
    learned = ProximityImputer(kernel=plain_kernel()).fit(table).number_model_
    loops = Loops(table, plain_kernel().fit(table))
    found = [name for name in "abcd" if loops.labeled[name]]
    assert found
    assert found == [name for s, name in enumerate("abcd") if learned.labels[s] == 4]


def equal(a, b):
    return all(
        np.array_equal(getattr(a, one.name), getattr(b, one.name))
        for one in fields(NumberModel)
    )


@pytest.mark.parametrize("most", [30, 10_000])
def test_any_split_and_order_of_rows_learns_the_same(monkeypatch, most):
    monkeypatch.setattr(numbers, "MOST_ROWS", most)
    table = mixed_table(200, 8, 0.2, 0)
    table = pd.concat([table, table[:40], linear_table(240, 2)[:0]])[list(table)]
    table["y"] = table.select_dtypes(float).sum(axis=1).mask(table.index % 7 == 0)
    want = ProximityImputer().fit(table).number_model_
    assert (want.sources >= 0).any()
    mixed = table.sample(frac=1, random_state=1)
    assert equal(ProximityImputer().fit(mixed).number_model_, want)
    for cuts in ([100], [3, 50, 51, 200]):
        parts = [table.iloc[rows] for rows in np.split(np.arange(len(table)), cuts)]
        for batches in (parts, parts[::-1]):
            imputer = ProximityImputer().fit_batches(batches)
            assert equal(imputer.number_model_, want)
    pd.testing.assert_frame_equal(
        imputer.transform(table), ProximityImputer().fit(table).transform(table)
    )


def test_a_repeated_row_counts_as_often_as_it_occurs():
    table = linear_table(60, 3)
    twice = pd.concat([table, table])
    sample = [
        numbers.sample_numbers(k.model_, k.model_.code(x, 1), n_threads=1)
        for x in (table, twice)
        for k in [plain_kernel().fit(x)]
    ]
    assert (sample[1].counts == 2 * sample[0].counts).all()
    x = np.random.default_rng(0).normal(size=(2, 50))
    y = x[0] + np.random.default_rng(1).normal(size=50)
    weights = np.arange(50) % 3 + 1.0
    whole = np.repeat(np.arange(50), weights.astype(int))
    a = numbers.solve_ridge(x, y, weights)
    b = numbers.solve_ridge(x[:, whole], y[whole], np.ones(len(whole)))
    np.testing.assert_allclose(a[0], b[0], rtol=1e-9)
    assert a[1] == pytest.approx(b[1])


def fahrenheit(n, seed=0):
    celsius = np.random.default_rng(seed).normal(20, 8, n)
    return pd.DataFrame({"c": celsius, "f": 32 + 1.8 * celsius})


def test_a_number_that_another_one_determines_is_filled_almost_exactly():
    whole = fahrenheit(1000)
    holed = whole.copy()
    holed.loc[::5, "f"] = np.nan
    holed.loc[1::3, "c"] = np.nan
    imputer = ProximityImputer().fit(holed)
    error = (imputer.transform(holed) - whole).f / whole.f.std()
    stated = imputer.uncertainty(holed).f / whole.f.std()
    known = holed.f.isna() & holed.c.notna()
    assert np.sqrt((error[known] ** 2).mean()) < 0.03  # bins alone: 0.36
    assert stated[known].max() < 0.06
    unknown = holed.f.isna() & holed.c.isna()
    assert stated[unknown].min() > 0.9  # nothing is explained there


def test_unrelated_numbers_change_nothing_much():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(2000, 6)))
    table = table.mask(rng.random(table.shape) < 0.1)
    filled = ProximityImputer().fit_transform(table).to_numpy()
    assert np.abs(filled[table.isna()] - 0).max() < 0.25


def test_a_filled_number_is_in_the_observed_range():
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    table = pd.DataFrame({"x": x, "y": 3 * x})
    table.loc[np.abs(table.x) > 1.5, "y"] = np.nan
    imputer = ProximityImputer().fit(table)
    filled = imputer.transform(pd.DataFrame({"x": [-40.0, 40.0], "y": [np.nan] * 2}))
    assert filled.y.tolist() == pytest.approx([table.y.min(), table.y.max()])


def test_what_has_no_regression():
    table = linear_table(200, 4)
    table["yes"] = (table.a > 10).astype("boolean").mask(table.a.isna())
    learned = ProximityImputer().fit(table).number_model_
    at = learned.place(list(table).index("yes"))
    assert (learned.sources[at] < 0).all()
    assert (learned.sources[:4] == at).any()  # a source of others it can be
    assert learned.place(list(table).index("e")) is None
    cascade = ProximityImputer(kernel=ProximityKernel(matching="cascade")).fit(table)
    assert (cascade.number_model_.sources < 0).all()
    assert (cascade.number_model_.left == 1).all()
    alone = ProximityImputer().fit([[1.0], [2.0], [None]]).number_model_
    assert alone.sources.shape == (1, 0)


def test_at_most_so_many_sources_the_most_related(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 12))
    table[:, 7] = table[:, 3] - table[:, 11]
    table[rng.random(table.shape) < 0.1] = np.nan
    monkeypatch.setattr(numbers, "MOST_SOURCES", 2)
    learned = ProximityImputer().fit(table).number_model_
    assert learned.sources.shape == (12, 2)
    assert learned.sources[7].tolist() == [3, 11]
    monkeypatch.setattr(numbers, "_MOST_NUMBERS", 11)
    assert (ProximityImputer().fit(table).number_model_.sources < 0).all()


def sales(n, seed):
    """Eight products, of one price each, and amounts."""
    rng = np.random.default_rng(seed)
    prices = pd.Series({
        "Chair": 89.9, "Desk": 249.0, "Lamp": 39.9, "Shelf": 129.5,
        "Sofa": 799.0, "Rug": 119.0, "Mug": 7.5, "Plate": 5.9,
    })  # fmt: skip
    product = rng.choice(prices.index, n)
    price, quantity = prices[product].to_numpy(), rng.integers(1, 9, n) * 1.0
    return pd.DataFrame({
        "product": product, "price": price, "quantity": quantity,
        "amount": price * quantity,
    })  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_what_a_label_determines_is_filled_with_it(seed):
    whole = sales(600, seed)
    hidden = np.random.default_rng(seed + 9).random(whole.shape) < 0.08
    holed = whole.mask(hidden)
    imputer = ProximityImputer(random_state=0).fit(holed)
    filled, unsure = imputer.transform(holed), imputer.uncertainty(holed)
    known = holed.price.isna() & holed["product"].notna()
    error = (filled.price - whole.price)[known]
    assert error.abs().max() < 0.5  # of prices from 5.9 to 799
    assert (error.abs() <= unsure.price[known]).all()
    lower, upper = imputer.interval(holed, 0.99)
    assert (upper.price - lower.price)[known].median() < 3
    drawn = imputer.draw(holed, 1)[0]
    assert ((drawn.price - whole.price)[known].abs() / whole.price).median() < 0.02


def test_many_labels_and_none_that_tells_anything():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 120, 3000)
    price = rng.normal(size=120)[code]
    table = pd.DataFrame({
        "code": [f"p{c}" for c in code],
        "noise": rng.choice(list("abc"), 3000), "price": price,
        "other": rng.normal(size=3000),
    })  # fmt: skip
    holed = table.copy()
    holed.loc[::10, "price"] = np.nan
    imputer = ProximityImputer().fit(holed)
    assert imputer.number_model_.labels.tolist() == [0, -1]
    assert (imputer.transform(holed).price - price).abs().max() < 0.1


@pytest.mark.parametrize(("n_rows", "n_labels"), [(60, 4), (150, 20), (300, 3)])
def test_the_best_of_many_labels_is_no_better_by_chance(n_rows, n_labels):
    rng = np.random.default_rng(n_rows)
    numbers = {f"n{k}": rng.normal(size=n_rows) for k in range(30)}
    drawn = rng.integers(n_labels, size=(100, n_rows)).astype(str)
    table = pd.DataFrame(numbers | {f"l{k}": one for k, one in enumerate(drawn)})
    found = ProximityImputer().fit(table).number_model_.labels
    assert np.count_nonzero(found >= 0) <= 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_by_labels_rise_and_stay_in_the_observed_range(level, seed):
    whole = sales(300, seed)
    hidden = np.random.default_rng(seed).random(len(whole)) < 0.25
    holed = whole.assign(price=whole.price.mask(hidden))
    kernel = ProximityKernel(4, matching="cascade")
    imputer = ProximityImputer(kernel=kernel).fit(holed)
    assert (imputer.number_model_.labels >= 0).any()
    ends = imputer.interval(holed, level)
    lower, upper = (np.asarray(part.price)[hidden] for part in ends)
    assert (lower <= upper).all()
    assert holed.price.min() <= lower.min()
    assert upper.max() <= holed.price.max()


def test_labels_that_are_missing_with_the_number_are_not_used():
    whole = sales(600, 0)
    hidden = np.random.default_rng(0).random(len(whole)) < 0.2
    holed = whole.copy()
    holed.loc[hidden, ["product", "price"]] = np.nan
    kernel = ProximityKernel(missingness="informative")
    imputer = ProximityImputer(kernel=kernel).fit(holed)
    model = imputer.number_model_
    at = model.features.tolist().index(list(holed).index("price"))
    names = imputer.kernel_.model_.names
    assert names[model.labels[at]] == "product"
    filled = imputer.transform(holed).price[hidden]
    zeroed = replace(model, label_offsets=model.label_offsets * 0)
    zeroed = replace(zeroed, label_ratios=np.ones_like(model.label_ratios))
    imputer.number_model_ = zeroed
    np.testing.assert_allclose(imputer.transform(holed).price[hidden], filled)


@pytest.mark.parametrize("seed", range(3))
def test_stated_deviations_are_true_where_columns_determine_each_other(seed):
    whole = sales(600, seed)
    hidden = np.random.default_rng(seed + 9).random(whole.shape) < 0.1
    holed = whole.mask(hidden)
    imputer = ProximityImputer().fit(holed)
    filled, unsure = imputer.transform(holed), imputer.uncertainty(holed)
    off = []
    for name in ("price", "quantity", "amount"):
        some = holed[name].isna()
        off += ((filled[name] - whole[name]).abs() / unsure[name])[some].tolist()
    off = np.array(off)
    assert 0.6 < (off <= 1).mean() < 0.9
    assert (off <= 2).mean() > 0.95
    assert off.max() < 5


def test_a_number_whose_bins_leave_nothing_open_is_not_moved():
    learned = ProximityImputer().fit(linear_table(500, 0)).number_model_
    typical = learned.scales[0] * learned.typical[0]

    def read(_):
        return np.full(3, 11.0), np.full(3, 3)

    deviations = np.array([0.0, typical, 9 * typical])
    shift, left = learned.predict(0, read, deviations)
    assert shift[0] == pytest.approx(0, abs=1e-9)
    assert left[0] == pytest.approx(1)
    assert abs(shift[1]) > 0.1
    assert shift[2] == shift[1]  # not more than the regression says
    assert left[1] < 0.9


def test_large_and_constant_numbers():
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, size=(50, 4)) * [1e300, 1.7e308, 0, 1e-310]
    table[rng.random(table.shape) < 0.2] = np.nan
    imputer = ProximityImputer().fit(table)
    assert np.isfinite(imputer.transform(table)).all()
    assert np.isfinite(imputer.uncertainty(table)).all()


def test_quantiles_are_those_of_the_bins():
    table = linear_table(500, 5, missing=0.1)
    imputer = ProximityImputer(kernel=plain_kernel()).fit(table)
    for s, c in enumerate("abcd"):
        centers = imputer.kernel_.bin_centers_[s]
        values = table[c].dropna().to_numpy()
        codes = np.abs(values[:, None] - centers).argmin(axis=1)
        for k in range(len(centers)):
            want = np.quantile(values[codes == k], numbers.PLACES)
            got = imputer.number_model_.quantiles[s, k]
            np.testing.assert_allclose(got, want)


def test_quantiles_of_repeated_values():
    values, weights = np.array([1.0, 2.0, 5.0]), np.array([3.0, 1.0, 2.0])
    want = np.quantile([1, 1, 1, 2, 5, 5], numbers.PLACES)
    np.testing.assert_allclose(
        numbers._weighted_quantiles(values, weights, numbers.PLACES), want
    )


def test_quantiles_do_not_fall_by_rounding():
    rng = np.random.default_rng(0)
    for value in rng.normal(size=200):
        values = np.array([value] * 7 + [np.nextafter(value, np.inf)] * 2)
        found = numbers._weighted_quantiles(values, np.ones(9), numbers.ERROR_PLACES)
        assert (np.diff(found) >= 0).all()
        assert set(found) <= set(values)


@pytest.mark.parametrize(
    ("name", "change", "wrong"),
    [
        ("sources", lambda x: x + 9, "sources"),
        ("left", lambda x: x - 2, "share"),
        ("quantiles", lambda x: x[:, :, ::-1], "rise"),
        ("scales", lambda x: -x, "scale"),
        ("slopes", lambda x: x * np.nan, "finite"),
        ("low", lambda x: x + 1e9, "range"),
        ("centers", lambda x: x[1:], "wrong shape"),
        ("labels", lambda x: x + 9, "labels"),
        ("label_ratios", lambda x: -x, "spread"),
        ("features", lambda x: x + 1, "other columns"),
    ],
)
def test_what_no_fit_can_learn_is_not_loaded(name, change, wrong):
    imputer = ProximityImputer().fit(linear_table(60, 6))
    learned, model = imputer.number_model_, imputer.kernel_.model_
    state = numbers.pack_numbers(learned)
    assert equal(numbers.unpack_numbers(state, model), learned)
    bad = replace(learned, **{name: change(getattr(learned, name)).copy()})
    with pytest.raises(ValueError, match=wrong):
        numbers.unpack_numbers(numbers.pack_numbers(bad), model)
