"""Small mixed tables with holes, and the comparisons that many tests share."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator

from proximity_kernel import ProximityImputer, ProximityKernel

GRADES = pd.CategoricalDtype(["low", "mid", "high", "top"], ordered=True)
# What a column of each kind may hold at fit, and what only a new row may hold.
POOLS = {
    "float": ([-3.5, 0.0, 0.25, 1.0, 1.5, 2.0, 7.0, 40.0], [-1e6, 0.125, 3.0, 1e6]),
    "float32": ([-1.5, 0.25, 0.5, 1.0, 3.0, 10.0], [-99.0, 0.75, 1e6]),
    "int": ([-2, 0, 1, 2, 3, 4, 5, 6, 10], [-100, 7, 8, 1000]),
    "boolean": ([False, True], []),
    "ordered": (list(GRADES.categories), []),
    "str": (["a", "b", "ab", "0", "B", "é"], ["new", ""]),
    "category": (["x", "y", "z"], ["new", "newer"]),
}
NO_HOLE, FULL_OF_HOLES = 0, None
MATCHINGS = ("pairwise", "cascade")


def as_series(kind: str, values: list) -> pd.Series:
    """Make a pandas column of one kind; None is a missing cell."""
    if kind in ("float", "float32"):
        data = [np.nan if v is None else v for v in values]
        return pd.Series(data, dtype="float64" if kind == "float" else "float32")
    if kind == "int":
        return pd.Series(values, dtype="Int64" if None in values else "int64")
    dtypes = {"boolean": "boolean", "ordered": GRADES, "str": "str"}
    return pd.Series(values, dtype=dtypes.get(kind, "category"))


def as_frame(kinds: list[str], rows: list[list]) -> pd.DataFrame:
    """Make a frame with the columns col0, col1, ... from rows of cells."""
    return pd.DataFrame(
        {
            f"col{j}": as_series(kind, [row[j] for row in rows])
            for j, kind in enumerate(kinds)
        }
    )


@st.composite
def _pool(draw, kind):
    """A few of the kind's values, one for a constant, and odd floats."""
    pool, _ = POOLS[kind]
    values = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=6, unique=True))
    if kind == "float" and draw(st.booleans()):
        odd = st.floats(-100, 100, allow_subnormal=False)
        values += draw(st.lists(odd, max_size=3))
    return values


@st.composite
def _rows(draw, pools, n_holes, min_size, max_size):
    """Rows of cells; a cell is a hole in n_holes of n_holes + len(pool) draws."""
    cells = [
        st.none() if holes is FULL_OF_HOLES else st.sampled_from(pool + [None] * holes)
        for pool, holes in zip(pools, n_holes, strict=True)
    ]
    row = st.tuples(*cells).map(list)
    return draw(st.lists(row, min_size=min_size, max_size=max_size))


@st.composite
def tables(draw, max_rows=30, max_columns=6):
    """Draw two frames of the same columns: one to fit, and one of new rows.

    The first has constants, ties, equal rows, empty rows and empty columns; at least
    one of its cells is observed. The second has values outside the fitted range and
    categories that the first never saw, or values where it had none at all.
    """
    kinds = draw(st.lists(st.sampled_from(list(POOLS)), min_size=1, max_size=6))
    kinds = kinds[:max_columns]
    pools = [draw(_pool(kind)) for kind in kinds]
    rates = st.sampled_from([NO_HOLE, 1, 2, 6, 20, FULL_OF_HOLES])
    n_holes = [draw(rates) for _ in kinds]
    rows = draw(_rows(pools, n_holes, 1, max_rows))
    if draw(st.booleans()):
        picks = st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=max_rows)
        rows = [list(rows[i]) for i in draw(picks)]
    for i in draw(st.sets(st.integers(0, len(rows) - 1), max_size=2)):
        rows[i] = [None] * len(kinds)
    if all(cell is None for row in rows for cell in row):
        rows[-1][0] = pools[0][0]
    new_pools = [pool + POOLS[kind][1] for pool, kind in zip(pools, kinds, strict=True)]
    new_rows = draw(_rows(new_pools, [3] * len(kinds), 1, 8))
    return as_frame(kinds, rows), as_frame(kinds, new_rows)


@st.composite
def parameters(draw):
    """Draw the parameters that decide the answer."""
    return {
        "n_bins": draw(st.integers(2, 7)),
        "matching": draw(st.sampled_from(MATCHINGS)),
    }


def plain(n_bins=4, **options):
    """Four bins of one resolution, and every gap estimated.

    The defaults may be better; tests of one step want the others simple.
    """
    return ProximityKernel(n_bins, **({"missingness": "ignorable"} | options))


class Filler:
    """A kernel that fills tables as the imputer does, by default with bins alone."""

    def __init__(self, kernel, *, refine=False, **options):
        self.kernel, self.refine = kernel, refine
        self.options = {"keep_empty_features": True, "round_whole": False} | options

    def fit(self, table):
        """Fit the kernel, if it is not, and the imputer."""
        if not hasattr(self.kernel, "model_"):
            self.kernel.fit(table)
        frozen = FrozenEstimator(self.kernel)
        self.imputer = ProximityImputer(kernel=frozen, **self.options).fit(table)
        if not self.refine:
            learned = self.imputer.number_model_
            self.imputer.number_model_ = replace(
                learned,
                sources=np.full_like(learned.sources, -1),
                labels=np.full_like(learned.labels, -1),
                left=np.ones_like(learned.left),
            )
        return self

    def impute(self, table, strategy="mean"):
        """Fill a table."""
        return self.imputer.set_params(strategy=strategy).transform(table)

    def uncertainty(self, table):
        """The uncertainty of each filled cell."""
        return self.imputer.uncertainty(table)

    def both(self, table, strategy="mean"):
        """Fill a table; the values, and their uncertainty."""
        filled = self.impute(table, strategy)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "column .* had no observed value at fit")
            return filled, self.uncertainty(table)


def empty_columns(frame: pd.DataFrame) -> list[str]:
    """Names of the columns with nothing observed."""
    return [name for name in frame.columns if frame[name].isna().all()]


def fitted(estimator, frame: pd.DataFrame):
    """Fit, and expect a warning that names each empty column, and no other."""
    empty = empty_columns(frame)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(frame)
    messages = [str(w.message) for w in caught]
    assert all(w.category is UserWarning for w in caught), messages
    assert bool(messages) == bool(empty), messages
    for name in frame.columns:
        assert any(name in text for text in messages) == (name in empty), messages
    return estimator


def fit_transform(estimator, frame: pd.DataFrame):
    """Call fit_transform; the warning about empty columns is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return estimator.fit_transform(frame)


def dense(representation) -> np.ndarray:
    """Make a representation dense."""
    if hasattr(representation, "toarray"):
        return representation.toarray()
    return np.asarray(representation)


def entries(provenance: np.ndarray) -> list[tuple]:
    """Row, feature, level, observed and support of each cell, as plain tuples."""
    names = ("row", "feature", "level", "observed", "support")
    return [tuple(cell) for cell in provenance[[*names]].tolist()]


def adopt_weights(matcher, rule) -> None:
    """Compare smoothing and weights with the oracle's, which then takes these weights.

    Both find the weights by iteration, so they differ in the last digits.
    """
    assert matcher.smoothing == rule.smoothing
    table = matcher.weight_table.tocoo()
    found = [{} for _ in rule.weights]
    for j, i, weight in zip(*table.coords, table.data, strict=True):
        if rule.n_bins[i]:  # in tables with many codes, an empty column may be listed
            found[j][int(i)] = float(weight)
    for own, wanted in zip(found, rule.weights, strict=True):
        assert own == pytest.approx(wanted, rel=0, abs=1e-5)
    rule.weights = found


def assert_same_provenance(got: np.ndarray, wanted: list) -> None:
    """Compare what `provenance` gives with the oracle's, row after row."""
    names = "row feature level observed support certainty columns moved"
    assert list(got.dtype.names) == [*names.split(), "feature_name", "column_names"]
    assert len(got) == len(wanted)
    for cell, origin in zip(got, wanted, strict=True):
        first = [] if origin.decider is None else [origin.decider]
        others = [i for i in origin.moves if i not in first]
        ranked = first + sorted(others, key=lambda i: -origin.moves[i])
        moves = [origin.moves[i] for i in ranked[:3]]
        told = first or (bool(moves) and moves[0] > 1e-12)
        assert cell["row"] == origin.row
        assert cell["feature"] == origin.feature
        assert cell["observed"] == origin.observed
        assert cell["support"] == origin.support
        assert told or not moves or cell["level"] in ("prior", "evidence")
        assert cell["level"] == origin.level or (moves and not told)
        np.testing.assert_allclose(cell["certainty"], origin.certainty, rtol=1e-6)
        padded = moves + [0.0] * (3 - len(moves))
        np.testing.assert_allclose(cell["moved"], padded, rtol=1e-6, atol=1e-11)
        named = [c for c in cell["columns"].tolist() if c >= 0]
        assert named[: len(first)] == first
        assert cell["columns"].tolist() == named + [-1] * (3 - len(named))
        assert len(set(named)) == len(named) >= sum(move > 1e-11 for move in moves)
        for column, moved in zip(named, cell["moved"], strict=False):
            assert abs(origin.moves[column] - moved) < 1e-11 + 1e-6 * moved


def assert_same_bits(left, right) -> None:
    """Both representations hold the same bits."""
    left, right = dense(left), dense(right)
    assert left.dtype == right.dtype
    assert left.shape == right.shape
    assert left.tobytes() == right.tobytes()


def assert_close(got, wanted, dtype=np.float32, terms=0) -> None:
    """Equal up to a few roundings of `dtype`, and one more for each term of a sum."""
    got = dense(got)
    assert got.dtype == dtype
    eps = (1 + terms / 8) * np.finfo(dtype).eps
    np.testing.assert_allclose(got, wanted, rtol=8 * eps, atol=8 * eps)


def mixed_table(n: int, d: int, rate: float, seed: int, noise=0.5) -> pd.DataFrame:
    """A larger mixed frame in three groups, each cell missing at `rate`.

    Columns take turns: few integers, a skewed number, strings.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n)
    columns = {}
    for j in range(d):
        base = np.where(rng.random(n) < noise, rng.integers(4, size=n), group)
        holes = rng.random(n) < rate
        if j % 3 == 0:
            columns[f"col{j}"] = np.where(holes, np.nan, base)
        elif j % 3 == 1:
            skewed = np.round(np.exp(base + rng.random(n)), 1)
            columns[f"col{j}"] = np.where(holes, np.nan, skewed)
        else:
            labels = np.array(["p", "q", "r", "s"])[base].astype(object)
            labels[holes] = None
            columns[f"col{j}"] = pd.Series(labels, dtype="str")
    return pd.DataFrame(columns)


def raises_naming(kind, *words):
    """Expect an exception whose message holds every one of the words."""
    pattern = "(?is)" + "".join(f"(?=.*(?:{word}))" for word in words)
    return pytest.raises(kind, match=pattern)


def a_row(*cells, names="abcd"):
    """One new row of labels."""
    columns = {
        name: pd.Series([cell], dtype="str")
        for name, cell in zip(names, cells, strict=False)
    }
    return pd.DataFrame(columns)


def cut(frame, n_parts, order=None):
    """Cut a frame into about equal batches, some perhaps empty, in some order."""
    limits = np.linspace(0, len(frame), n_parts + 1).astype(int)
    parts = [frame.iloc[a:b] for a, b in pairwise(limits)]
    if order is not None:
        order.shuffle(parts)
    return parts


def arrays_of(matcher) -> dict:
    """All that a rule learnt, by name."""
    if hasattr(matcher, "bitmaps"):
        return matcher.bitmaps._asdict()
    learnt = {"smoothing": matcher.smoothing, "weights": matcher.weights}
    return vars(matcher.counts) | matcher.evidence._asdict() | learnt


def assert_same_arrays(got: dict, wanted: dict) -> None:
    """Both have the same names, dtypes, shapes and bits."""
    assert got.keys() == wanted.keys()
    for name, one in got.items():
        a, b = np.asarray(one), np.asarray(wanted[name])
        assert (a.dtype, a.shape) == (b.dtype, b.shape), name
        assert one is wanted[name] or a.tobytes() == b.tobytes(), name


def assert_same_model(got, wanted, rel=1e-9):
    """All that two estimators learnt is the same, but for typical values to the bit."""
    one, other = got.model_, wanted.model_
    assert one.types == other.types
    for a, b in zip(one.bins, other.bins, strict=True):
        if hasattr(a, "centers"):
            assert a.centers.tobytes() == b.centers.tobytes()
            assert (a.groups is None) == (b.groups is None)
            assert a.groups is None or a.groups.tolist() == b.groups.tolist()
        else:
            assert a == b
            assert a.names() == b.names()
    assert one.missingness == other.missingness
    assert one.n_samples == other.n_samples
    assert_same_arrays({"totals": one.totals}, {"totals": other.totals})
    assert type(one.matcher) is type(other.matcher)
    assert_same_arrays(arrays_of(one.matcher), arrays_of(other.matcher))
    for a, b in zip(one.typical, other.typical, strict=True):
        if isinstance(a.values, tuple):
            assert a.values == b.values
        else:
            np.testing.assert_allclose(a.values, b.values, rtol=rel, atol=1e-9)
        np.testing.assert_allclose(a.spread, b.spread, rtol=rel, atol=1e-6)
    for name in ("feature_names_in_", "n_features_in_"):
        np.testing.assert_array_equal(
            getattr(got, name, None), getattr(wanted, name, None)
        )
