"""Why two rows are alike: feature by feature, with what was assumed about the holes.

The similarity of two rows is a sum over the features, so each has a part in it. A
missing cell enters as a distribution over the bins of its feature, with the cells that
moved it most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._bins.names import name_bins, write_moment
from ._model.model import Model
from ._model.provenance import list_cells
from ._table.columns import Column, read_columns
from ._table.containers import split_table
from .kernel import ProximityKernel

__all__ = ["Cell", "Explanation", "Feature", "bin_names", "explain"]

_MOST_SHARES = 3  # bins of a distribution that a line shows
_LEAST = 0.005  # of a movement that a line shows: half a percent
_LEFT_OUT = "nothing observed at fit"
UNKNOWN = "unknown category"


@dataclass(frozen=True)
class Cell:
    """One cell of a row, and what the kernel makes of it.

    Attributes
    ----------
    value
        As it was read: a number, a label, a date as text; None if it is missing.
    bin : str
        In words: "12.5 to 30", a category; empty where a distribution was assumed.
    missing : bool
    assumed : tuple of (str, float)
        Of a missing cell that was estimated: bins and probabilities, the likeliest
        first. Empty for others; a gap that is informative is a bin itself.
    level : str
        What the estimate rests on, as in `ProximityKernel.provenance`.
    observed, support : int
        Features that the row observes, and fitted rows behind the estimate.
    moved_by : tuple of (str, float)
        The features whose cells moved the estimate most, and how far: the share of the
        probability that lies elsewhere without that cell.
    """

    value: Any
    bin: str
    missing: bool = False
    assumed: tuple[tuple[str, float], ...] = ()
    level: str = ""
    observed: int = 0
    support: int = 0
    moved_by: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        if not self.assumed:
            number = isinstance(self.value, float)
            shown = (
                f"{self.value:.12g}"
                if number
                else ""
                if self.value is None
                else str(self.value)
            )
            return self.bin if shown in ("", self.bin) else f"{shown} ({self.bin})"
        likely = [f"{name} {share:.0%}" for name, share in self.assumed[:_MOST_SHARES]]
        more = ", ..." if len(self.assumed) > _MOST_SHARES else ""
        rows = "row" if self.support == 1 else "rows"
        held = f"{self.level}, {self.support:,} {rows}"
        moved = [f"{name} {far:.0%}" for name, far in self.moved_by if far >= _LEAST]
        if moved:
            held = f"by {', '.join(moved)}"
        return f"? {', '.join(likely)}{more} [{held}]"


@dataclass(frozen=True)
class Feature:
    """The part that one feature has in a similarity.

    Attributes
    ----------
    name : str
    contribution : float
        To the similarity; those of all features add up to it.
    agreement : float
        Probability that both rows lie in the same bin; where a feature has two
        resolutions, a part of it is for the same coarse bin.
    alike : str
        "same" bin; "close": another bin of the same coarse one; "different"; "perhaps":
        a cell was estimated; "unknown": a category that was not there at fit, or a
        feature with nothing observed there.
    a, b : Cell
    """

    name: str
    contribution: float
    agreement: float
    alike: str
    a: Cell
    b: Cell


@dataclass(frozen=True)
class Explanation:
    """Why two rows are alike, or are not.

    Attributes
    ----------
    similarity : float
        As `ProximityKernel.kernel` has it, up to rounding.
    features : tuple of Feature
        In the order of the table.
    """

    similarity: float
    features: tuple[Feature, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Make a record for each feature, for `pandas.DataFrame` or a writer of CSV."""
        return [
            {
                "feature": feature.name,
                "contribution": feature.contribution,
                "agreement": feature.agreement,
                "alike": feature.alike,
                **_flatten(feature.a, "a"),
                **_flatten(feature.b, "b"),
            }
            for feature in self.features
        ]

    def __str__(self) -> str:
        rows = [("feature", "part", "alike", "a", "b")]
        for feature in sorted(self.features, key=lambda one: -one.contribution):
            part = f"{feature.contribution:.3f}"
            rows.append(
                (feature.name, part, feature.alike, str(feature.a), str(feature.b))
            )
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        return "\n".join([f"similarity {self.similarity:.3f}", *lines])


def explain(kernel: Any, a: Any, b: Any) -> Explanation:
    """Tell which features make two rows alike, and what was assumed about their holes.

    Parameters
    ----------
    kernel : ProximityKernel
        Fitted; or a fitted estimator that holds one as ``kernel_``.
    a, b : mapping, Series, list of cells, or table of one row
        With the columns seen at fit. A mapping names them, in any order.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> from proximity_kernel import ProximityKernel, explain
    >>> table = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    >>> pk = ProximityKernel(n_bins=2).fit(table)
    >>> why = explain(pk, [8.5, None], [9.0, "b"])
    >>> round(why.similarity, 3)
    0.909
    >>> print(why)
    similarity 0.909
    feature  part   alike    a                           b
    x0       0.500  same     8.5 (above 5)               9 (above 5)
    x1       0.409  perhaps  ? b 82%, a 18% [by x0 32%]  b
    """
    kernel = _find_kernel(kernel)
    model = kernel.model_
    names = bin_names(kernel)
    left, right = _read_row(model, a, names, "a"), _read_row(model, b, names, "b")
    agreements = sum_by_feature(model, left.matrix.multiply(right.matrix))[0]
    whole = float(model.n_counted)
    if kernel.normalize:
        squares = [row.matrix.power(2).sum() for row in (left, right)]
        whole = float(np.sqrt(squares[0] * squares[1]))
    parts = agreements / (whole or 1.0)
    features = []
    for j, column in enumerate(model.types):
        pair = float(parts[j]), float(agreements[j])
        alike = _compare(j, pair[1], left, right)
        cells = left.cells[j], right.cells[j]
        features.append(Feature(column.name, *pair, alike, *cells))
    return Explanation(min(float(parts.sum()), 1.0), tuple(features))


def _find_kernel(estimator: Any) -> ProximityKernel:
    """Take a fitted kernel, or the one that a fitted estimator holds."""
    if hasattr(estimator, "fit") and hasattr(estimator, "kernel"):
        check_is_fitted(estimator)
    kernel = getattr(estimator, "kernel_", estimator)
    if not isinstance(kernel, ProximityKernel):
        raise TypeError(f"kernel must be a fitted ProximityKernel, got {estimator!r}.")
    check_is_fitted(kernel)
    return kernel


def bin_names(kernel: ProximityKernel) -> list[list[str]]:
    """Say in words what each bin of each feature holds.

    Parameters
    ----------
    kernel : ProximityKernel
        Fitted.

    Returns
    -------
    list of length n_features, of lists of str
        Ranges of a numeric feature, categories of others, and "missing" for the bin of
        informative gaps.

    Examples
    --------
    >>> pk = ProximityKernel(n_bins=3).fit([[10.0, "x"], [15.0, "y"], [45.0, "x"]])
    >>> bin_names(pk)
    [['up to 12.5', '12.5 to 30', 'above 30'], ['x', 'y']]
    """
    check_is_fitted(kernel)
    model = kernel.model_
    return [
        name_bins(bins, column, bool(gaps)) if bins.n_bins else []
        for bins, column, gaps in zip(
            model.bins, model.types, model.informative, strict=True
        )
    ]


def sum_by_feature(model: Model, matrix: Any) -> NDArray[np.float64]:
    """Add up the columns of each feature in a sparse matrix that has those of rows."""
    features = np.repeat(np.arange(len(model.bins)), model.n_columns)
    entries = (np.ones(len(features)), (np.arange(len(features)), features))
    sums = sp.csr_array(entries, shape=(len(features), len(model.bins)))
    return np.asarray((sp.csr_array(matrix) @ sums).toarray())


@dataclass(frozen=True)
class _Row:
    """A row: its representation, its cells, and its share of each bin of a feature.

    The representation is that of a kernel that is not normalized.
    """

    matrix: sp.csr_array
    cells: list[Cell]
    shares: list[NDArray[np.float64]]


def _read_row(
    model: Model, row: Any, names: Sequence[Sequence[str]], which: str
) -> _Row:
    try:
        table = _as_table(model, row, which)
        columns = read_columns(
            table, categorical_features=model.categorical_features, fitted=model.types
        )
    except (TypeError, ValueError) as error:
        error.add_note(f"This is about {which}, one of the two rows.")
        raise
    codes = model.code(table, n_threads=1)
    estimates = model.matcher.estimate(codes, 1)
    listed = {int(cell["feature"]): cell for cell in list_cells(model, codes, 1)}
    features = [column.name for column in model.types]
    places = {int(j): at for at, j in enumerate(estimates.feature)}
    cells, shares = [], []
    for j, n_bins in enumerate(model.n_bins):
        share = np.zeros(n_bins)
        if j in places:
            start = estimates.start[places[j]]
            share = estimates.probabilities[start : start + n_bins]
        elif codes.rows[0, j] < n_bins:
            share[codes.rows[0, j]] = 1
        shares.append(share)
        value = _read_value(columns[j])
        cells.append(_make_cell(value, share, names[j], listed.get(j), features))
    return _Row(model.represent(codes, np.float64, False, 1), cells, shares)


def _make_cell(
    value: Any,
    share: NDArray[np.float64],
    names: Sequence[str],
    estimate: Any,
    features: Sequence[str],
) -> Cell:
    if not names:
        return Cell(value, _LEFT_OUT, missing=value is None)
    if estimate is None:
        where = names[int(share.argmax())] if share.any() else UNKNOWN
        return Cell(value, where, value is None)
    order = np.argsort(-share, kind="stable")
    return Cell(
        None,
        "",
        missing=True,
        assumed=tuple((names[k], float(share[k])) for k in order if share[k] > 0),
        level=str(estimate["level"]),
        observed=int(estimate["observed"]),
        support=int(estimate["support"]),
        moved_by=tuple(
            (features[j], float(far))
            for j, far in zip(estimate["columns"], estimate["moved"], strict=True)
            if j >= 0
        ),
    )


def _compare(j: int, agreement: float, left: _Row, right: _Row) -> str:
    if left.cells[j].assumed or right.cells[j].assumed:
        return "perhaps"
    a, b = left.shares[j], right.shares[j]
    if not a.any() or not b.any():
        return "unknown"
    return "same" if a @ b else "close" if agreement else "different"


def _as_table(model: Model, row: Any, which: str) -> Any:
    """Make a table of one row, in the order of the fitted columns."""
    if isinstance(row, str | bytes | Integral) or row is None:
        hint = f"; pass table.iloc[[{row}]]" if isinstance(row, Integral) else ""
        raise TypeError(f"{which} must be a row of cells, got {row!r}{hint}.")
    if getattr(row, "ndim", 0) == 1 and hasattr(row, "to_dict"):  # pandas'
        row = row.to_dict()
    elif getattr(row, "ndim", 0) == 1 or hasattr(row, "to_list"):  # polars'
        row = list(row)
    if isinstance(row, Mapping):
        row = _order_cells(model, row, which)
    table = row
    if isinstance(row, list | tuple):
        nested = [_is_nested(cell) for cell in row]
        if any(nested) and not all(nested):
            at = nested.index(True)
            raise ValueError(
                f"{which} must be one row: a list of {len(model.types)} cells; cell "
                f"{at} is {row[at]!r}."
            )
        table = row if any(nested) else [list(row)]
    n_rows = len(split_table(table).columns[0])
    if n_rows != 1:
        raise ValueError(f"{which} must be one row, got a table of {n_rows:,}.")
    return table


def _is_nested(cell: Any) -> bool:
    return isinstance(cell, list | tuple) or np.ndim(cell) > 0


def _order_cells(model: Model, row: Mapping[Any, Any], which: str) -> list[Any]:
    names = [column.name for column in model.types]
    unnamed = names == [f"x{j}" for j in range(len(names))]
    if unnamed and list(row) == list(range(len(names))):
        return list(row.values())
    missing = [name for name in names if name not in row]
    strange = [str(name) for name in row if name not in names]
    if missing or strange:
        wrong = [f"lacks {name!r}" for name in missing]
        wrong += [f"has {name!r}, which was not there at fit" for name in strange]
        raise ValueError(f"{which} {'; it '.join(wrong[:3])}. A missing cell is None.")
    return [row[name] for name in names]


def _read_value(column: Column) -> Any:
    """Take the only cell of a column: a number, a label, a date as text, or None."""
    if not column.observed[0]:
        return None
    value = column.values[0]
    if column.type.kind == "categorical":
        return column.labels[value]
    if column.type.order is not None:
        return column.type.order[int(value)]
    if column.type.family == "dates":
        return write_moment(float(value))
    return float(value)


def _flatten(cell: Cell, which: str) -> dict[str, Any]:
    held = {
        "bin": cell.bin,
        "missing": cell.missing,
        "assumed": ", ".join(f"{name} {share:.3f}" for name, share in cell.assumed),
        "level": cell.level,
        "support": cell.support,
        "moved_by": ", ".join(f"{name} {far:.3f}" for name, far in cell.moved_by),
    }
    return {which: cell.value} | {f"{key}_{which}": one for key, one in held.items()}
