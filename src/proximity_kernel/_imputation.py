"""Find values for the missing cells of coded rows: expected, or drawn at random.

The estimates are those of the representation: a distribution over the bins of a feature
for each missing cell. Here they are decoded with the typical values of the bins. A
number is the expected value, or the typical value of the likeliest bin. A category is
the likeliest label.

Missing cells of an informative feature have their own bin, and the kernel does not
estimate them. A filled table needs a value there too. It is estimated as if all such
cells of the row were unknown, and the bin for missing is left out.

Random values are drawn for one missing cell of a row after another, in the order of the
columns, each from its estimate. The drawn code is then used like an observed one for
the next cell, so the values drawn for one row are consistent as far as the matching
rule can tell. Cells of informative features come last: their being missing is evidence
for the others. For a number, the code is a bin. The value is drawn uniformly around the
mean of the bin, with the bin's standard deviation, but never past a border of the bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._bins import NumericBins, Typical
from ._coded import CodedTable, Estimates
from ._model import Model
from ._shared.options import check_choice
from ._shared.warning import warn_user
from ._shared.wording import join_names
from ._table.columns import ColumnType
from ._table.filling import Gaps

Strategy = Literal["mean", "mode"]
_MOST_ROWS = 16384  # distinct rows that are estimated at a time
_MOST_SHARES = 1 << 22  # probabilities in the estimates of these rows
_TINY = np.finfo(float).tiny
_Floats = NDArray[np.float64]


STRATEGIES: tuple[Strategy, ...] = ("mean", "mode")


@dataclass(frozen=True)
class _Decoded:
    """Decoded values of missing cells of some distinct rows, one entry per cell."""

    rows: NDArray[np.int64]
    picks: NDArray[np.int64]  # the likeliest bin
    means: _Floats
    uncertainty: _Floats


def estimate_gaps(
    model: Model, coded: CodedTable, strategy: Strategy, n_threads: int
) -> list[Gaps]:
    """Find values for the missing cells of coded rows.

    Warns of columns whose missing cells cannot be filled.

    Parameters
    ----------
    model : Model
    coded : CodedTable
        The coded rows of the table.
    strategy : {"mean", "mode"}
        How numbers are decoded.
    n_threads : int

    Returns
    -------
    list of Gaps, one per feature
    """
    check_choice("strategy", strategy, STRATEGIES)
    parts: list[list[_Decoded]] = [[] for _ in model.types]
    step = rows_at_a_time(model)
    for first in range(0, len(coded.bins), step):
        rows = coded.bins[first : first + step]
        for j, found in _decode_rows(model, rows, n_threads):
            parts[j].append(replace(found, rows=found.rows + first))
    gaps = [
        _spread_over(model, coded, j, part, strategy) for j, part in enumerate(parts)
    ]
    warn_of_open_gaps(gaps)
    return gaps


def rows_at_a_time(model: Model) -> int:
    """Find how many rows to estimate together, to limit memory."""
    return max(1, min(_MOST_ROWS, _MOST_SHARES // max(1, int(model.n_bins.sum()))))


def _decode_rows(
    model: Model, rows: NDArray[Any], n_threads: int
) -> Iterator[tuple[int, _Decoded]]:
    """Decode the missing cells of rows, feature by feature."""
    estimates = model.matcher.estimate(CodedTable.of_rows(rows), n_threads)
    yield from _decode_some(model, estimates, range(len(model.types)))
    informative = np.flatnonzero(model.informative)
    gaps = rows[:, informative] == (model.n_bins - 1)[informative]
    some = np.flatnonzero(gaps.any(axis=1))
    if len(some):  # informative features, which were not estimated above
        opened = CodedTable.of_rows(open_gaps(model, rows[some]))
        again = model.matcher.estimate(opened, n_threads)
        for j, found in _decode_some(model, again, informative.tolist()):
            yield j, replace(found, rows=some[found.rows])


def _decode_some(
    model: Model, estimates: Estimates, features: Iterable[int]
) -> Iterator[tuple[int, _Decoded]]:
    for j in features:
        if (estimates.feature == j).any() and len(model.typical[j].spread):
            yield j, _decode(model, estimates, j)


def find_shares(model: Model, estimates: Estimates, j: int) -> _Floats:
    """Find the probabilities of the bins in the missing cells of feature j.

    For an informative feature the bin for missing is left out.
    """
    n_bins = len(model.typical[j].spread)
    shares = estimates.of_feature(j, n_bins)
    if model.informative[j]:
        mass = shares.sum(axis=1, keepdims=True)
        prior = model.totals_by_feature[j][:n_bins]
        shares = np.where(
            mass > 0, shares / np.maximum(mass, _TINY), prior / prior.sum()
        )
    return shares


def _decode(model: Model, estimates: Estimates, j: int) -> _Decoded:
    typical = model.typical[j]
    shares = find_shares(model, estimates, j)
    cells = np.flatnonzero(estimates.feature == j)
    rows = np.searchsorted(estimates.row_start, cells, side="right") - 1
    if model.types[j].has_labels:
        return _pick_label(rows, shares, typical)
    values = np.asarray(typical.values, np.float64)
    means = (shares * values).sum(axis=1)  # BLAS could round by row count
    widest = max(float(np.abs(values).max()), float(typical.spread.max()))
    scale = max(widest, _TINY)  # squares overflow
    apart = values / scale - means[:, None] / scale
    apart = apart**2 + (typical.spread / scale) ** 2
    with np.errstate(over="ignore"):  # a model file can have any spread
        deviation = np.sqrt((shares * apart).sum(axis=1)) * scale
    return _Decoded(rows, shares.argmax(axis=1), means, deviation)


def _pick_label(rows: NDArray[np.int64], shares: _Floats, typical: Typical) -> _Decoded:
    """Find the likeliest label, and the probability of any other."""
    chances = shares * (1 - typical.spread)
    picks = chances.argmax(axis=1)
    best = np.take_along_axis(chances, picks[:, None], axis=1)[:, 0]
    return _Decoded(rows, picks, np.zeros(len(rows)), np.clip(1 - best, 0, 1))


def open_gaps(model: Model, rows: NDArray[Any]) -> NDArray[Any]:
    """Replace the codes of informative missing cells by that of a missing cell."""
    out = np.array(rows)
    for j in np.flatnonzero(model.informative):
        out[rows[:, j] == model.n_bins[j] - 1, j] = np.iinfo(rows.dtype).max
    return out


def _spread_over(
    model: Model,
    coded: CodedTable,
    j: int,
    parts: Sequence[_Decoded],
    strategy: Strategy,
) -> Gaps:
    """Copy the values of distinct rows to the rows of the table."""
    column, typical = model.types[j], model.typical[j]
    gap = coded.bins[:, j] == coded.missing
    if model.informative[j]:
        gap |= coded.bins[:, j] == model.n_bins[j] - 1
    rows = np.flatnonzero(gap[coded.index])
    if not parts:
        return Gaps(column, rows, np.empty(0), np.empty(0), np.empty(0))
    held = np.concatenate([one.rows for one in parts])
    at = np.searchsorted(held, coded.index[rows])
    means = np.concatenate([one.means for one in parts])[at]
    picks = np.concatenate([one.picks for one in parts])[at]
    uncertainty = np.concatenate([one.uncertainty for one in parts])[at]
    if column.has_labels:
        values = label_bins(column, typical)[picks]
    else:
        values = means if strategy == "mean" else np.asarray(typical.values)[picks]
    return Gaps(column, rows, values, uncertainty, means)


def label_bins(column: ColumnType, typical: Typical) -> NDArray[np.object_]:
    """Find the label to which each bin is decoded."""
    labels: Sequence[Any] = tuple(typical.values)
    if column.order is not None:
        labels = [column.order[int(rank)] for rank in labels]
    return np.fromiter(labels, object, len(labels))


def warn_of_open_gaps(gaps: Sequence[Gaps]) -> None:
    """Warn of the columns whose missing cells cannot be filled, if any."""
    left = [one.type.place for one in gaps if len(one.rows) and not one.fillable]
    if left:
        warn_user(
            f"{join_names(left)} had no observed value at fit, so missing cells stay "
            "missing. Drop the column, or fit on rows that have values in it."
        )


def draw_gaps(
    model: Model, coded: CodedTable, random: np.random.Generator, n_threads: int
) -> list[Gaps]:
    """Draw values for the missing cells of coded rows.

    Warns of columns whose missing cells cannot be filled.

    Parameters
    ----------
    model : Model
    coded : CodedTable
        The coded rows of the table.
    random : numpy Generator
    n_threads : int

    Returns
    -------
    list of Gaps, one per feature
        Their uncertainty is 0.
    """
    rows = coded.bins[coded.index]
    missing = open_gaps(model, rows) == coded.missing
    step = rows_at_a_time(model)
    for first in range(0, len(rows), step):
        _draw_codes(model, rows[first : first + step], random, n_threads)
    gaps = []
    for j in range(len(model.types)):
        at = np.flatnonzero(missing[:, j])
        gaps.append(_decode_drawn(model, j, at, rows[at, j], random))
    warn_of_open_gaps(gaps)
    return gaps


def _draw_codes(
    model: Model, rows: NDArray[Any], random: np.random.Generator, n_threads: int
) -> None:
    """Write drawn codes into the missing cells of rows."""
    missing = np.iinfo(rows.dtype).max
    for informative in (False, True):
        if informative:
            rows[:] = open_gaps(model, rows)
        for j in np.flatnonzero(model.informative == informative).tolist():
            at = np.flatnonzero(rows[:, j] == missing)
            if not len(at) or not len(model.typical[j].spread):
                continue
            estimates = model.matcher.estimate(CodedTable.of_rows(rows[at]), n_threads)
            shares = find_shares(model, estimates, j)  # one in each of the rows
            rows[at, j] = _draw_bins(shares, random)


def _draw_bins(
    shares: NDArray[np.float64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Draw a bin from each row of probabilities, shape (n_rows,)."""
    reached = np.cumsum(shares, axis=1)
    place = random.random((len(shares), 1)) * reached[:, -1:]
    # The last bin at most, even if the drawn number is rounded up to the sum.
    below: NDArray[np.int64] = (reached[:, :-1] <= place).sum(axis=1)
    return below


def _decode_drawn(
    model: Model,
    j: int,
    rows: NDArray[np.int64],
    picks: NDArray[Any],
    random: np.random.Generator,
) -> Gaps:
    """Turn the drawn bins of a feature into values for its missing cells."""
    column, typical, bins = model.types[j], model.typical[j], model.bins[j]
    none = np.zeros(len(rows))
    if not len(typical.spread):
        return Gaps(column, rows, none[:0], none[:0], none[:0])
    if column.has_labels or not isinstance(bins, NumericBins):
        return Gaps(column, rows, label_bins(column, typical)[picks], none, none)
    means = np.asarray(typical.values, np.float64)
    borders = np.concatenate([[-np.inf], bins.midpoints, [np.inf]])
    inside = np.minimum(means - borders[:-1], borders[1:] - means)
    reach = np.clip(np.sqrt(3) * typical.spread, 0, np.maximum(inside, 0))
    values = means[picks] + reach[picks] * random.uniform(-1, 1, len(rows))
    return Gaps(column, rows, values, none, values)
