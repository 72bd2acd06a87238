"""Find values for the missing cells of coded rows: expected values, or random draws.

The estimates are those of the representation: a distribution over the bins of a feature
for each missing cell. Here they are decoded with the typical values of the bins. A
number is the expected value, or the typical value of the likeliest bin. A category is
the likeliest label.

Missing cells of an informative feature have their own bin, and the kernel does not
estimate them. A filled table needs a value there too. It is estimated as if all such
cells of the row were ordinary missing cells, and the bin for missing is left out.

For random values, a model is first drawn from the sampling distribution of the fitted
model. Then values are drawn for one missing cell of a row after another, in the order
of the columns, each from its estimate. The drawn code is then used like an observed
code for the next cell, so the values drawn for one row are consistent as far as the
matching rule can tell. Cells of informative features come last, because that they are
missing is evidence for the other features. A number is drawn from the quantiles that
are stored for its bins, and moved by the regression on the other numbers of the row
(`NumberModel`); its code is the bin in which it then lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._bins import Typical
from ._cascade import Cascade, build_cascade
from ._coded import CodedTable, Estimates
from ._model import Model
from ._number_model import NumberModel, drop_missing
from ._pairwise import Pairwise, restore_pairwise
from ._shared.resources import run_pieces
from ._shared.wording import join_names, warn_user
from ._table.columns import ColumnType
from ._table.filling import Fill

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
    modes: _Floats  # the mean of the likeliest bin; 0 for labels
    means: _Floats  # the expected value; 0 for labels
    uncertainty: _Floats
    ends: _Floats  # of intervals, shape (n_cells, 2)


def estimate_missing(
    model: Model,
    learned: NumberModel,
    coded: CodedTable,
    strategy: Strategy,
    n_threads: int,
    level: float = 0.0,
) -> list[Fill]:
    """Estimate values for the missing cells of coded rows: a Fill for each feature.

    `level` is the coverage probability of the intervals of numbers; 0 for no intervals.
    """
    parts: list[list[_Decoded]] = [[] for _ in model.types]
    for j, rows, codes, shares in _estimate_shares(model, coded, n_threads):
        parts[j].append(_decode_cells(model, learned, j, rows, codes, shares, level))
    found = []
    for j, own in enumerate(parts):
        fill = _copy_to_rows(model, coded, j, own, strategy, learned)
        found.append(_apply_regression(learned, coded, j, fill, strategy, level))
    return found


def list_chances(
    model: Model, learned: NumberModel, coded: CodedTable, n_threads: int
) -> dict[str, NDArray[Any]]:
    """List the probabilities of the labels of missing cells, row after row.

    By name: row of the table, name of the column, label, and probability. The label
    None stands for all labels that share a bin with a more frequent label, and in a
    column with a single label for any other label.
    """
    none = np.empty(0, np.int64)
    parts: list[tuple[NDArray[Any], ...]] = [
        (none, none, np.empty(0, object), np.empty(0))
    ]
    for j, rows, _, shares in _estimate_shares(model, coded, n_threads):
        if (found := _label_shares(model, learned, j, shares)) is not None:
            labels, chances = found
            parts.append((
                np.repeat(rows, len(labels)), np.full(chances.size, j),
                np.tile(labels, len(rows)), chances.ravel(),
            ))  # fmt: skip
    distinct, features, labels, chances = map(np.concatenate, zip(*parts, strict=True))
    known = (labels != None) | (chances > 0)  # noqa: E711  (of each entry)
    # A distinct row can be several rows of the table.
    order = np.lexsort((features, distinct))
    order = order[known[order]]
    starts = np.searchsorted(distinct[order], np.arange(len(coded.bins) + 1))
    sizes = np.diff(starts)[coded.index]
    rows = np.repeat(np.arange(len(coded.index)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    at = order[np.repeat(starts[coded.index], sizes) + np.arange(len(rows)) - first]
    names = np.array(model.names, object)[features[at]]
    listed = {"row": rows, "column": names, "label": labels[at]}
    return {**listed, "probability": chances[at]}


def list_labels(model: Model, learned: NumberModel) -> list[Any]:
    """List all labels that `list_chances` can give for a row, of all columns."""
    labels: list[Any] = []
    for j, (column, typical) in enumerate(zip(model.types, model.typical, strict=True)):
        if learned.place(j) is None:
            labels += label_bins(column, typical).tolist()
            other = typical.spread.any() or _find_doubt(model, j)
            labels += [None] if other else []
        elif column.form == "boolean":
            labels += [False, True]
    return labels


def _label_shares(
    model: Model, learned: NumberModel, j: int, shares: _Floats
) -> tuple[NDArray[np.object_], _Floats] | None:
    """Return the labels of a feature, and their probabilities in each missing cell.

    Returns None for numbers and times, which have no labels.
    """
    column, typical = model.types[j], model.typical[j]
    t = learned.place(j)
    if t is None:
        spread = typical.spread + _find_doubt(model, j)
        chances = shares * (1 - spread)
        other = (shares * spread).sum(axis=1)
        labels = np.append(label_bins(column, typical), np.array([None]))
        return labels, np.column_stack([chances, other])
    if column.form != "boolean":
        return None
    true = (shares * learned.means[t, : shares.shape[1]]).sum(axis=1)
    doubt = _find_doubt(model, j)
    true = np.clip(true, doubt, 1 - doubt)
    return np.array([False, True], object), np.column_stack([1 - true, true])


def _find_doubt(model: Model, j: int) -> float:
    """Find the probability of another label where all N observed ones are equal.

    This is ``1 / (N + 2)``, by the rule of succession; 0 for other columns.
    """
    totals = model.totals_by_feature[j][: model.bins[j].n_bins]
    lone = len(totals) == 1 and not model.typical[j].spread.any()
    return float(1 / (totals[0] + 2)) if lone else 0.0


def rows_at_a_time(model: Model) -> int:
    """Compute how many rows to estimate together, to limit memory."""
    return max(1, min(_MOST_ROWS, _MOST_SHARES // max(1, int(model.n_bins.sum()))))


def _estimate_shares(
    model: Model, coded: CodedTable, n_threads: int
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[Any], _Floats]]:
    """Yield estimates of the missing cells of distinct rows, feature by feature.

    Yields the feature; the distinct rows in which it is missing, ascending; their
    codes, as used for the estimates; and the probabilities of the feature's bins
    without the bin for missing, of shape (n_cells, n_bins).
    """
    step = rows_at_a_time(model)
    informative = np.flatnonzero(model.informative)
    for first in range(0, len(coded.bins), step):
        rows = coded.bins[first : first + step]
        found = model.matcher.estimate(CodedTable.of_rows(rows), n_threads)
        for j, cells, shares in _split_features(model, found, range(len(model.types))):
            yield j, cells + first, rows[cells], shares
        own_bin = rows[:, informative] == (model.n_bins - 1)[informative]
        some = np.flatnonzero(own_bin.any(axis=1))
        if len(some):  # informative features, which were not estimated above
            opened = CodedTable.of_rows(open_missing(model, rows[some]))
            found = model.matcher.estimate(opened, n_threads)
            again = _split_features(model, found, informative.tolist())
            for j, cells, shares in again:
                yield j, some[cells] + first, opened.bins[cells], shares


def _split_features(
    model: Model, estimates: Estimates, features: Iterable[int]
) -> Iterator[tuple[int, NDArray[np.int64], _Floats]]:
    """Yield each feature with missing cells, their rows and their distributions."""
    order = np.argsort(estimates.feature, kind="stable")
    ends = np.searchsorted(estimates.feature[order], np.arange(len(model.types) + 1))
    for j in features:
        cells = order[ends[j] : ends[j + 1]]
        if len(cells) and len(model.typical[j].spread):
            rows = np.searchsorted(estimates.row_start, cells, side="right") - 1
            shares = estimates.of_cells(cells, int(model.n_bins[j]))
            yield j, rows, drop_missing(model, j, shares)


def _decode_cells(
    model: Model,
    learned: NumberModel,
    j: int,
    rows: NDArray[np.int64],
    codes: NDArray[Any],
    shares: _Floats,
    level: float,
) -> _Decoded:
    """Decode distributions over bins to picks, means, uncertainty and intervals."""
    picks = shares.argmax(axis=1)
    t = learned.place(j)
    if t is None:
        # The likeliest label, and the probability of any other.
        chances = shares * (1 - model.typical[j].spread - _find_doubt(model, j))
        none, unsure = np.zeros((len(rows), 2)), 1 - chances.max(axis=1)
        picks = chances.argmax(axis=1)
        zeros = none[:, 0]
        return _Decoded(rows, picks, zeros, zeros, np.clip(unsure, 0, 1), none)
    values, spread = learned.find_moments(t, codes, shares.shape[1])
    means, deviation = _average_bins(shares, values, spread)
    if model.types[j].form == "boolean" and (doubt := _find_doubt(model, j)):
        means = np.clip(means, doubt, 1 - doubt)
        deviation = np.sqrt(means * (1 - means))
    ends = np.zeros((len(rows), 2))
    if level > 0:
        for k, place in enumerate(((1 - level) / 2, (1 + level) / 2)):
            places = np.full(len(rows), place)
            ends[:, k] = learned.find_quantiles(t, codes, shares, places)[0]
        ends.sort(axis=1)  # a label may have moved only one of them, past the other
    modes = values[np.arange(len(rows)), picks]
    return _Decoded(rows, picks, modes, means, deviation, ends)


def _average_bins(
    shares: _Floats, values: _Floats, spread: _Floats
) -> tuple[_Floats, _Floats]:
    """Compute mean and standard deviation of mixtures of bins, one mixture per row."""
    means = (shares * values).sum(axis=1)  # in BLAS, rounding depends on the row count
    widest = np.maximum(np.abs(values), spread).max(axis=1, keepdims=True)
    scale = np.maximum(widest, _TINY)  # squares of unscaled numbers could overflow
    apart = (values / scale - means[:, None] / scale) ** 2 + (spread / scale) ** 2
    with np.errstate(over="ignore"):  # a model file can have any spread
        deviations = np.sqrt((shares * apart).sum(axis=1)) * scale[:, 0]
    return means, deviations


def open_missing(model: Model, rows: NDArray[Any]) -> NDArray[Any]:
    """Replace the codes of informative missing cells by the code of a missing cell."""
    out = np.array(rows)
    for j in np.flatnonzero(model.informative):
        out[rows[:, j] == model.n_bins[j] - 1, j] = np.iinfo(rows.dtype).max
    return out


def _copy_to_rows(
    model: Model,
    coded: CodedTable,
    j: int,
    parts: Sequence[_Decoded],
    strategy: Strategy,
    learned: NumberModel,
) -> Fill:
    """Copy the decoded values of distinct rows to the rows of the table, as a Fill."""
    column, typical, t = model.types[j], model.typical[j], learned.place(j)
    missing = coded.bins[:, j] == coded.missing
    if model.informative[j]:
        missing |= coded.bins[:, j] == model.n_bins[j] - 1
    rows = np.flatnonzero(missing[coded.index])
    if not parts:
        return Fill(column, rows, np.empty(0), np.empty(0), np.empty(0))
    held = np.concatenate([one.rows for one in parts])
    at = np.searchsorted(held, coded.index[rows])
    means, picks, modes, uncertainty, ends = (
        np.concatenate([getattr(one, name) for one in parts])[at]
        for name in ("means", "picks", "modes", "uncertainty", "ends")
    )
    if t is None:
        values = label_bins(column, typical)[picks]
    else:
        values = means if strategy == "mean" else modes
    return Fill(column, rows, values, uncertainty, means, ends)


def _apply_regression(
    learned: NumberModel,
    coded: CodedTable,
    j: int,
    fill: Fill,
    strategy: Strategy,
    level: float,
) -> Fill:
    """Add the predicted residuals to numbers, and reduce their uncertainty."""
    t = learned.place(j)
    if t is None or not fill.fillable or fill.is_boolean:
        return fill
    index = coded.index[fill.rows]

    def read(s: int) -> tuple[_Floats, NDArray[Any]]:
        i = int(learned.features[s])
        return coded.columns[i].values[fill.rows], coded.bins[index, i]

    shift, left = learned.predict(t, read, fill.uncertainty)
    means = np.clip(fill.means + shift, learned.low[t], learned.high[t])
    unsure = fill.uncertainty * np.sqrt(left)
    values = means if strategy == "mean" else fill.values
    ends = learned.compute_intervals(t, means, unsure, level) if level > 0 else None
    ends = fill.ends if ends is None else ends
    return replace(fill, values=values, means=means, ends=ends, uncertainty=unsure)


def label_bins(column: ColumnType, typical: Typical) -> NDArray[np.object_]:
    """Return the label to which each bin is decoded."""
    labels: Sequence[Any] = tuple(typical.values)
    if column.order is not None:
        labels = [column.order[int(rank)] for rank in labels]
    return np.fromiter(labels, object, len(labels))


def warn_of_unfilled(fills: Sequence[Fill]) -> None:
    """Warn of the columns whose missing cells cannot be filled, if any."""
    left = [one.type.place for one in fills if len(one.rows) and not one.fillable]
    if left:
        warn_user(
            f"{join_names(left)} had no observed value at fit, so these missing cells "
            "are not filled. Drop the column, or fit on rows in which it has values."
        )


def draw_missing(
    model: Model,
    learned: NumberModel,
    coded: CodedTable,
    random: np.random.Generator,
    n_threads: int,
) -> list[Fill]:
    """Draw values for the missing cells of coded rows: a Fill for each feature."""
    rows = coded.bins[coded.index]
    missing = open_missing(model, rows) == coded.missing
    numbers = {
        s: np.array(coded.columns[j].values, np.float64)
        for s, j in enumerate(learned.features.tolist())
    }
    model, learned = draw_model(model, learned, random)
    for informative in (False, True):
        if informative:
            rows[:] = open_missing(model, rows)
        for j in np.flatnonzero(model.informative == informative).tolist():
            at = np.flatnonzero(missing[:, j])
            if len(at) and len(model.typical[j].spread):
                _draw_feature(model, learned, rows, numbers, j, at, random, n_threads)
    fills = []
    for j, (column, typical) in enumerate(zip(model.types, model.typical, strict=True)):
        at, t = np.flatnonzero(missing[:, j]), learned.place(j)
        values = unsure = np.zeros(len(at) if len(typical.spread) else 0)
        if len(typical.spread):  # something was observed at fit
            codes = rows[at, j]
            values = label_bins(column, typical)[codes] if t is None else numbers[t][at]
        fills.append(Fill(column, at, values, unsure, unsure if t is None else values))
    return fills


def _draw_feature(
    model: Model, learned: NumberModel, rows: NDArray[Any],
    numbers: dict[int, _Floats], j: int, at: NDArray[np.int64],
    random: np.random.Generator, n_threads: int,
) -> None:  # fmt: skip
    """Draw the missing cells of a feature; write their codes and numbers in place."""
    codes, shares = rows[at], np.empty((len(at), int(model.n_bins[j])))

    def estimate_some(first: int, last: int) -> None:
        own = model.matcher.estimate_features(codes[first:last], [j])
        shares[first:last] = own[0]

    run_pieces(estimate_some, len(at), rows_at_a_time(model), n_threads)
    shares = drop_missing(model, j, shares)
    t = learned.place(j)
    places = random.random(len(at))
    if t is None:
        rows[at, j] = _pick_bins(shares, places)
        return
    found, frequent = learned.find_quantiles(t, codes, shares, places)
    moments = learned.find_moments(t, codes, shares.shape[1])
    expected, deviations = _average_bins(shares, *moments)

    def read(s: int) -> tuple[_Floats, NDArray[Any]]:
        return numbers[s][at], codes[:, learned.features[s]]

    shift, left = learned.predict(t, read, deviations)
    drawn = expected + shift + np.sqrt(left) * (found - expected)
    drawn = np.where(frequent, found, drawn)
    drawn = np.clip(drawn, learned.low[t], learned.high[t])
    numbers[t][at] = drawn
    rows[at, j] = np.searchsorted(model.bins[j].midpoints, drawn)  # type: ignore[union-attr]


def _pick_bins(shares: _Floats, places: _Floats) -> NDArray[np.int64]:
    """Invert the cumulative distributions over bins at `places`, shape (n_rows,)."""
    reached = np.cumsum(shares, axis=1)
    # The last bin at most, even if the place is rounded up to the sum.
    below = reached[:, :-1] <= places[:, None] * reached[:, -1:]
    return np.asarray(below.sum(axis=1))


def draw_model(
    model: Model, learned: NumberModel, random: np.random.Generator
) -> tuple[Model, NumberModel]:
    """Draw a model from the sampling distribution of the fitted model.

    Counts are drawn from Poisson distributions; the means of bins and the slopes of the
    number model are drawn from normal distributions with their standard errors.
    """
    rule: Any = model.matcher
    draw = _draw_pairwise if isinstance(rule, Pairwise) else _draw_cascade
    drawn = replace(model, matcher=draw(rule, random))
    return drawn, _draw_numbers(model, learned, random)


def _draw_pairwise(matcher: Pairwise, random: np.random.Generator) -> Pairwise:
    """Draw the counts of codes and pairs from Poisson distributions."""
    seen = matcher.counts
    pairs = random.poisson(np.triu(seen.pairs) if seen.pairs.ndim == 2 else seen.pairs)
    if seen.pairs.ndim == 2:  # symmetric
        pairs += np.triu(pairs, 1).T
    totals, marginals = random.poisson(seen.totals), random.poisson(seen.marginals)
    counts = replace(seen, pairs=pairs, totals=totals, marginals=marginals)
    starts = np.cumsum(seen.n_bins) - seen.n_bins
    for old, new in ((seen.totals, totals), (seen.marginals, marginals)):
        for first, size in zip(starts.tolist(), seen.n_bins.tolist(), strict=True):
            if not new[first : first + size].any():  # possible with few rows
                new[first : first + size] = old[first : first + size]
    return restore_pairwise(counts, matcher.smoothing, matcher.weights)


def _draw_cascade(matcher: Cascade, random: np.random.Generator) -> Cascade:
    """Draw the counts of the fitted rows from Poisson distributions."""
    maps = matcher.bitmaps
    counts = random.poisson(maps.counts)
    some = counts > 0
    if not some.any():
        return matcher
    return build_cascade(maps.rows[some], counts[some], maps.n_bins)


def _draw_numbers(
    model: Model, learned: NumberModel, random: np.random.Generator
) -> NumberModel:
    """Draw the means of bins and the slopes, by their standard errors."""
    totals = np.ones(learned.means.shape)
    for s, j in enumerate(learned.features.tolist()):
        own = model.totals_by_feature[j][: len(model.typical[j].spread)]
        totals[s, : len(own)] = np.maximum(own, 1)
    shift = learned.spreads / np.sqrt(totals) * random.normal(size=totals.shape)
    flat = np.diff(learned.quantiles, axis=2) == 0  # frequent values stay
    ends = np.pad(flat, ((0, 0), (0, 0), (1, 1)))
    at_flat = ends[..., 1:] | ends[..., :-1]
    moved = learned.quantiles + np.where(at_flat, 0, shift[..., None])
    next_flat = np.where(at_flat, learned.quantiles, np.inf)[..., ::-1]
    moved = np.minimum(moved, np.minimum.accumulate(next_flat, axis=2)[..., ::-1])
    quantiles = np.maximum.accumulate(moved, axis=2)
    low, high = learned.low[:, None, None], learned.high[:, None, None]
    quantiles = np.clip(quantiles, low, high)
    errors = learned.errors * random.normal(size=learned.errors.shape[:2])[:, None]
    slopes = learned.slopes + errors.sum(axis=2).reshape(learned.slopes.shape)
    # Where a label decides the number, the mean of the bin does not matter.
    offsets = learned.label_offsets - shift[:, None] * (1 - learned.label_ratios)
    return replace(
        learned, means=learned.means + shift, label_offsets=offsets,
        quantiles=quantiles, slopes=slopes,
    )  # fmt: skip
