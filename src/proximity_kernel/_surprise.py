"""How surprising each observed cell of a row is, given the other cells of the row.

The pairwise rule estimates every observed cell from the other observed cells of its
row, as if it were missing: P is its distribution over the bins. The row itself is taken
out of the counts of pairs, where these contain a row like it. So a row has the same
score whether it was fitted or is new, and no row is evidence for itself. A code that
has come with one bin in all other rows decides, as in `_pairwise`; so does one whose
only exception is a row like the one that is judged.

- The *surprise* of a cell is ``-log P(own bin)``. A category or bin that no fitted row
  has counts as one that had been seen once.
- The *expected surprise* is the mean of this under P, its entropy.
- The *tail* of a number is how far it lies beyond the central 80 % of its column, in
  units of an exponential distribution that has the median of the values beyond on that
  side. A column with a long tail has a large unit, so it is not full of alarms.
- The *score* of a cell is what surprise and tail exceed the expected surprise by, less
  1, and at least 0. So a cell scores if it is e times less likely than expected, and
  many ordinary cells do not add up to an unusual row.
- The score of a row is the sum of the scores of its cells.

What the model itself expects of these scores is known by drawing: each cell of a fitted
row is replaced by one drawn from its P, and its place in the tail by a random one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._bins import FEW_ROWS, LazySorted, SortedValues, count_values
from ._coded import CodedTable, code_columns
from ._compile import compiled, merged
from ._model import Model
from ._pairwise import (
    DECIDES,
    Evidence,
    PairCounts,
    Pairwise,
    lay_out_evidence,
    weigh,
)
from ._row_summary import RowPlan, keep_rows
from ._shared.resources import check_memory, run_pieces
from ._table.columns import Column, ColumnType

TAIL = 0.1
"""Share of the values of a column that are in each of its tails."""
SLACK = 1.0
"""By how much a cell may exceed what is expected before it scores."""
MARKS = (950, 990, 999)
"""Per mille of the rows that a value is compared with, from either end."""
FALSE_ALARMS = 0.01
"""Share of the rows drawn from the model that lie beyond the automatic limit."""
_LEAST_UNIT = 0.1  # of the central range; a uniform distribution has 0.09
_FEWEST_BEYOND = 10  # values from which the unit of a tail is learned
_MOST_TAIL = 1e12  # keeps sums finite
_PIECE = 4096  # rows
_N_DRAWN = 20_000  # rows drawn from the model
_MOST_DRAWN = 1 << 31  # evidence added up for them
_FEWEST_DRAWN = 1000
_TINY = 1e-12
_LANES = 8  # bins whose evidence is added up at once
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tails:
    """The tails of the columns of a table.

    Attributes
    ----------
    ends : ndarray of shape (n_features, 2), float64
        The ends of the central 80 % of each column; NaN if it has no tails.
    units : ndarray of shape (n_features, 2), float64
        The unit of the lower and of the upper tail.
    marks : ndarray of shape (n_features, 2, n_marks), float64
        Values that nearly all others are above, or below.
    """

    ends: _Floats
    units: _Floats
    marks: _Floats

    def measure(self, j: int, values: NDArray[Any]) -> _Floats:
        """Measure how far values of feature j lie in a tail; 0 if they do not."""
        if np.isnan(self.ends[j, 0]):
            return np.zeros(len(values))
        with np.errstate(over="ignore"):
            below = (self.ends[j, 0] - values) / self.units[j, 0]
            above = (values - self.ends[j, 1]) / self.units[j, 1]
        far = np.fmax(np.fmax(below, above), 0.0)  # a missing cell has no tail
        return np.asarray(np.minimum(far, _MOST_TAIL))

    def compare(self, j: int, value: float) -> tuple[str, int]:
        """Say on which side of how many rows, in per mille, a value lies."""
        above = int(np.count_nonzero(value > self.marks[j, 1]))
        below = int(np.count_nonzero(value < self.marks[j, 0]))
        if above or below:
            return ("above", MARKS[above - 1]) if above else ("below", MARKS[below - 1])
        return "", 0


def has_tails(column: ColumnType) -> bool:
    """Whether a column is measured: numbers and times, not labels or booleans."""
    is_number = column.kind == "numeric" and column.order is None
    return is_number and column.form != "boolean"


def learn_tails(columns: Sequence[Column], copies: NDArray[Any] | None = None) -> Tails:
    """Learn the tails of typed columns; row i counts ``copies[i]`` times."""
    return collect_tails([_order(column, copies) for column in columns])


def collect_tails(columns: Sequence[SortedValues | None]) -> Tails:
    """Learn the tails of columns whose values can be read in order.

    Parameters
    ----------
    columns : sequence of ValueCounts, LazySorted or None
        None for a column that is not measured.

    Returns
    -------
    Tails

    Examples
    --------
    >>> tails = collect_tails([count_values(np.arange(101.0)), None])
    >>> tails.ends[0].tolist(), (tails.units[0] * np.log(2)).tolist()
    ([10.0, 90.0], [6.0, 6.0])
    >>> tails.measure(0, np.array([50.0, 90 + 6.0])).round(2).tolist()
    [0.0, 0.69]
    """
    found = [_learn_tail(column) for column in columns]
    ends, units, marks = zip(*found, strict=True)
    return Tails(np.array(ends), np.array(units), np.array(marks))


def _order(column: Column, copies: NDArray[Any] | None) -> SortedValues | None:
    if not has_tails(column.type):
        return None
    values = column.values + 0.0  # a contiguous copy, without -0.0
    if copies is not None:
        some = (copies > 0) & ~np.isnan(values)
        return count_values(values[some], copies[some])
    if len(values) <= FEW_ROWS:
        return count_values(values[~np.isnan(values)])
    return LazySorted(values)


def _learn_tail(
    values: SortedValues | None,
) -> tuple[list[float], list[float], list[list[float]]]:
    """Find the ends, the units and the marks of one column."""
    nan = [np.nan] * 2, [np.nan] * 2, [[np.nan] * len(MARKS)] * 2
    if values is None or not len(values) or values.few(2) is not None:
        return nan
    n = len(values)
    inside = 9 * (n - 1) // 10
    low, high = values.at([n - 1 - inside, inside]).tolist()
    first, last = values.span(low)[0], values.span(high)[1]
    least, most = values.at([0, n - 1]).tolist()
    with np.errstate(over="ignore"):
        if first:
            lower = low - values.at([(first - 1) // 2])[0]
        if last < n:
            upper = values.at([(last + n) // 2])[0] - high
        usual = (high - low) or (most - least)
        units = [
            _choose_unit(lower if first else None, first, usual),
            _choose_unit(upper if last < n else None, n - last, usual),
        ]
    if not np.isfinite(units).all():  # near the limits of float64
        return nan
    places = [-(-n * mark // 1000) - 1 for mark in MARKS]
    marks = [values.at([n - 1 - at for at in places]), values.at(places)]
    return [low, high], units, [own.tolist() for own in marks]


def _choose_unit(excess: float | None, n_beyond: int, usual: float) -> float:
    """Choose the unit of a tail: by its median, at least a tenth of the usual range.

    In few values the median is uncertain, and rounded ones have ties. If few values lie
    beyond, they could all be errors that hide themselves: the unit is then at most the
    usual range.
    """
    unit = usual if excess is None else max(excess / np.log(2), _LEAST_UNIT * usual)
    return float(unit if n_beyond >= _FEWEST_BEYOND else min(unit, usual))


class Decisions(NamedTuple):
    """The codes that decide a feature, with the row that is judged left out.

    The features with such codes for feature j are the entries from ``start[j]`` up to
    ``start[j + 1]``. What a code of the feature at entry t decides is at ``first[t]``
    plus the place of the code.
    """

    start: _Ints  # (n_features + 1,)
    source: _Ints  # (n_entries,) features
    first: _Ints  # (n_entries,)
    support: _Ints  # in how many rows the code came with the bin; 0: it decides nothing
    bins: _Ints  # the bin
    exception: _Ints  # the bin of the only other row with the code; -1: there is none


def find_decisions(counts: PairCounts, layout: Evidence) -> Decisions:
    """Find the codes that have come with one bin of a feature, with one exception.

    Parameters
    ----------
    counts : PairCounts
    layout : Evidence

    Returns
    -------
    Decisions
    """
    start, source, first = [0], [], []
    tables: list[NDArray[Any]] = [np.empty((3, 0), np.int64)]
    size = 0
    for j, n_bins in enumerate(counts.n_bins.tolist()):
        for i, pairs in _list_pairs(counts, layout, j) if n_bins else ():
            support, bins, exception = _find_rule(pairs)
            prior = layout.prior[layout.offsets[j] + bins]
            sure = -support * np.log(np.where(prior > 0, prior, 1)) > DECIDES
            if sure.any():
                tables.append(np.stack([np.where(sure, support, 0), bins, exception]))
                source.append(i)
                first.append(size)
                size += len(pairs)
        start.append(len(source))
    whole = np.concatenate(tables, axis=1).astype(np.int64)
    return Decisions(
        np.array(start, np.int64), np.array(source, np.int64),
        np.array(first, np.int64), *np.ascontiguousarray(whole),
    )  # fmt: skip


def _list_pairs(
    counts: PairCounts, layout: Evidence, j: int
) -> Iterator[tuple[int, _Ints]]:
    """List each source of feature j with the counts of its codes by the bins of j."""
    n_bins = counts.n_bins
    if counts.sources is None:
        own = slice(layout.offsets[j], layout.offsets[j] + n_bins[j])
        for i in np.flatnonzero(n_bins).tolist():
            if i != j:
                at = layout.offsets[i]
                yield i, counts.pairs[at : at + n_bins[i], own]
    elif layout.n_places[j] == n_bins[j]:  # all codes of the feature are kept
        for s, i in enumerate(counts.sources[j].tolist()):
            yield i, counts.pairs[j, s, : layout.n_places[i], : n_bins[j]]


def _find_rule(pairs: _Ints) -> tuple[_Ints, _Ints, _Ints]:
    """Find the most frequent bin of each code, and the bin of the only exception."""
    at = np.arange(len(pairs))
    bins = pairs.argmax(axis=1)
    support = pairs[at, bins]
    others = pairs.copy()
    others[at, bins] = 0
    n_others = others.sum(axis=1)
    alone = (n_others > 0) & (n_others <= 1)  # of a fraction of a row, too
    exception = np.where(alone, others.argmax(axis=1), -1)
    return np.where(n_others <= 1, support, 0), bins, exception


@dataclass(frozen=True)
class Judge:
    """The pairwise rule, laid out to judge cells.

    Attributes
    ----------
    evidence : Evidence
        The layout of the evidence.
    told, taken : ndarray, float64
        The values of the evidence times their weights; and what is added to them if one
        row with that pair of codes is left out.
    logs : ndarray of shape (total bins,), float64
        Logarithms of the priors.
    unseen : ndarray of shape (n_features,), float64
        The surprise of a category or bin that no fitted row has.
    decisions : Decisions
    """

    evidence: Evidence
    told: _Floats
    taken: _Floats
    logs: _Floats
    unseen: _Floats
    decisions: Decisions

    @classmethod
    def of_model(cls, model: Model) -> Judge:
        """Lay out the rule of a model."""
        rule = model.matcher
        if not isinstance(rule, Pairwise):
            raise TypeError("Only the pairwise rule judges cells.")
        evidence, counts = rule.evidence, rule.counts
        _, without = weigh(counts, lay_out_evidence(counts), rule.smoothing)
        weights = _spread_weights(rule)
        told = np.append(weights * evidence.values, np.zeros(_LANES))
        taken = weights * (without - evidence.values)
        with np.errstate(divide="ignore"):
            logs = np.log(evidence.prior)
        observed = np.array([own.sum() for own in model.totals_by_feature])
        return cls(
            evidence, told, taken, logs, np.log(observed + 1.0),
            find_decisions(counts, evidence),
        )  # fmt: skip

    def make_room(self) -> tuple[_Ints, _Floats]:
        """Allocate scratch memory for the loops."""
        n_features = len(self.evidence.n_bins)
        room = int(self.evidence.n_bins.max(initial=1)) + _LANES
        return np.empty((2, n_features), np.int64), np.empty((2, room))

    def judge(self, rows: NDArray[Any]) -> tuple[_Floats, _Floats]:
        """Find the surprise of each cell of coded rows, and the expected surprise.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)

        Returns
        -------
        surprise, expected : ndarray of shape (n_rows, n_features)
            0 for a missing cell.
        """
        surprise, expected = np.zeros((2, *rows.shape))
        judge_rows(
            rows, self.evidence, self.told, self.taken, self.logs, self.decisions,
            self.unseen, *self.make_room(), surprise, expected,
        )  # fmt: skip
        return surprise, expected

    def explain(self, row: NDArray[Any], j: int) -> tuple[_Floats, _Floats]:
        """Estimate one cell of a coded row, and find what the other cells add.

        Parameters
        ----------
        row : ndarray of shape (n_features,)
        j : int
            Feature of the cell.

        Returns
        -------
        shares : ndarray of shape (n_bins,)
            The distribution of the cell.
        told : ndarray of shape (n_features,)
            How much each other cell moves the odds from the cell's own bin to the
            likeliest one, in logarithms.
        """
        e = self.evidence
        start, n_bins = int(e.offsets[j]), int(e.n_bins[j])
        place, own = e.place[start : start + n_bins], int(row[j])
        by_source = np.zeros((len(row), n_bins))
        for m in range(int(e.source_start[j]), int(e.source_start[j + 1])):
            i = int(e.source[m])
            if row[i] >= e.n_bins[i] or e.place[e.offsets[i] + row[i]] < 0:
                continue
            at = int(e.base[m] + e.place[e.offsets[i] + row[i]] * e.stride)
            held = np.where(place >= 0, self.told[at + np.maximum(place, 0)], 0.0)
            if own < n_bins and place[own] >= 0:
                held[own] += self.taken[at + place[own]]
            by_source[i] = held
        logits = self.logs[start : start + n_bins] + by_source.sum(axis=0)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        likeliest = int(shares.argmax())
        told = by_source[:, likeliest] - (by_source[:, own] if own < n_bins else 0.0)
        support, decided, source = self._decide(row, j)
        if support:
            shares /= support + 2
            shares[decided] += 1 - 1 / (support + 2)
            told = np.where(np.arange(len(row)) == source, np.log(support + 2.0), 0.0)
        return shares, told

    def is_confirmed(self, row: NDArray[Any], j: int) -> bool:
        """Whether one other cell of a coded row decides for the bin of cell j.

        Other cells may speak against it, or even decide for another bin.
        """
        e, d, places = self.evidence, self.decisions, self._find_places(row)
        for t in range(int(d.start[j]), int(d.start[j + 1])):
            at = d.first[t] + places[d.source[t]]
            if places[d.source[t]] >= 0 and d.bins[at] == row[j]:
                surprise = -(d.support[at] - 1) * self.logs[e.offsets[j] + row[j]]
                if d.exception[at] < 0 and surprise > DECIDES:
                    return True
        return False

    def _find_places(self, row: NDArray[Any]) -> _Ints:
        """Find the place of each code of a row among those that are counted, or -1."""
        e, places = self.evidence, np.full(len(row), -1)
        for i in np.flatnonzero(row < e.n_bins).tolist():
            places[i] = e.place[e.offsets[i] + row[i]]
        return places

    def _decide(self, row: NDArray[Any], j: int) -> tuple[int, int, int]:
        """Find how many rows decide a cell, for which bin, and by which feature."""
        e, places = self.evidence, self._find_places(row)
        found: tuple[int, int, int] = decide_cell(
            self.decisions, self.logs, int(e.offsets[j]), j, int(row[j]), places
        )
        return found


def _spread_weights(rule: Pairwise) -> _Floats:
    """Give each value of the evidence its weight."""
    n_bins, sources = rule.counts.n_bins, rule.counts.sources
    if sources is None:
        by_pair = rule.weight_table.toarray().T
        return np.repeat(np.repeat(by_pair, n_bins, axis=0), n_bins, axis=1).ravel()
    shape = rule.counts.pairs.shape
    weights = rule.weights.reshape(sources.shape)[..., None, None]
    return np.broadcast_to(weights, shape).ravel()


def score_cells(coded: CodedTable, tails: Tails, n_threads: int) -> _Floats:
    """Score every cell of coded rows.

    Parameters
    ----------
    coded : CodedTable
        With its columns and its model.
    tails : Tails
    n_threads : int

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        0 for a cell that is missing or no more surprising than expected.
    """
    shape = len(coded), coded.bins.shape[1]
    check_memory(8 * shape[0] * shape[1], "The scores of the cells")
    cells, judge = np.empty(shape), Judge.of_model(coded.model)

    def score_some(first: int, last: int) -> None:
        cells[first:last] = _score_piece(judge, coded, tails, first, last)

    run_pieces(score_some, shape[0], _PIECE, n_threads)
    return cells


def score_rows(coded: CodedTable, tails: Tails, n_threads: int) -> _Floats:
    """Score rows: the sums of `score_cells`, without keeping the cells."""
    scores, judge = np.empty(len(coded)), Judge.of_model(coded.model)

    def score_some(first: int, last: int) -> None:
        piece = _score_piece(judge, coded, tails, first, last)
        scores[first:last] = piece.sum(axis=1)

    run_pieces(score_some, len(coded), _PIECE, n_threads)
    return scores


def _score_piece(
    judge: Judge, coded: CodedTable, tails: Tails, first: int, last: int
) -> _Floats:
    rows = coded.bins[coded.index[first:last]]
    cells, expected = judge.judge(rows)
    cells -= expected
    for j, column in enumerate(coded.columns):
        if not np.isnan(tails.ends[j, 0]):
            cells[:, j] += tails.measure(j, column.values[first:last])
    cells -= SLACK
    np.maximum(cells, 0, out=cells)
    cells *= coded.model.scales
    return cells


def sample_fitted(
    coded: CodedTable, seed: int, n_threads: int, copies: NDArray[Any] | None = None
) -> CodedTable:
    """Sample the distinct rows that a fit in batches keeps, with their counts.

    Row i of the table counts ``copies[i]`` times.
    """
    model: Model = coded.model
    n_bins = np.array([own.n_bins for own in model.bins], np.int64)
    rows = CodedTable.of_rows(coded.bins[coded.index])
    if model.informative.any():  # code again, because the sample goes by these codes
        rows = code_columns(coded.columns, model.bins, n_threads)
    if copies is not None:
        some = np.flatnonzero(copies)
        rows = rows.take(some).repeat(copies[some])
    kept = keep_rows(rows, RowPlan(n_bins, False, seed=seed), n_threads)
    return take_sample(model, kept.rows, kept.counts)


def take_sample(model: Model, rows: NDArray[Any], counts: _Ints) -> CodedTable:
    """Code the rows that a fit kept, with their counts."""
    coded = model.take_codes(CodedTable.of_rows(rows))
    return CodedTable(coded.bins, counts, coded.index, model=model)


def find_limit(sample: CodedTable, tails: Tails, n_threads: int) -> float:
    """Find the threshold that the share FALSE_ALARMS of simulated rows exceeds.

    Parameters
    ----------
    sample : CodedTable
        Fitted rows with their counts.
    tails : Tails
    n_threads : int

    Returns
    -------
    float
        The score that the share `FALSE_ALARMS` of the drawn rows exceeds.
    """
    model: Model = sample.model
    judge, n_rows = Judge.of_model(model), len(sample.bins)
    e = judge.evidence
    cost = int((np.diff(e.source_start) * e.n_places).sum()) + 1
    wanted = max(_FEWEST_DRAWN, min(_N_DRAWN, _MOST_DRAWN // cost))
    at = np.arange(wanted) % n_rows
    scores = np.empty(len(at))
    before, width = _place_bins(model, tails)

    def draw_some(first: int, last: int) -> None:
        rng = np.random.default_rng(first)
        some = sample.bins[at[first:last]]
        draw_rows(
            some, e, judge.told, judge.taken, judge.logs, judge.decisions,
            model.scales, before, width, rng.random((*some.shape, 2)),
            *judge.make_room(), scores[first:last],
        )  # fmt: skip

    run_pieces(draw_some, len(at), _PIECE, n_threads)
    weights = sample.counts[at]
    order = np.argsort(-scores, kind="stable")
    beyond = np.cumsum(weights[order])
    place = int(np.searchsorted(beyond, FALSE_ALARMS * beyond[-1], side="right"))
    return float(scores[order[place]])


def _place_bins(model: Model, tails: Tails) -> tuple[_Floats, _Floats]:
    """Find the share of a column's values below each bin, and in it.

    Returns
    -------
    before, width : ndarray of shape (total bins,), float64
        The width is 0 for a bin that is not of numbers with tails.
    """
    before, width = [], []
    for j, (totals, bins) in enumerate(
        zip(model.totals_by_feature, model.bins, strict=True)
    ):
        share = totals.astype(np.float64)
        share[bins.n_bins :] = 0  # missing
        share *= 0 if np.isnan(tails.ends[j, 0]) else 1 / max(share.sum(), 1)
        before.append(np.cumsum(share) - share)
        width.append(share)
    return np.concatenate(before), np.concatenate(width)


@merged
def _find_places(e: Evidence, rows: NDArray[Any], r: int, places: Any) -> None:
    """Find the places of the codes of a row; -1 for none."""
    for i in range(rows.shape[1]):
        code = np.int64(rows[r, i])
        places[i] = -1
        if code < e.n_bins[i]:
            places[i] = e.place[e.offsets[i] + code]


@compiled
def decide_cell(
    decisions: Decisions, logs: Any, offset: int, j: int, own: Any, places: Any
) -> Any:
    """Find how many other rows decide a cell, for which bin, and by which feature.

    The code of the cell is `own`, and ``logs[offset]`` the logarithm of the prior of
    the feature's first bin. The number of rows is 0 if nothing decides.
    """
    d, support, decided, source = decisions, 0, 0, -1
    for t in range(d.start[j], d.start[j + 1]):
        if places[d.source[t]] < 0:
            continue
        at = d.first[t] + places[d.source[t]]
        found, b = d.support[at], d.bins[at]
        if d.exception[at] >= 0 and d.exception[at] != own:
            continue
        if own == b:  # without the row itself
            found -= 1
            if -found * logs[offset + b] <= DECIDES:
                continue
        if found > support:
            support, decided, source = found, b, d.source[t]
    return support, decided, source


@merged
def _estimate_cell(
    e: Evidence, told: Any, taken: Any, logs: Any, decisions: Decisions, j: int,
    own: Any, places: Any, total: Any, logit: Any,
) -> Any:  # fmt: skip
    """Write the logarithms of the shares of the bins of a cell.

    The code of the cell is `own`; if it is not a bin, no row is left out. Returns the
    expected surprise.
    """
    n_bins, offset, lines = e.n_bins[j], e.offsets[j], places[1]
    held = -1
    if own < n_bins:
        held = e.place[offset + own]
    n_lines, less = 0, 0.0
    for m in range(e.source_start[j], e.source_start[j + 1]):
        place = places[0, e.source[m]]
        if place >= 0:
            lines[n_lines] = e.base[m] + place * e.stride
            if held >= 0:
                less += taken[lines[n_lines] + held]
            n_lines += 1
    # In local variables, so that they stay in registers. What is added up past the last
    # bin of the feature is not used.
    for b in range(0, e.n_places[j], _LANES):
        t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = 0.0
        for x in range(n_lines):
            at = lines[x] + b
            t0 += told[at]
            t1 += told[at + 1]
            t2 += told[at + 2]
            t3 += told[at + 3]
            t4 += told[at + 4]
            t5 += told[at + 5]
            t6 += told[at + 6]
            t7 += told[at + 7]
        total[b], total[b + 1], total[b + 2], total[b + 3] = t0, t1, t2, t3
        total[b + 4], total[b + 5], total[b + 6], total[b + 7] = t4, t5, t6, t7
    if held >= 0:
        total[held] += less
    largest = -np.inf
    for k in range(n_bins):
        b = e.place[offset + k]
        logit[k] = logs[offset + k] + (total[b] if b >= 0 else 0.0)
        largest = max(largest, logit[k])
    mass, mean = 0.0, 0.0
    for k in range(n_bins):
        logit[k] -= largest
        if logit[k] > -np.inf:
            share = np.exp(logit[k])
            mass += share
            mean += share * logit[k]
    whole = np.log(mass)
    expected = whole - mean / mass
    support, decided, _ = decide_cell(decisions, logs, offset, j, own, places[0])
    if support > 0:
        rest = 1 / (support + 2)
        before = np.exp(logit[decided] - whole)
        share = 1 - rest + rest * before
        others = expected
        if before > 0:
            others += before * (logit[decided] - whole)
        expected = rest * (others - (1 - before) * np.log(rest))
        expected -= share * np.log(share)
        whole -= np.log(rest)
        logit[decided] = np.log(share) + whole
    for k in range(n_bins):
        logit[k] -= whole
    return expected


@compiled
def judge_rows(
    rows: NDArray[Any], evidence: Evidence, told: Any, taken: Any, logs: Any,
    decisions: Decisions, unseen: Any, places: Any, room: Any, surprise: Any,
    expected: Any,
) -> None:  # fmt: skip
    """Write the surprise of each cell that is not missing, and what is expected.

    `places` and `room` are scratch memory.
    """
    e, missing = evidence, np.int64(np.iinfo(rows.dtype).max)
    total, logit = room[0], room[1]
    for r in range(rows.shape[0]):
        _find_places(e, rows, r, places[0])
        for j in range(rows.shape[1]):
            own = np.int64(rows[r, j])
            if own == missing or e.n_bins[j] == 0:
                continue
            expected[r, j] = _estimate_cell(
                e, told, taken, logs, decisions, j, own, places, total, logit
            )
            surprise[r, j] = unseen[j]
            if own < e.n_bins[j] and logit[own] > -np.inf:
                surprise[r, j] = -logit[own]


@compiled
def draw_rows(
    rows: NDArray[Any], evidence: Evidence, told: Any, taken: Any, logs: Any,
    decisions: Decisions, scales: Any, before: Any, width: Any, uniform: Any,
    places: Any, room: Any, scores: Any,
) -> None:  # fmt: skip
    """Write the score of each row after its cells were drawn from their estimates.

    ``before`` and ``width`` are the share of a column's values below a bin and in it;
    a value drawn in a tail is as far there as an exponential distribution has it.
    """
    e, missing = evidence, np.int64(np.iinfo(rows.dtype).max)
    total, logit = room[0], room[1]
    for r in range(rows.shape[0]):
        _find_places(e, rows, r, places[0])
        scores[r] = 0.0
        for j in range(rows.shape[1]):
            own = np.int64(rows[r, j])
            if own >= e.n_bins[j] or own == missing:
                continue
            expected = _estimate_cell(
                e, told, taken, logs, decisions, j, own, places, total, logit
            )
            left, drawn = uniform[r, j, 0], 0
            for k in range(e.n_bins[j]):
                if logit[k] > -np.inf:
                    drawn = k
                    left -= np.exp(logit[k])
                    if left <= 0:
                        break
            if drawn != own:  # as if the drawn row had been fitted
                expected = _estimate_cell(
                    e, told, taken, logs, decisions, j, drawn, places, total, logit
                )
            score = -logit[drawn] - expected - SLACK
            inside = width[e.offsets[j] + drawn]
            if inside > 0:
                below = before[e.offsets[j] + drawn] + uniform[r, j, 1] * inside
                beyond = max(min(below, 1 - below), _TINY)
                score += max(np.log(TAIL / beyond), 0.0)
            scores[r] += max(score, 0.0) * scales[j]
