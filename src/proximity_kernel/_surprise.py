"""How surprising each observed cell of a row is, given the other cells of the row.

The pairwise rule estimates every observed cell from the other observed cells of its
row, as if it were missing: P is its distribution over the bins. From each count of
pairs, one row with the pair of codes of this row is left out, if there is any. So a row
has the same score whether it was fitted or is new, and no row is evidence for itself. A
code that fewer than five other rows have is no evidence.

A code that has come with one bin in all other rows decides, as in `_pairwise`, and so
does the fact that a feature is observed. Here a single code may have exceptions, too:
one if 20 other rows have the bin, or x if 100 x have it.

- The *surprise* of a cell is ``-log P(own bin)``. For a number between the centers of
  two bins, their probabilities are interpolated, so that the surprise does not jump at
  the border. A category or bin that no fitted row has counts as seen once.
- The *expected surprise* is the mean surprise under P, the entropy of P.
- The *tail* of a number is its distance from the central 80 % of its column. The unit
  of this distance is the scale of an exponential distribution with the median of the
  values beyond this end. A column with a long tail has a large unit, so few of its
  values are flagged.
- A number that other numbers determine (`_formulas`) has no other surprise. If it
  violates the formula, and none of these numbers is farther out in its own column, its
  tail is at least the distance of its residual, minus `FAR`.
- The *score* of a cell is surprise plus tail, minus the expected surprise, minus 1; at
  least 0; times the weight of the feature. So a cell without a tail has a score above 0
  only if it is more than e times less likely than expected, and the scores of many
  ordinary cells do not add up to that of an unusual row.
- The score of a row is the sum of the scores of its cells.

The distribution of these scores under the model is simulated: each observed cell of a
fitted row is replaced by a bin sampled from its P, with a random tail. Where many
columns repeat each other, simulated rows are more ordinary than those of the table,
because P combines their evidence as if it were independent. So at most 1 in 20 fitted
rows exceed the limit of the scores, unless their scores are far from the others
(`find_limit`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._bins import SortedValues, count_values, sort_values
from ._coded import CodedTable, code_columns
from ._compile import compiled, merged
from ._formulas import FAR, Formula, Values
from ._model import Model
from ._pairwise import (
    DECIDES,
    EXCEPTIONS,
    ONE_OF,
    Deciders,
    Evidence,
    PairCounts,
    Pairwise,
    compute_evidence,
    find_deciders,
    lay_out_evidence,
)
from ._row_summary import RowPlan, keep_rows
from ._shared.resources import check_memory, run_pieces
from ._table.columns import Column, ColumnType

TAIL = 0.1
"""Share of the values of a column that are in each of its tails."""
SLACK = 1.0
"""How much surprise plus tail may exceed the expected surprise before a cell scores."""
MARKS = (950, 990, 999)
"""Quantiles, in per mille from either end, that a value is compared with."""
FALSE_ALARMS = 0.01
"""Share of the simulated rows whose score exceeds the automatic limit."""
MOST_OUTLIERS = 0.05
"""Largest share of fitted rows above the limit, if none is far from the others."""
FEWEST_ROWS = 5
"""Minimum number of other rows with a code for it to be evidence."""
_LEAST_UNIT = 0.1  # share of the central range; a uniform distribution has 0.09
_FEWEST_BEYOND = 10  # minimum number of values to learn the unit of a tail freely
_MOST_TAIL = 1e12  # keeps sums finite
_PIECE = 4096  # rows that a thread scores at a time
_N_DRAWN = 20_000  # simulated rows
_MOST_DRAWN = 1 << 29  # entries of evidence that are added up for the simulated rows
_FEWEST_DRAWN = 1000
_TINY = 1e-12
_LANES = 8  # bins whose evidence is added up at once
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tails:
    """The tails of the numeric columns of a table: ends, units and extreme quantiles.

    Arrays of shape (n_features, 2, ...): of the lower and of the upper tail.
    """

    ends: _Floats  # of the central 80 % of a column; NaN if it has no tails
    units: _Floats
    marks: _Floats  # the quantiles `MARKS`, counted from this end
    formulas: tuple[Formula, ...] = ()  # the numbers that other numbers determine

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Whether each column has tails, shape (n_features,)."""
        return ~np.isnan(self.ends[:, 0])

    def measure(self, j: int, values: NDArray[Any]) -> _Floats:
        """Compute how many units values of feature j lie beyond an end, at least 0."""
        with np.errstate(over="ignore"):
            below = (self.ends[j, 0] - values) / self.units[j, 0]
            above = (values - self.ends[j, 1]) / self.units[j, 1]
        far = np.fmax(np.fmax(below, above), 0.0)  # a missing cell has no tail
        return np.asarray(np.minimum(far, _MOST_TAIL))

    def measure_formula(self, formula: Formula, values: Values) -> _Floats:
        """Compute how far numbers are from their formula; NaN if not known.

        0 if a source is farther out in its own column, which is then the likelier
        error. ``values[s]`` are the values of feature s.
        """
        apart, j = formula.measure(values), formula.feature
        own = self.measure(j, values[j])
        for s in formula.sources:
            farther = self.measure(s, values[s]) > own + SLACK
            apart = np.where(farther, 0 * apart, apart)
        return apart

    def find_ordinary(self, j: int, n_values: int) -> tuple[float, float]:
        """Return the lower and the upper limit of the ordinary values of feature j.

        The limits are the outermost marks that an exponential tail of `n_values` values
        is expected to reach; at least 90 % of the values lie between the limits.
        """
        reach = self.units[j] * np.log(max(TAIL * n_values, 1))
        low, high = self.marks[j]
        least = max(np.count_nonzero(low >= self.ends[j, 0] - reach[0]) - 1, 0)
        most = max(np.count_nonzero(high <= self.ends[j, 1] + reach[1]) - 1, 0)
        return float(low[least]), float(high[most])

    def find_mark(self, j: int, value: float) -> tuple[str, int]:
        """Return "above" or "below", and the outermost mark passed; or "" and 0."""
        above = int(np.count_nonzero(value > self.marks[j, 1]))
        below = int(np.count_nonzero(value < self.marks[j, 0]))
        if above or below:
            return ("above", MARKS[above - 1]) if above else ("below", MARKS[below - 1])
        return "", 0


def has_tails(column: ColumnType) -> bool:
    """Whether a column can have tails: numbers and times, not labels or booleans."""
    is_number = column.kind == "numeric" and column.order is None
    return is_number and column.form != "boolean"


def learn_tails(columns: Sequence[Column], copies: NDArray[Any] | None = None) -> Tails:
    """Learn the tails of typed columns; ``copies[i]`` is the weight of row i."""
    return learn_sorted_tails(_sort_column(column, copies) for column in columns)


def learn_sorted_tails(columns: Iterable[SortedValues | None]) -> Tails:
    """Learn the ends, units and marks of tails; None is a column without tails.

    >>> tails = learn_sorted_tails([count_values(np.arange(101.0)), None])
    >>> tails.ends[0].tolist(), (tails.units[0] * np.log(2)).tolist()
    ([10.0, 90.0], [6.0, 6.0])
    >>> tails.measure(0, np.array([50.0, 90 + 6.0])).round(2).tolist()
    [0.0, 0.69]
    """
    found = [_learn_tail(column) for column in columns]
    ends, units, marks = zip(*found, strict=True)
    return Tails(np.array(ends), np.array(units), np.array(marks))


def _sort_column(column: Column, copies: NDArray[Any] | None) -> SortedValues | None:
    """Sort the observed values of a column with tails; None for other columns."""
    if not has_tails(column.type):
        return None
    if copies is not None:
        some = (copies > 0) & ~np.isnan(column.values)
        return count_values(column.values[some], copies[some])
    return sort_values(column.values)


def _learn_tail(
    values: SortedValues | None,
) -> tuple[list[float], list[float], list[list[float]]]:
    """Learn the tails of one column, as in `Tails`; NaN if it has too few values."""
    nan = [np.nan] * 2, [np.nan] * 2, [[np.nan] * len(MARKS)] * 2
    if values is None or not len(values) or values.few(2) is not None:
        return nan
    n = len(values)
    inside = 9 * (n - 1) // 10
    low, high = values.at([n - 1 - inside, inside]).tolist()
    first, last = values.span(low)[0], values.span(high)[1]
    least, most = values.at([0, n - 1]).tolist()
    with np.errstate(over="ignore"):
        lower = low - values.at([(first - 1) // 2])[0] if first else None
        upper = values.at([(last + n) // 2])[0] - high if last < n else None
        usual = (high - low) or (most - least)
        beyond = (lower, first), (upper, n - last)
        units = [_choose_unit(*own, usual) for own in beyond]
    if not np.isfinite(units).all():  # near the limits of float64
        return nan
    places = [-(-n * mark // 1000) - 1 for mark in MARKS]
    marks = [values.at([n - 1 - at for at in places]), values.at(places)]
    return [low, high], units, [own.tolist() for own in marks]


def _choose_unit(excess: float | None, n_beyond: int, usual: float) -> float:
    """Choose the unit of a tail by its median, at least a tenth of the range `usual`.

    The median of few values is uncertain, and rounded values have ties, hence the
    minimum. If fewer than ten values lie beyond, all of them could be errors that mask
    each other: the unit is then at most `usual`. This is the range of the central 80 %,
    or of all values if the central range is 0.
    """
    unit = usual if excess is None else max(excess / np.log(2), _LEAST_UNIT * usual)
    return float(unit if n_beyond >= _FEWEST_BEYOND else min(unit, usual))


def _mark_known(counts: PairCounts, layout: Evidence) -> NDArray[np.bool_]:
    """Return a flat mask of the evidence values whose code occurs in enough rows."""
    if counts.sources is not None:
        n_rows = counts.pairs.sum(axis=3, keepdims=True)
    else:
        some = counts.n_bins > 0
        n_rows = np.add.reduceat(counts.pairs, layout.offsets[some], axis=1)
        n_rows = np.repeat(n_rows, counts.n_bins[some], axis=1)
    return np.broadcast_to(n_rows > FEWEST_ROWS, counts.pairs.shape).ravel()


@dataclass(frozen=True)
class Judge:
    """The pairwise rule, laid out to estimate observed cells by leave-one-out."""

    evidence: Evidence  # the layout of the evidence
    told: _Floats  # the values of the evidence times their weights
    taken: _Floats  # their change if one row with that pair of codes is left out
    logs: _Floats  # of the priors, shape (total bins,)
    unseen: _Floats  # surprise of what no fitted row has, shape (n_features,)
    decisions: Deciders

    @classmethod
    def of_model(cls, model: Model) -> Judge:
        """Build the judge of a model; raise TypeError unless its rule is pairwise."""
        rule = model.matcher
        if not isinstance(rule, Pairwise):
            raise TypeError("Scores of cells need a model with matching='pairwise'.")
        if "judge" not in rule.derived:
            rule.derived["judge"] = cls._of_rule(rule)
        judge: Judge = rule.derived["judge"]
        return judge

    @classmethod
    def _of_rule(cls, rule: Pairwise) -> Judge:
        evidence, counts = rule.evidence, rule.counts
        _, without = compute_evidence(counts, lay_out_evidence(counts), rule.smoothing)
        weights = _broadcast_weights(rule) * _mark_known(counts, evidence)
        told = np.append(weights * evidence.values, np.zeros(_LANES))
        taken = weights * (without - evidence.values)
        with np.errstate(divide="ignore"):
            logs = np.log(evidence.prior)
        before, first = np.append(0, np.cumsum(counts.totals)), evidence.offsets
        observed = before[first + evidence.n_bins] - before[first]
        return cls(
            evidence, told, taken, logs, np.log(observed + 1.0),
            find_deciders(counts, evidence, spare=True),
        )  # fmt: skip

    def allocate_scratch(self) -> tuple[_Ints, _Floats]:
        """Allocate scratch memory for the loops."""
        n_features = len(self.evidence.n_bins)
        room = int(self.evidence.n_bins.max(initial=1)) + _LANES
        return np.empty((2, n_features), np.int64), np.empty((2, room))

    def explain(self, row: NDArray[Any], j: int) -> tuple[_Floats, _Floats, int]:
        """Estimate cell j of a coded row, and list the evidence of each other cell.

        Returns the distribution of the cell; what each other cell adds to its
        logarithms, of shape (n_features, n_bins); and the bin that another cell decides
        for, or -1.
        """
        e = self.evidence
        start, n_bins = int(e.offsets[j]), int(e.n_bins[j])
        place, own = e.place[start : start + n_bins], int(row[j])
        told, places = np.zeros((len(row), n_bins)), self._find_places(row)
        for m in range(int(e.source_start[j]), int(e.source_start[j + 1])):
            i = int(e.source[m])
            if places[i] < 0:
                continue
            at = int(e.base[m] + places[i] * e.stride)
            held = np.where(place >= 0, self.told[at + np.maximum(place, 0)], 0.0)
            if own < n_bins and place[own] >= 0:
                held[own] += self.taken[at + place[own]]
            told[i] = held
        logits = self.logs[start : start + n_bins] + told.sum(axis=0)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        rest, decided, source = decide_cell(
            e, self.decisions, self.logs, j, own, places
        )
        if source >= 0:
            shares *= rest
            shares[decided] += 1 - rest
            told[:] = 0
            told[source, decided] = -np.log(rest)
        return shares, told, decided if source >= 0 else -1

    def is_confirmed(self, row: NDArray[Any], j: int) -> bool:
        """Whether one other cell of a coded row decides for the bin of cell j.

        Other cells may be evidence against this bin, or even decide for another bin.
        """
        own, places = int(row[j]), self._find_places(row)
        decided = decide_cell(
            self.evidence, self.decisions, self.logs, j, own, places, own
        )
        return bool(decided[2] >= 0)

    def _find_places(self, row: NDArray[Any]) -> _Ints:
        """Look up the place of each code of a row in the evidence; -1 for none."""
        e, known = self.evidence, row < self.evidence.n_bins
        places = np.full(len(row), -1)
        places[known] = e.place[e.offsets[known] + row[known]]
        return places


def _broadcast_weights(rule: Pairwise) -> _Floats:
    """Broadcast the weights of sources to the values of the evidence, flat."""
    n_bins, sources = rule.counts.n_bins, rule.counts.sources
    if sources is None:
        by_pair = rule.weight_table.toarray().T
        return np.repeat(np.repeat(by_pair, n_bins, axis=0), n_bins, axis=1).ravel()
    shape = rule.counts.pairs.shape
    weights = rule.weights.reshape(sources.shape)[..., None, None]
    return np.broadcast_to(weights, shape).ravel()


def score_cells(coded: CodedTable, tails: Tails, n_threads: int) -> _Floats:
    """Score every cell of coded rows: shape (n_samples, n_features).

    0 is a cell that is missing or hardly more surprising than expected.
    """
    shape = len(coded), coded.bins.shape[1]
    check_memory(8 * shape[0] * shape[1], "The scores of the cells")
    return _score(coded, tails, n_threads, np.empty(shape))


def score_rows(coded: CodedTable, tails: Tails, n_threads: int) -> _Floats:
    """Score rows: the sums of `score_cells`, without keeping the cells."""
    return _score(coded, tails, n_threads, np.empty(len(coded)))


def _score(coded: CodedTable, tails: Tails, n_threads: int, out: _Floats) -> _Floats:
    """Write scores to `out`: of cells if it is 2-d, their sums by row if it is 1-d."""
    judge, bins = Judge.of_model(coded.model), coded.model.bins
    measured = np.flatnonzero(tails.measured)

    def score_some(first: int, last: int) -> None:
        rows = coded.bins[coded.index[first:last]]
        numbers = [column.values[first:last] for column in coded.columns]
        toward, far, cells, expected = np.zeros((4, *rows.shape))
        for j in measured.tolist():
            toward[:, j] = measure_toward(bins[j].centers, numbers[j], rows[:, j])
            far[:, j] = tails.measure(j, numbers[j])
        certain = np.zeros(rows.shape, bool)
        for formula in tails.formulas:
            apart = tails.measure_formula(formula, numbers)
            j, certain[:, j] = formula.feature, ~np.isnan(apart)
            far[:, j] = np.fmax(far[:, j], np.minimum(apart - FAR, _MOST_TAIL))
        judge_rows(
            rows, toward, judge.evidence, judge.told, judge.taken, judge.logs,
            judge.decisions, judge.unseen, *judge.allocate_scratch(), cells, expected,
        )  # fmt: skip
        cells -= expected
        cells[certain] = 0
        cells += far
        cells -= SLACK
        np.maximum(cells, 0, out=cells)
        cells *= coded.model.scales
        out[first:last] = cells if out.ndim == 2 else cells.sum(axis=1)

    run_pieces(score_some, len(coded), _PIECE, n_threads)
    return out


def measure_toward(
    centers: _Floats, values: NDArray[Any], codes: NDArray[Any]
) -> _Floats:
    """Measure how far numbers lie from the center of their bin toward the next center.

    As a share of the distance of the two centers, at most 0.5; negative toward the
    lower center. 0 for missing cells and numbers beyond the outer centers.

    >>> centers, codes = np.array([0.0, 10.0, 30.0]), np.array([0, 1, 1, 2])
    >>> measure_toward(centers, np.array([4.0, 8.0, 15.0, 99.0]), codes).tolist()
    [0.4, -0.2, 0.25, 0.0]
    """
    at = np.minimum(codes, len(centers) - 1).astype(np.int64)
    ends = np.concatenate([[-np.inf], centers, [np.inf]])
    with np.errstate(over="ignore"):
        far = values - centers[at]
        apart = np.where(far < 0, centers[at] - ends[at], ends[at + 2] - centers[at])
        found = np.where(np.isnan(far), 0.0, far / apart)
    return np.asarray(np.clip(found, -0.5, 0.5))


def sample_fitted(
    coded: CodedTable, seed: int, n_threads: int, copies: NDArray[Any] | None = None
) -> CodedTable:
    """Sample the distinct rows that a fit in batches keeps, with their counts.

    ``copies[i]`` is the weight of row i of the table.
    """
    model: Model = coded.model
    n_bins = np.array([own.n_bins for own in model.bins], np.int64)
    rows = CodedTable.of_rows(coded.bins[coded.index])
    if model.informative.any():  # the fit hashed rows before missing cells had a bin
        rows = code_columns(coded.columns, model.bins, n_threads)
    if copies is not None:
        some = np.flatnonzero(copies)
        rows = rows.take(some).repeat(copies[some])
    kept = keep_rows(rows, RowPlan(n_bins, False, seed=seed), n_threads)
    return take_sample(model, kept.rows, kept.counts)


def take_sample(model: Model, rows: NDArray[Any], counts: _Ints) -> CodedTable:
    """Make a coded table of the rows that a fit kept, with their counts."""
    coded = model.take_codes(CodedTable.of_rows(rows))
    return CodedTable(coded.bins, counts, coded.index, model=model)


def find_limit(sample: CodedTable, tails: Tails, n_threads: int) -> tuple[float, bool]:
    """Find the score that the share `FALSE_ALARMS` of simulated rows exceeds.

    If more than `MOST_OUTLIERS` of the fitted rows exceed it, the limit is what this
    share of them exceeds, but at most what `FALSE_ALARMS` would in an exponential
    distribution with their quartiles: errors in many rows do not raise it further.
    Also returns whether the limit is that of the simulated rows. The sample has fitted
    rows with their counts.
    """
    model: Model = sample.model
    judge, n_rows = Judge.of_model(model), len(sample.bins)
    e = judge.evidence
    cost = int((np.diff(e.source_start) * e.n_places).sum()) + 1
    wanted = max(_FEWEST_DRAWN, min(_N_DRAWN, _MOST_DRAWN // cost))
    at = np.arange(wanted) % n_rows
    scores = np.empty((2, len(at)))  # of drawn rows, and of the rows themselves
    before, width = _compute_bin_shares(model, tails)
    n_numbers = np.array([own.n_bins for own in model.bins], np.int64)

    def draw_some(first: int, last: int) -> None:
        rng = np.random.default_rng(first)
        some = sample.bins[at[first:last]]
        draw_rows(
            some, e, judge.told, judge.taken, judge.logs, judge.decisions,
            model.scales, n_numbers, before, width, rng.random((*some.shape, 2)),
            *judge.allocate_scratch(), scores[:, first:last],
        )  # fmt: skip

    run_pieces(draw_some, len(at), _PIECE, n_threads)
    weights = sample.counts[at]
    limit = _find_upper(scores[0], weights, FALSE_ALARMS)
    own, shares = (scores[1, :n_rows], weights[:n_rows]), (MOST_OUTLIERS, 0.25, 0.5)
    high, upper, middle = (_find_upper(*own, share) for share in shares)
    far = middle + (upper - middle) * np.log(0.5 / FALSE_ALARMS) / np.log(2)
    of_rows = min(high, float(far))
    return max(limit, of_rows), limit >= of_rows


def _find_upper(scores: _Floats, weights: NDArray[Any], share: float) -> float:
    """Find the score that a share of rows with weights exceeds."""
    order = np.argsort(-scores, kind="stable")
    beyond = np.cumsum(weights[order])
    place = int(np.searchsorted(beyond, share * beyond[-1], side="right"))
    return float(scores[order[place]])


def _compute_bin_shares(model: Model, tails: Tails) -> tuple[_Floats, _Floats]:
    """Compute the share of a column's values below each bin, and in each bin.

    Both of shape (total bins,), and 0 for the bins of a column without tails.
    """
    before, width = [], []
    for j, (totals, bins) in enumerate(
        zip(model.totals_by_feature, model.bins, strict=True)
    ):
        share = totals.astype(np.float64)
        share[bins.n_bins :] = 0  # missing
        share *= 1 / max(share.sum(), 1) if tails.measured[j] else 0
        before.append(np.cumsum(share) - share)
        width.append(share)
    return np.concatenate(before), np.concatenate(width)


@merged
def _find_places(e: Evidence, rows: NDArray[Any], r: int, places: Any) -> None:
    """Write the place of each code of row r in the evidence; -1 for none."""
    for i in range(rows.shape[1]):
        code = np.int64(rows[r, i])
        places[i] = -1
        if code < e.n_bins[i]:
            places[i] = e.place[e.offsets[i] + code]


@compiled
def decide_cell(
    evidence: Evidence, decisions: Deciders, logs: Any, j: int, own: Any, places: Any,
    wanted: int = -1,
) -> Any:  # fmt: skip
    """Find the code that decides a cell, leaving out one row like that of the cell.

    The code of the cell is `own`. Unless `wanted` is -1, only decisions for this bin
    count. Returns the share that the code leaves to the other bins, the bin it decides
    for, and its feature; 1, 0 and -1 if no code decides.
    """
    e, d, offset = evidence, decisions, evidence.offsets[j]
    rest, decided, source = 1.0, 0, -1
    for t in range(d.start[j], d.start[j + 1]):
        place = places[d.source[t]]
        at = d.first[t] + place
        if place < 0 or d.support[at] == 0:
            continue
        b, rows, others = d.bins[at], d.support[at], d.exceptions[at]
        if wanted >= 0 and b != wanted:
            continue
        if own < e.n_bins[j]:
            line = e.base[d.entry[t]] + place * e.stride
            held = min(d.pairs[line + e.place[offset + own]], 1)
            if own == b:
                rows -= held
            else:
                others -= held
        least = EXCEPTIONS * others if others > 1 else ONE_OF
        if others > 0 and rows < least:
            continue
        # Any x of N + x rows can be the exceptions: add a bound of the log binomial.
        by_chance = rows * logs[offset + b]
        if others > 0:
            by_chance += others * (1 + np.log((rows + others) / others))
        if -by_chance <= DECIDES:
            continue
        left = (others + 1) / (rows + others + 2)
        if left < rest:
            rest, decided, source = left, b, d.source[t]
    return rest, decided, source


@merged
def _mix_bins(logit: Any, k: Any, toward: Any) -> Any:
    """Return the log-probability of a number, interpolated between two bins."""
    if toward == 0:
        return logit[k]
    part, other = abs(toward), k + (1 if toward > 0 else -1)
    mixed = (1 - part) * np.exp(logit[k]) + part * np.exp(logit[other])
    return np.log(mixed) if mixed > 0 else -np.inf


@merged
def _estimate_cell(
    e: Evidence, told: Any, taken: Any, logs: Any, decisions: Deciders, j: int,
    own: Any, places: Any, total: Any, logit: Any,
) -> Any:  # fmt: skip
    """Write the log-probabilities of a cell's bins to `logit`; return their entropy.

    The code of the cell is `own`; if it is not a bin, no row is left out.
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
    rest, decided, source = decide_cell(e, decisions, logs, j, own, places[0])
    if source >= 0:
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
    rows: NDArray[Any], toward: Any, evidence: Evidence, told: Any, taken: Any,
    logs: Any, decisions: Deciders, unseen: Any, places: Any, room: Any,
    surprise: Any, expected: Any,
) -> None:  # fmt: skip
    """Write the surprise and the expected surprise of each observed cell.

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
            if own < e.n_bins[j]:
                share = _mix_bins(logit, own, toward[r, j])
                if share > -np.inf:
                    surprise[r, j] = -share


@merged
def _score_bin(
    logit: Any, expected: Any, k: Any, rank: Any, last: Any, before: Any, inside: Any
) -> Any:
    """Return the score of a cell in bin k, a number at a rank within the bin."""
    toward = 0.0
    if inside > 0:
        low = 0.0 if k == 0 else -0.5  # the outer centers are the extremes
        high = 0.0 if k == last else 0.5
        toward = low + rank * (high - low)
    score = -_mix_bins(logit, k, toward) - expected - SLACK
    if inside > 0:
        below = before + rank * inside
        beyond = max(min(below, 1 - below), _TINY)
        score += max(np.log(TAIL / beyond), 0.0)
    return max(score, 0.0)


@compiled
def draw_rows(
    rows: NDArray[Any], evidence: Evidence, told: Any, taken: Any, logs: Any,
    decisions: Deciders, scales: Any, n_numbers: Any, before: Any, width: Any,
    uniform: Any, places: Any, room: Any, scores: Any,
) -> None:  # fmt: skip
    """Write the scores of simulated rows: each cell is sampled from its estimate.

    The score of the row itself is written, too, with random places of its numbers in
    their bins. ``before`` and ``width`` are the share of a column's values below a bin
    and in the bin; the tail of a sampled value is the exponential quantile of its rank.
    A number is uniform in its bin; the last bin of numbers has code
    ``n_numbers[j] - 1``.
    """
    e, missing = evidence, np.int64(np.iinfo(rows.dtype).max)
    total, logit = room[0], room[1]
    for r in range(rows.shape[0]):
        _find_places(e, rows, r, places[0])
        scores[:, r] = 0.0
        for j in range(rows.shape[1]):
            own = np.int64(rows[r, j])
            if own >= e.n_bins[j] or own == missing:
                continue
            expected = _estimate_cell(
                e, told, taken, logs, decisions, j, own, places, total, logit
            )
            rank, last = uniform[r, j, 1], n_numbers[j] - 1
            scores[1, r] += scales[j] * _score_bin(
                logit, expected, own, rank, last, before[e.offsets[j] + own],
                width[e.offsets[j] + own],
            )  # fmt: skip
            left, drawn = uniform[r, j, 0], 0
            for k in range(e.n_bins[j]):
                if logit[k] > -np.inf:
                    drawn = k
                    left -= np.exp(logit[k])
                    if left <= 0:
                        break
            if drawn != own:  # as if the simulated row had been fitted
                expected = _estimate_cell(
                    e, told, taken, logs, decisions, j, drawn, places, total, logit
                )
            scores[0, r] += scales[j] * _score_bin(
                logit, expected, drawn, rank, last, before[e.offsets[j] + drawn],
                width[e.offsets[j] + drawn],
            )  # fmt: skip
