"""Decide for which features being missing (their *absence*) is informative.

An *informative* feature has one more bin, "missing", its last. Its missing cells are
not estimated but have a code like others. With ``missingness="auto"`` these features
are chosen from the table, without labels, by two tests:

1. *Does absence depend on the other columns?* Their centered codes define a kernel. Its
   quadratic form with the indicator of absence is compared with that for a random order
   of the rows: a weighted sum of chi-squares, whose tail is by Liu, Tang and Zhang
   (2009). Dependent absences become codes, and the remaining features are tested again.
2. *Is it an event?* If absences were independent given the values, the squared
   correlation of two of them could not exceed the product of the shares that values
   explain. If it does, by a margin, they occur together: a panel that was not ordered,
   a page that was not filled in. Absence that depends on values but occurs alone is
   not an event: the values predict the missing cell, and it is estimated.

Both tests need only counts of how often two codes, or absences, occur together. The
pairwise rule has these already; otherwise they are counted in evenly spaced kept rows
(at most 20,000, fewer in a wide table), against columns of 1,024 bins in total.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import chdtrc

from ._coded import CodedTable
from ._row_summary import RowSummary
from ._shared.options import Missingness
from ._shared.resources import one_blas_thread
from ._shared.wording import listed

ALPHA = 0.001
"""Probability that any feature is flagged in a table without dependence."""
MARGIN = 0.15
"""Squared correlation of two absences, beyond what values explain, for an event."""
LEAST = 5
"""Minimum number of rows that miss a feature, and that observe it, for a test."""
_LEAST_EXPECTED = 5  # expected rows per code, for a chi-square
_ROUNDS = 10  # most rounds of tests; two or three are usual
_MOST_ROWS, _FEWEST_ROWS = 20_000, 1_000
_MOST_BINS, _FEWEST_BINS = 1024, 320  # in the columns that absence is tested against
_MOST_PRODUCTS = 1 << 21  # these bins times the features
_MOST_CODES = 64  # codes of one such column; the rarest share the last
_OWN_NULL_UP_TO = 256  # bins; above, all features share one null distribution
_PRODUCTS = 1 << 30  # multiplications of counting, some tenths of a second
_MOST_NAMES = 3  # features that a reason lists
_STEP = 256  # features whose absences are compared with all others at a time
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Absence:
    """The decision whether missing cells of one feature are informative.

    Attributes
    ----------
    feature : str
        Its name, or "x3" for the one at index 3 of an array.
    informative : bool
        Whether a missing cell has its own bin; otherwise it is estimated.
    missing : int
        Number of fitted rows in which it is missing.
    p_value : float or None
        P-value of "absence does not depend on the other columns", times the number of
        features that were tested; None if this feature was not.
    reason : str
    """

    feature: str
    informative: bool
    missing: int
    p_value: float | None
    reason: str


def decide_missingness(
    fitted: RowSummary, names: Sequence[str], missingness: Missingness
) -> tuple[Absence, ...]:
    """Decide for each feature whether missing cells are informative.

    Parameters
    ----------
    fitted : RowSummary
        The summary of all rows; the rows that it keeps are tested.
    names : sequence of str
        Names of the features.
    missingness : {"ignorable", "informative", "auto"}

    Returns
    -------
    tuple of Absence, one per feature
    """
    missing, n_bins = fitted.missing, fitted.plan.n_bins
    some = (missing > 0) & (n_bins > 0)
    informative = some & (missingness == "informative")
    p_values: list[float | None] = [None] * len(names)
    reasons = np.select(
        [missing == 0, n_bins == 0], ["no cell is missing", "nothing is observed"],
        f"given: missingness={missingness!r}",
    ).tolist()  # fmt: skip
    if missingness == "auto" and some.any():
        with one_blas_thread():
            sample = _count_sample(fitted) or _draw_sample(
                fitted.kept, n_bins, int(some.sum())
            )
            tested, flagged = _find_dependent(sample)
            events = _find_events(sample, flagged)
        for j in np.flatnonzero(some).tolist():
            p_values[j] = None if np.isnan(tested[j]) else float(tested[j])
            informative[j] = j in events
            reasons[j] = _say_why(p_values[j], flagged[j], events.get(j), names)
    return tuple(
        map(Absence, names, informative.tolist(), missing.tolist(), p_values, reasons)
    )


def _say_why(
    p_value: float | None,
    flagged: bool,
    event: tuple[_Ints, float] | None,
    names: Sequence[str],
) -> str:
    if p_value is None:
        return f"not tested: fewer than {LEAST} rows observe it, or fewer miss it"
    if not flagged:
        return "absent at random, as far as the other columns tell"
    if event is None:
        return "depends on the other columns, but is not absent together with another"
    others, r2 = event
    said = listed([names[j] for j in others], _MOST_NAMES)
    return f"absent together with {said} (r2 {r2:.2f}), more than their values explain"


@dataclass(frozen=True)
class Sample:
    """Counts of codes and absences that occur together in the tested rows.

    The columns of `pairs` are the codes of the witnesses (the features that absence is
    tested against), their absences, and a constant 1.
    """

    witnesses: _Ints
    sizes: _Ints  # codes of each witness
    pairs: _Floats  # number of rows in which both columns are 1
    gaps: _Floats  # (n_columns, n_features) a column and a feature's absence
    both_absent: Callable[[_Ints, _Ints], _Floats]
    """Counts the rows that miss both features, for some features and others."""


def _count_sample(state: RowSummary) -> Sample | None:
    """Take the counts of the pairwise rule; None if absent, or with too many codes."""
    n_bins, starts = state.plan.n_bins, state.plan.starts
    upper = state.all_pairs
    few = n_bins.max() <= _MOST_CODES and n_bins.sum() <= _MOST_BINS
    if not len(upper) or not few:
        return None
    absent = starts + n_bins
    witnesses = np.flatnonzero(n_bins)
    n_rows = np.diagonal(upper)[starts[0] : absent[0] + 1].sum()
    both = (upper + np.triu(upper, 1).T) * min(1.0, _MOST_ROWS / n_rows)
    both = np.pad(both, (0, 1))
    both[-1] = both[:, -1] = np.diagonal(both)
    both[-1, -1] = min(n_rows, _MOST_ROWS)
    codes = np.delete(np.arange(len(upper)), absent)
    columns = np.concatenate([codes, absent[witnesses], [len(upper)]])
    return Sample(
        witnesses,
        n_bins[witnesses],
        both[np.ix_(columns, columns)],
        both[np.ix_(columns, absent)],
        lambda some, others: both[np.ix_(absent[some], absent[others])],
    )


def _draw_sample(coded: CodedTable, n_bins: _Ints, n_absent: int) -> Sample:
    """Count in evenly spaced rows; `n_absent` features have missing cells."""
    sizes = np.minimum(n_bins, _MOST_CODES)
    # Steps of the golden section are evenly spread and follow no period of the rows.
    spread = np.argsort(np.arange(len(sizes)) * (np.sqrt(5) - 1) / 2 % 1)
    spread = spread[sizes[spread] > 0]
    most = min(_MOST_BINS, max(_FEWEST_BINS, _MOST_PRODUCTS // len(sizes)))
    witnesses = np.sort(spread[np.cumsum(sizes[spread]) <= most])
    sizes = sizes[witnesses]
    width = int(sizes.sum())
    held = width + len(witnesses)
    products = held**2 + held * n_absent + n_absent**2
    at, weights = _space_evenly(coded.counts, _PRODUCTS // products)
    rows = coded.bins[at]
    cells = rows[:, witnesses].astype(np.int64)
    observed = cells != coded.missing
    for i in np.flatnonzero(n_bins[witnesses] > _MOST_CODES):
        cells[observed[:, i], i] = _pool_rare(cells[:, i], weights, observed[:, i])
    row, feature = np.nonzero(observed)
    columns = np.zeros((len(rows), held + 1))
    columns[row, (np.cumsum(sizes) - sizes)[feature] + cells[row, feature]] = 1
    columns[:, width:-1] = ~observed
    columns[:, -1] = 1
    absent = np.asarray(rows == coded.missing, np.float64)
    weighted = (columns * weights[:, None]).T

    def both_absent(some: _Ints, others: _Ints) -> _Floats:
        both: _Floats = (absent[:, some] * weights[:, None]).T @ absent[:, others]
        return both

    return Sample(witnesses, sizes, weighted @ columns, weighted @ absent, both_absent)


def _space_evenly(counts: _Ints, most: int) -> tuple[_Ints, _Floats]:
    """Choose distinct rows and how often each counts; all, if there are few.

    The rows are spaced, not the distinct rows. If a frequent row were drawn without
    rows that differ from it only by a missing cell, absence would seem to depend on it.
    """
    most = min(max(most, _FEWEST_ROWS), _MOST_ROWS)
    if len(counts) <= most:
        return np.arange(len(counts)), counts.astype(np.float64)
    last = np.cumsum(counts)
    places = (2 * np.arange(most) + 1) * int(last[-1]) // (2 * most)
    found = np.searchsorted(last, places, side="right")
    at, weights = np.unique(found, return_counts=True)
    return at, weights.astype(np.float64)


def _pool_rare(codes: _Ints, weights: _Floats, observed: NDArray[np.bool_]) -> _Ints:
    totals = np.bincount(codes[observed], weights[observed])
    kept = np.argsort(-totals, kind="stable")[: _MOST_CODES - 1]
    new = np.full(len(totals), _MOST_CODES - 1)
    new[kept] = np.arange(len(kept))
    return new[codes[observed]]


def _find_dependent(sample: Sample) -> tuple[_Floats, NDArray[np.bool_]]:
    """Test the absence of features in rounds, until no more are dependent.

    Returns the adjusted p-value of each feature's last test (NaN without a test), and
    whether its absence is dependent.
    """
    missing, flagged = sample.gaps[-1], np.zeros(sample.gaps.shape[1], bool)
    testable = np.minimum(missing, sample.pairs[-1, -1] - missing) >= LEAST
    p_values = np.full(len(missing), np.nan)
    for _ in range(_ROUNDS):
        todo = np.flatnonzero(testable & ~flagged)
        if not len(todo):
            break
        p_values[todo] = _test_round(sample, flagged, todo)
        p_values[todo] = np.minimum(p_values[todo] * np.count_nonzero(testable), 1)
        found = todo[p_values[todo] <= ALPHA]
        flagged[found] = True
        # Only the absence of a witness becomes a code; without one nothing changes.
        if not np.isin(found, sample.witnesses).any():
            break
    return p_values, flagged


def _test_round(sample: Sample, flagged: NDArray[np.bool_], todo: _Ints) -> _Floats:
    """P-values of the features `todo`; absence of the flagged ones is a code."""
    centering, owner = _center(sample, flagged[sample.witnesses])
    gram = centering.T @ (centering.T @ sample.pairs).T
    totals = sample.pairs[:, -1:]
    n = totals[-1]
    share = sample.gaps[-1, todo] / n
    # A feature's own codes add nothing, since they are centered where it is observed.
    reach = centering.T @ (sample.gaps[:, todo] - totals * share)
    scaled = (reach**2).sum(axis=0) / (share * (1 - share) * n / (n - 1))
    shared = _moments(gram) if len(owner) > _OWN_NULL_UP_TO else None
    out = []
    for j, reached in zip(todo, scaled, strict=True):
        kept = sample.witnesses[owner] != j
        moments = shared or _moments(gram[np.ix_(kept, kept)])
        out.append(_weighted_chi2_tail(reached, moments))
    return np.array(out)


def _center(sample: Sample, coded: Any) -> tuple[Any, _Ints]:
    """Center the codes of the witnesses where they are observed; zero where missing.

    The absence of witnesses that are `coded` is a code too. Returns a sparse matrix
    that maps the sample's columns to centered codes, and the witness of each code.
    """
    totals, n = sample.pairs[:, -1], sample.pairs[-1, -1]
    owner = np.repeat(np.arange(len(coded)), sample.sizes)
    width, own_gap = len(owner), len(owner) + owner
    seen = np.where(coded[owner], n, n - totals[own_gap])
    frequency = totals[:width] / np.maximum(seen, 1)
    extra = width + np.flatnonzero(coded)
    every, more = np.arange(width), np.arange(width, width + len(extra))
    last = len(totals) - 1
    parts = [
        (every, every, np.ones(width)),
        (own_gap, every, np.where(coded[owner], 0, frequency)),
        (np.full(width, last), every, -frequency),
        (extra, more, np.ones(len(extra))),
        (np.full(len(extra), last), more, -totals[extra] / n),
    ]
    row, column, value = (np.concatenate(held) for held in zip(*parts, strict=True))
    centering = sp.csr_array((value, (row, column)), (last + 1, width + len(extra)))
    return centering, np.concatenate([owner, extra - width])


def _moments(gram: _Floats) -> Any:
    """Sum the first three powers of the eigenvalues, without computing these."""
    return np.trace(gram), (gram * gram).sum(), ((gram @ gram) * gram).sum()


def _weighted_chi2_tail(x: float, moments: Any) -> float:
    """Probability that a sum of chi-squares (1 df) times eigenvalues exceeds x.

    For weights without noncentrality the four moments of Liu, Tang and Zhang reduce
    to three: a chi-square with the same mean, variance and skewness.

    Examples
    --------
    >>> round(_weighted_chi2_tail(3.84, (1.0, 1.0, 1.0)), 3)  # a single one
    0.05
    """
    first, second, third = moments
    if second <= 0 or third <= 0:
        return 1.0
    degrees = second**3 / third**2
    scaled = (x - first) / np.sqrt(2 * second) * np.sqrt(2 * degrees) + degrees
    return float(chdtrc(degrees, max(scaled, 0.0)))


def _find_events(
    sample: Sample, flagged: NDArray[np.bool_]
) -> dict[int, tuple[_Ints, float]]:
    """Find the flagged features that are missing together with others.

    Returns for each the others, the closest first, and its squared correlation.
    """
    at = np.flatnonzero(flagged)
    explained = _explained_shares(sample, at)
    n_rows = sample.pairs[-1, -1]
    share = sample.gaps[-1, at] / n_rows
    spread = np.sqrt(share * (1 - share))
    events = {}
    for first in range(0, len(at), _STEP):
        here = slice(first, first + _STEP)
        both = sample.both_absent(at[here], at) / n_rows
        related = (both - share[here, None] * share) / (spread[here, None] * spread)
        for place, row in enumerate(np.maximum(related, 0) ** 2, start=first):
            excess = row - explained[place] * explained
            excess[place] = -1
            others = np.flatnonzero(excess >= MARGIN)
            if len(others):
                others = others[np.argsort(-row[others], kind="stable")]
                events[int(at[place])] = at[others], float(row[others[0]])
    return events


def _explained_shares(sample: Sample, at: _Ints) -> _Floats:
    """Find the largest share of each indicator of absence that a witness explains."""
    best = np.zeros(len(at))
    last = np.cumsum(sample.sizes)
    for first, stop in zip(last - sample.sizes, last, strict=True):
        total = sample.pairs[first:stop, -1]
        if total.sum() > 0:
            share = _explained_by(total, sample.gaps[first:stop, at].T)
            np.maximum(best, share, out=best)
    return best


def _explained_by(total: _Floats, gaps: _Floats) -> _Floats:
    """Find the share of each of several indicators that codes of one feature explain.

    `total` counts the rows of each code, `gaps` those in which each indicator is 1. It
    is Pearson's chi-square minus its degrees of freedom; rare codes are pooled.
    """
    n = total.sum()
    share = gaps.sum(axis=1, keepdims=True) / n
    least = _LEAST_EXPECTED / np.maximum(np.minimum(share, 1 - share), 1 / n / n)
    small = total < least
    rows, ones = np.where(small, 0, total), np.where(small, 0, gaps)
    pool = np.where(small, total, 0).sum(axis=1)
    ones_of_pool = np.where(small, gaps, 0).sum(axis=1)
    # A pool that is still small is added to the smallest of the others.
    joins = pool < least[:, 0]
    to = np.where(small, np.inf, total).argmin(axis=1)
    every = np.arange(len(gaps))
    rows[every, to] += np.where(joins, pool, 0)
    ones[every, to] += np.where(joins, ones_of_pool, 0)
    rows = np.column_stack([rows, np.where(joins, 0, pool)])
    ones = np.column_stack([ones, np.where(joins, 0, ones_of_pool)])
    degrees = np.count_nonzero(rows, axis=1) - 1
    squares = (ones - share * rows) ** 2 / np.maximum(rows, 1)
    variance = np.maximum(share * (1 - share), 1 / n / n)[:, 0]
    return np.where(degrees > 0, (squares.sum(axis=1) / variance - degrees) / n, 0)
