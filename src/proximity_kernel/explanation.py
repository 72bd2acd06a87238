"""`explain`: why two rows are similar, feature by feature.

The similarity of two rows is a sum over the features, so each feature contributes a
part. A missing cell is shown as its estimated distribution over bins, with the cells
that influenced the estimate most.

The module is not called `explain`: importing a submodule sets the attribute of that
name in the package, which would replace the public function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ._bins import format_moment
from ._model import Model
from ._provenance import list_cells
from ._shared.wording import (
    counted,
    fold_rows,
    listed,
    note_about,
    suggest,
    write_plain,
    write_share,
)
from ._table.columns import Column
from ._table.records import Tabular, find_library
from ._table.tables import split_table
from .kernel import ProximityKernel, bin_names, find_kernel, is_limited

__all__ = ["Cell", "Explanation", "Feature", "explain"]
_MOST_SHARES = 3  # bins of a distribution that a line shows
_LEAST = 0.005  # least influence that a line shows: half a percent
_WIDTH = 88  # of a printed explanation, in characters
_RARE = 0.2  # a value is called rare if at most this share of the rows has it,
_MORE = 1.25  # and its match has at least this weight
_SAME = 1 - 1e-6  # agreement of the same bin, up to rounding
_LEFT_OUT = "nothing observed at fit"
UNKNOWN = "unknown category"
Alike = Literal["same", "same range", "close", "different", "perhaps", "unknown"]


@dataclass(frozen=True)
class Cell:
    """One cell of a row, and how the kernel represents it.

    Attributes
    ----------
    value
        As it was read: a number, a label, a date as text; None if it is missing.
    bin : str
        In words: "12.5 to 30", a category; empty for an estimated cell. If both rows
        observe a "fine" feature, the smaller range in which values count as equal.
    missing : bool
    assumed : tuple of (str, float)
        Bins and probabilities of an estimated cell, the most likely first. Empty for
        other cells; an informative missing cell has its own bin.
    level : str
        What the estimate is based on, as in `ProximityKernel.provenance`.
    observed, support : int
        Number of observed features of the row, and number of fitted rows that the
        estimate is based on.
    moved_by : tuple of (str, float)
        The features whose cells influenced the estimate most, and by how much: the
        share of the probability that moves to other bins without that cell.
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
        """Format the cell in one line: its value and bin, or its estimate."""
        if not self.assumed:
            value = "" if self.value is None else self.value
            shown = write_plain(value) if isinstance(value, float) else str(value)
            return self.bin if shown in ("", self.bin) else f"{shown} ({self.bin})"
        likely = [f"{bin_} ({write_share(share)})" for bin_, share in self.assumed]
        likely[_MOST_SHARES:] = ["..."] if len(likely) > _MOST_SHARES else []
        basis = f"{self.level}, {counted(self.support, 'row')}"
        moved = [
            f"{by} {write_share(far)}" for by, far in self.moved_by if far >= _LEAST
        ]
        if moved:
            basis = f"by {', '.join(moved)}"
        return f"? {', '.join(likely)} [{basis}]"


@dataclass(frozen=True)
class Feature:
    """The contribution of one feature to a similarity.

    Attributes
    ----------
    name : str
    contribution : float
        To the similarity; the contributions of all features add up to it.
    agreement : float
        Similarity in this feature alone, from 0 to 1: the probability that both rows
        lie in the same bin; with "auto", bins of the same half score 0.8. Feature
        weights and rarity change the contribution, not the agreement.
    alike : {"same", "same range", "close", "different", "perhaps", "unknown"}
        "same" value; "same range": different values in one bin; "close": another bin of
        the same half; "different"; "perhaps": a cell was estimated; "unknown": a
        category not seen at fit, or a feature without observed values at fit.
    a, b : Cell
    shared : float or None
        The share of the fitted rows in the smallest range that has both values (a bin,
        a half, ...); None if there is no such range, or a cell was estimated.
    weight : float
        How much the agreement counts because of `rarity`: more than 1 if the values
        are rare.
    """

    name: str
    contribution: float
    agreement: float
    alike: Alike
    a: Cell
    b: Cell
    shared: float | None = None
    weight: float = 1.0

    @property
    def reason(self) -> str:
        """`alike`, and for a rare value also the share of the rows that have it."""
        if self.shared is None or self.shared > _RARE or self.weight < _MORE:
            return self.alike
        return f"{self.alike}, shared by only {write_share(self.shared)} of the rows"


@dataclass(frozen=True)
class Explanation(Tabular):
    """Why two rows are similar, or why not; a notebook shows it as a table.

    Attributes
    ----------
    similarity : float
        As from `ProximityKernel.kernel`, or from `ProximityNeighbors.kneighbors` for
        the query `a`, up to rounding.
    features : tuple of Feature
        In the order of the table.
    library : str
        The data frame library of `to_frame`: that of row `a`, else pandas.
    """

    similarity: float
    features: tuple[Feature, ...]
    library: str = field(default="pandas", repr=False, compare=False)

    def _list_columns(self) -> dict[str, list[Any]]:
        """List agreement, contribution and both cells of every feature."""
        names = ("contribution", "agreement", "alike", "shared")
        return {
            "feature": [one.name for one in self.features],
            **{name: [getattr(one, name) for one in self.features] for name in names},
            **_list_cells([one.a for one in self.features], "a"),
            **_list_cells([one.b for one in self.features], "b"),
        }

    def _show(self) -> tuple[str, dict[str, list[Any]]]:
        """Return the similarity, and the features by their contributions."""
        ordered = sorted(self.features, key=lambda one: -one.contribution)
        return f"similarity {self.similarity:.3f}", {
            "feature": [one.name for one in ordered],
            "adds": [f"{one.contribution:.3f}" for one in ordered],
            "alike": [one.reason for one in ordered],
            "a": [str(one.a) for one in ordered],
            "b": [str(one.b) for one in ordered],
        }

    def __str__(self) -> str:
        """Lay out the features as a table, the largest contribution first."""
        title, columns = self._show()
        rows = [tuple(columns), *zip(*columns.values(), strict=True)]
        return "\n".join([title, *fold_rows(rows, _WIDTH)])


def explain(kernel: BaseEstimator, a: Any, b: Any) -> Explanation:
    """Explain which features make two rows similar, and how missing cells count.

    Parameters
    ----------
    kernel : ProximityKernel
        Fitted; or a fitted estimator with the attribute ``kernel_``. The similarity is
        that of the kernel. For `ProximityNeighbors` and the classifier and regressor it
        is the similarity that they compute for the query `a`: a share of what a row
        with exactly the values of `a` would score.
    a, b : mapping, Series, list of cells, or table of one row
        With the columns seen at fit; a mapping can have them in any order.

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
    0.913
    >>> print(why)
    similarity 0.913
    feature  adds   alike       a                                  b
    x0       0.500  same range  8.5 (above 5)                      9 (above 5)
    x1       0.413  perhaps     ? b (83 %), a (17 %) [by x0 33 %]  b
    """
    of_query = getattr(kernel, "_reports_shares", False)
    kernel = find_kernel(kernel)
    model = kernel.model_
    names = bin_names(kernel)
    left, right = _read_row(model, a, names, "a"), _read_row(model, b, names, "b")
    plain = _without_weights(model)
    agreements = plain.agree_by_feature(left.plain.multiply(right.plain))[0]
    weighted = model.agree_by_feature(left.matrix.multiply(right.matrix))[0]
    parts = weighted * model.scales / _compute_divisor(kernel, left, right, of_query)
    total = float(parts.sum())
    if of_query or is_limited(kernel, model):
        total = min(total, 1.0)
    shared = _share_cells(model, left, right)
    rarities = np.where(model.scales > 0, weighted, agreements)
    features = tuple(
        Feature(
            column.name,
            contribution=float(parts[j]),
            agreement=float(agreements[j]),
            alike=_classify_likeness(j, agreements[j], left, right),
            a=left.show(j, right),
            b=right.show(j, left),
            shared=shared[j],
            weight=float(rarities[j] / agreements[j]) if agreements[j] else 1.0,
        )
        for j, column in enumerate(model.types)
    )
    return Explanation(total, features, find_library(a))


def _without_weights(model: Model) -> Model:
    """Copy a model with equal feature weights and no rarity."""
    return replace(model, feature_weights=None, rarity=0.0)


def _compute_divisor(
    kernel: ProximityKernel, left: _Row, right: _Row, of_query: bool
) -> float:
    """Compute the divisor that makes the sum over the features a similarity."""
    model, power = kernel.model_, float(kernel.normalize)
    divisor = n_counted = float(model.n_counted or 1)
    for row in (left, right) if power else ():
        square = float(row.matrix.power(2).sum()) / n_counted
        divisor *= (square or 1.0) ** (power / 2)
    if of_query:
        full = model.full_score(0.0)
        divisor *= float(full.of(left.matrix)[0] / full.n_features) ** (1 - power)
    return divisor


def _share_cells(model: Model, left: _Row, right: _Row) -> list[float | None]:
    """Find the share of fitted rows in the smallest range of both values."""
    both = left.plain.multiply(right.plain).tocoo()
    features = np.repeat(np.arange(len(model.bins)), model.n_columns)
    out: list[float | None] = [None] * len(model.bins)
    for column in both.coords[1].tolist():
        j, share = int(features[column]), float(model.column_shares[column])
        if not (left.cells[j].assumed or right.cells[j].assumed):
            out[j] = min(share, 1.0 if out[j] is None else out[j])  # type: ignore[type-var]
    return out


@dataclass(frozen=True)
class _Row:
    """A row: its unnormalized representation, its cells, and its bin probabilities.

    `plain` is the representation without feature weights and rarity. `leaves` has the
    name of the leaf of each observed cell in a "fine" feature, else "".
    """

    matrix: sp.csr_array
    plain: sp.csr_array
    cells: list[Cell]
    shares: list[NDArray[np.float64]]
    leaves: list[str]

    def show(self, j: int, other: _Row) -> Cell:
        """Return the cell of feature j, with its leaf as bin if both rows have one."""
        if self.leaves[j] and other.leaves[j]:
            return replace(self.cells[j], bin=self.leaves[j])
        return self.cells[j]


def _read_row(model: Model, row: Any, names: list[list[str]], which: str) -> _Row:
    """Represent a row, and list its cells."""
    with note_about(f"{which}, one of the two rows"):
        coded = model.code(_as_table(model, row, which), n_threads=1)
    estimates = model.matcher.estimate(coded, 1)
    listed = {int(cell["feature"]): cell for cell in list_cells(model, coded, 1)}
    features, cells, shares, leaves = model.names, [], [], []
    for j, n_bins in enumerate(model.n_bins.tolist()):
        share = np.zeros(n_bins)
        if j in listed:
            share = estimates.of_feature(j, n_bins)[0]
        elif coded.bins[0, j] < n_bins:
            share[coded.bins[0, j]] = 1
        shares.append(share)
        value = _read_value(coded.columns[j])
        cells.append(_make_cell(value, share, names[j], listed.get(j), features))
        own = model.leaf_names.get(j, []) if value is not None else []
        codes = coded.bins if coded.leaves is None else coded.leaves
        leaves.append(own[codes[0, j]] if own else "")
    plain = _without_weights(model).represent(coded, np.float64, 0.0, 1)
    coded.release()
    matrix = model.represent(coded, np.float64, 0.0, 1)
    return _Row(matrix, plain, cells, shares, leaves)


def _make_cell(
    value: Any,
    share: NDArray[np.float64],
    names: list[str],
    estimate: Any,
    features: list[str],
) -> Cell:
    """Make a `Cell`; `estimate` is its provenance, or None if it was not estimated."""
    if not names:
        return Cell(value, _LEFT_OUT, missing=value is None)
    if estimate is None:
        where = names[int(share.argmax())] if share.any() else UNKNOWN
        return Cell(value, where, value is None)
    order = np.argsort(-share, kind="stable")
    movers = zip(estimate["columns"], estimate["moved"], strict=True)
    return Cell(
        None,
        "",
        missing=True,
        assumed=tuple((names[k], float(share[k])) for k in order if share[k] > 0),
        level=str(estimate["level"]),
        observed=int(estimate["observed"]),
        support=int(estimate["support"]),
        moved_by=tuple((features[j], float(far)) for j, far in movers if j >= 0),
    )


def _classify_likeness(j: int, agreement: float, left: _Row, right: _Row) -> Alike:
    """Classify how alike two rows are in feature j, as `Feature.alike`."""
    a, b = left.cells[j], right.cells[j]
    if a.assumed or b.assumed:
        return "perhaps"
    if not left.shares[j].any() or not right.shares[j].any():
        return "unknown"
    if agreement > _SAME:
        return "same" if a.value == b.value else "same range"
    return "close" if agreement else "different"


def _as_table(model: Model, row: Any, which: str) -> Any:
    """Convert a row to a table of one row, in the order of the fitted columns."""
    if isinstance(row, str | bytes | Integral) or row is None:
        hint = f"; pass table.iloc[[{row}]]" if isinstance(row, Integral) else ""
        raise TypeError(f"{which} must be a row of cells, got {row!r}{hint}.")
    if getattr(row, "ndim", 0) == 1 and hasattr(row, "to_dict"):  # pandas'
        row = row.to_dict()
    elif getattr(row, "ndim", 0) == 1 or hasattr(row, "to_list"):  # polars'
        row = list(row)
    if isinstance(row, Mapping):
        row = _order_cells(model, row, which)
    if isinstance(row, list | tuple):
        nested = [isinstance(c, list | tuple) or np.ndim(c) > 0 for c in row]
        if any(nested) and not all(nested):
            at = nested.index(True)
            raise ValueError(
                f"{which} must be one row: a list of {len(model.types)} cells; cell "
                f"{at} is {row[at]!r}."
            )
        row = row if any(nested) else [list(row)]
    n_rows = len(split_table(row).columns[0])
    if n_rows != 1:
        raise ValueError(f"{which} must be one row, got a table of {n_rows:,}.")
    return row


def _order_cells(model: Model, row: Mapping[Any, Any], which: str) -> list[Any]:
    """Put the cells of a mapping in the order of the fitted columns."""
    names = model.names
    unnamed = names == [f"x{j}" for j in range(len(names))]
    if unnamed and list(row) == list(range(len(names))):
        return list(row.values())
    missing = [name for name in names if name not in row]
    strange = [str(name) for name in row if name not in names]
    if missing or strange:
        wrong = [f"lacks {listed(missing, 3)}"] if missing else []
        if strange:
            found = suggest(strange[0], missing)
            wrong.append(f"has {listed(strange, 3)}, which was not seen at fit{found}")
        end = "" if wrong[-1].endswith("?") else "."
        raise ValueError(
            f"{which} {'; it '.join(wrong)}{end} Give every column; a missing cell is "
            "None."
        )
    return [row[name] for name in names]


def _read_value(column: Column) -> Any:
    """Read the only cell of a column: a number, a label, a date as text, or None."""
    if not column.observed[0]:
        return None
    value = column.values[0]
    if column.type.kind == "categorical":
        return column.labels[value]
    if column.type.order is not None:
        return column.type.order[int(value)]
    if column.type.family == "dates":
        return format_moment(float(value))
    if column.type.form == "boolean" and value in (0, 1):
        return bool(value)
    return float(value)


def _list_cells(cells: list[Cell], which: str) -> dict[str, list[Any]]:
    """Make columns of a frame for the cells of one row; `which` is "a" or "b"."""
    columns: dict[str, list[Any]] = {which: [cell.value for cell in cells]}
    for name in ("bin", "missing", "assumed", "level", "support", "moved_by"):
        own = [getattr(cell, name) for cell in cells]
        if name in ("assumed", "moved_by"):
            own = [", ".join(f"{key} {part:.3f}" for key, part in one) for one in own]
        columns[f"{name}_{which}"] = own
    return columns
