"""Find out whether there are separate groups of rows, and how many.

*How many*: the largest number of clusters that is stable. Ten samples of 90 % of the
rows are split into halves, and each half is clustered. The *stability* of a number of
clusters is the prediction strength (Tibshirani and Walther, 2005). When the rows of a
half are assigned to the centers of the other half, some pairs of rows of a cluster stay
together. Their share in the cluster where it is lowest, averaged over the halves, is
the stability.

*Whether*: a single cloud of rows, cut in two, gives stable clusters as well. So the
inertia must fall by more than in null tables, which have no groups: either at this
number of clusters, or at this number compared with the next number. Null tables are
samples of a Gaussian copula, with the same values in each column, the same rank
correlations and the same missing cells as the table. The categories of a nominal column
are ordered by their means on the first axis of the rows. Ties lower a rank correlation,
so the copula has the correlation that gives the observed correlation after rounding to
the observed values. It is computed from the Hermite series of the scores.

*More groups*: bins cut every cloud into pieces that are found again in each half. So a
larger number is compared with null tables that keep the groups found so far: each
cluster has a copula of its own, and varies gradually from its lowest to its highest
values, even where it has none in between. A number that skips two or more must also
exceed null tables of the clusters of the number below it.

Each of the ten samples gives a number, and the most frequent number is taken. The
stability in a sample is known from few halves only, so it is shrunk toward the mean of
all samples, by as much as halves of one sample differ (James and Stein), but at most by
about half, because the mean is uncertain, too. Rows are sampled from the sorted
distinct rows with a fixed seed, so the result depends on the table alone, not on the
order of its rows or on a random state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from ._bins import CategoricalBins
from ._coded import CodedTable
from ._kmeans import Rows, best_clustering, gather_rows, nearest_centers
from ._shared.resources import one_blas_thread
from ._shared.wording import join_names
from ._table.records import Tabular

SEED = 0
N_SAMPLES = 10
_SHARE = 0.9  # share of the rows in a sample
_MOST_CLUSTERS = 10
_MOST_ROWS = 1600  # maximum number of rows of a sample
_MOST_IN_NULL = 700  # maximum number of rows of a null table
_LEAST_ROWS = 5  # minimum number of rows per cluster: each half of a sample needs two
_N_FIRST = 5  # samples in which every number of clusters is tried
_PLAUSIBLE = 0.6  # least stability in the first samples for a number to be tried in all
_HALVINGS = 2  # how often a sample is split into halves
_STABLE = 0.8  # least stability, as Tibshirani and Walther advise
_STEADIER = 0.1  # a number less stable than the best by more than this is not stable
_STEADIEST = 0.05  # numbers of clusters count as equally stable up to this difference
_CONNECTED = 0.7  # least stability of all numbers between the best and a larger number
_NULLS = 3  # null tables for each sample
_LEAST_KEPT = 0.45  # least shrinkage factor of differences from the mean
_DEVIATIONS = 2.5  # standard deviations of the null tables that the fall must exceed
_DEVIATIONS_OF_NEXT = 1.5  # the same for one group more than were found so far
_N_TERMS = 40  # number of terms of the Hermite series
_STEPS = 50  # power iterations to find the first axis
_LEAST_PAIRS = 10  # minimum number of rows that observe both columns
_CHANCE = 1.15  # a main axis must exceed this multiple of the eigenvalue by chance
_N_ALONG = 2  # number of columns named along the first axis
_OPTIONS: dict[str, Any] = {"max_iter": 100, "tol": 1e-4}
_STARTS = 10  # runs of k-means; from few, tables differ by local optima
_SURE = 7  # with fewer samples that have the number, it is called a "perhaps"
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Groups(Tabular):
    """Whether the rows of a table form separate groups; `print` describes it in words.

    Attributes
    ----------
    n_groups : int
        1 if the rows vary gradually, or there are too few rows.
    samples : dict of int to int
        How many of ten samples of 90 % of the rows have each number of groups.
    stability : dict of int to float
        Stability of 2, 3, ... clusters.
    along : tuple of str
        The two columns that vary most along the first principal axis of the rows; empty
        if this axis has no more of the variance than expected by chance.
    n_sampled : int or None
        Rows of each sample of a large table; None if it has 90 % of the rows.
    """

    n_groups: int = 1
    samples: dict[int, int] = field(default_factory=dict)
    stability: dict[int, float] = field(default_factory=dict)
    along: tuple[str, ...] = ()
    n_sampled: int | None = None

    def __str__(self) -> str:
        return describe_groups(self.n_groups, self)

    def _show(self) -> tuple[str, dict[str, list[Any]]]:
        return str(self), self._list_columns()

    def _list_columns(self) -> dict[str, list[Any]]:
        numbers = sorted({*self.samples, *self.stability})
        return {
            "n_groups": numbers,
            "samples": [self.samples.get(k, 0) for k in numbers],
            "stability": [self.stability.get(k) for k in numbers],
        }


def find_groups(
    rows: Rows,
    coded: CodedTable,
    represent: Callable[[CodedTable], sp.csr_array],
    more: Iterable[int] = (),
) -> Groups:
    """Find out whether there are separate groups of rows, and how many.

    Parameters
    ----------
    rows : Rows
        The distinct rows of a table, or of a sample, with their counts.
    coded : CodedTable
        The codes of the same rows, with their model.
    represent : callable
        Represents the rows of a coded table.
    more : iterable of int
        Numbers of clusters whose stability is measured in addition to 2 to 10.

    Returns
    -------
    Groups
    """
    rng = np.random.default_rng(SEED)
    samples = [_draw(rows, _SHARE, rng) for _ in range(N_SAMPLES)]
    most = len(samples[0]) // _LEAST_ROWS
    asked = {*range(2, _MOST_CLUSTERS + 1), *more}
    counts = sorted(k for k in asked if 2 <= k <= most)
    if not counts:
        return Groups()
    strengths = _measure_strengths(rows.matrix, samples, counts)
    stability = {k: float(np.mean(strengths[k])) for k in counts}
    stable = _choose_stable(strengths)
    drawn = _draw(rows, 1, rng)
    whole = _Copula(coded, drawn, first_axis(rows.matrix[drawn]))
    found, parts = np.ones(N_SAMPLES, np.int64), [whole]
    for k in sorted({k for own in stable for k in own}):
        excess = _measure_excess(rows.matrix, samples, k, parts, represent)
        least = _DEVIATIONS_OF_NEXT if k == len(parts) + 1 > 2 else _DEVIATIONS
        exceeds = excess.mean() > least
        if exceeds and k > len(parts) + 2:  # a cut at the limits of bins is no group
            pieces = _split_table(rows.matrix, whole, k - 1)
            last = _measure_excess(rows.matrix, samples, k, pieces, represent)
            if last.mean() <= _DEVIATIONS_OF_NEXT:
                continue
        if exceeds or len(parts) == 1:
            found[(excess > least) & [k in own for own in stable]] = k
        if exceeds:
            parts = _split_table(rows.matrix, whole, k)
    votes = Counter(found.tolist())
    best = max(votes, key=lambda k: (votes[k], stability.get(k, 0)))
    capped = round(_SHARE * float(rows.counts.sum())) > _MOST_ROWS
    n_sampled = _MOST_ROWS if capped else None
    counted = dict(sorted(votes.items()))
    return Groups(best, counted, stability, whole.along(), n_sampled)


def describe_groups(n_clusters: int, groups: Groups | None) -> str:
    """Describe whether there are groups, and how many groups the samples have.

    Parameters
    ----------
    n_clusters : int
        The number of clusters that was chosen or requested.
    groups : Groups or None

    Returns
    -------
    str
        Sentences; empty if nothing is known.

    Examples
    --------
    >>> groups = Groups(3, {2: 1, 3: 9}, {2: 0.97, 3: 0.92}, ("age", "income"))
    >>> print(describe_groups(3, groups))
    3 separate groups: of 10 samples of 90 % of the rows, 9 have 3 and 1 has 2.
    >>> print(describe_groups(4, groups))
    The rows form 3 separate groups rather than 4: of 10 samples of 90 % of the rows, 9
    have 3 and 1 has 2.
    >>> none = Groups(1, {1: 10}, {2: 0.97}, ("age", "income"))
    >>> print(describe_groups(1, none))
    No separate groups found: in the ranks of their values, the rows vary gradually,
    most along age and income.
    >>> print(describe_groups(3, none))
    3 parts, not groups: in the ranks of their values, the rows vary gradually, most
    along age and income.
    """
    if groups is None or not groups.samples:
        return ""
    others = groups.samples.keys() - {groups.n_groups}
    said = [groups.n_groups, *sorted(others, key=lambda k: -groups.samples[k])]
    votes = [_write_votes(groups.samples[k], k) for k in said]
    size = f"{100 * _SHARE:.0f} % of the rows"
    size = size if groups.n_sampled is None else f"{groups.n_sampled:,} rows"
    samples = f"of {N_SAMPLES} samples of {size}, "
    samples += join_names(votes, len(votes))
    if groups.n_groups > 1 and n_clusters == groups.n_groups:
        sure = "" if groups.samples[n_clusters] >= _SURE else "Perhaps "
        return f"{sure}{n_clusters} separate groups: {samples}."
    if groups.n_groups > 1:
        groups_found = f"{groups.n_groups} separate groups rather than {n_clusters}"
        return f"The rows form {groups_found}: {samples}."
    start = "No separate groups found"
    if n_clusters > 1:
        start = f"{n_clusters} parts, not groups"
    most = f"most along {join_names(groups.along)}"
    most = most if groups.along else "in no main direction"
    end = f" But {samples}." if others else ""
    ranked = "in the ranks of their values, the rows vary gradually"
    return f"{start}: {ranked}, {most}.{end}"


def name_kind(n_clusters: int, groups: Groups | None) -> str:
    """Return the word for a cluster: "part" if there are no separate groups.

    Examples
    --------
    >>> name_kind(3, Groups(1, {1: 10}))
    'part'
    """
    gradual = groups is not None and bool(groups.samples) and groups.n_groups == 1
    return "part" if gradual and n_clusters > 1 else "cluster"


def _write_votes(votes: int, n_groups: int) -> str:
    """Format how many samples have a number of groups: "9 have 3"."""
    number = "no groups" if n_groups == 1 else str(n_groups)
    return f"{votes} {'has' if votes == 1 else 'have'} {number}"


def _draw(rows: Rows, share: float, rng: np.random.Generator) -> _Ints:
    """Sample a share of the rows without replacement, at most 1,600, in random order.

    Returns
    -------
    ndarray of shape (n_drawn,)
        Their indices among the distinct rows.
    """
    ends = np.cumsum(rows.counts.astype(np.int64))
    n_drawn = min(round(share * int(ends[-1])), _MOST_ROWS)
    drawn = rng.choice(int(ends[-1]), n_drawn, replace=False)
    return np.searchsorted(ends, drawn, side="right")


def _measure_strengths(
    matrix: sp.csr_array, samples: list[_Ints], counts: list[int]
) -> dict[int, list[list[float]]]:
    """Measure the prediction strengths of numbers of clusters, by sample.

    Every number is tried on one split of the first five samples into halves. The
    numbers that may be stable are tried on two splits of every sample.
    """
    found: dict[int, list[list[float]]] = {k: [[] for _ in samples] for k in counts}
    for turn in range(_HALVINGS):
        for s, sample in enumerate(samples):
            seed = s + N_SAMPLES * turn
            if seed == _N_FIRST:
                first = {k: np.mean(found[k][:_N_FIRST]) for k in counts}
                counts = [k for k in counts if first[k] >= _PLAUSIBLE]
            order = np.random.default_rng([SEED, seed]).permutation(sample)
            parts = np.array_split(order, 2) if counts else []
            halves = [gather_rows(matrix[part], np.ones(len(part))) for part in parts]
            for k in counts:
                found[k][s].append(_compare_halves(halves, k, seed))
    return {k: [own for own in every if own] for k, every in found.items()}


def _choose_stable(strengths: dict[int, list[list[float]]]) -> list[list[int]]:
    """List the numbers of clusters that are stable in each sample, ascending.

    A number that is much less stable than the best number is left out. A number larger
    than the best is left out, too, if a number in between is not stable: then groups
    are cut into smaller groups at the borders of bins.
    """
    estimates = {
        k: _shrink_to_mean(np.array(own))
        for k, own in strengths.items()
        if len(own) == N_SAMPLES and k <= _MOST_CLUSTERS
    }
    means = {k: float(estimate.mean()) for k, estimate in estimates.items()}
    best = max(means.values(), default=0.0)
    first = max((k for k in means if means[k] >= best - _STEADIEST), default=0)
    least = max(_STABLE, best - _STEADIER)
    stable = []
    for s in range(N_SAMPLES):
        own, last = {k: estimate[s] for k, estimate in estimates.items()}, first
        while own.get(last + 1, 0) >= _CONNECTED:
            last += 1
        stable.append([k for k in own if k <= last and own[k] >= least])
    return stable


def _shrink_to_mean(strengths: _Floats) -> _Floats:
    """Shrink each sample's mean prediction strength toward the mean of all samples."""
    own = strengths.mean(axis=1)
    within = strengths.var(axis=1, ddof=1).mean() / strengths.shape[1]
    between = own.var(ddof=1)
    kept = max(_LEAST_KEPT, 1 - within / between) if between else 0.0
    return np.asarray(own.mean() + kept * (own - own.mean()))


def _compare_halves(halves: list[Rows], k: int, seed: int) -> float:
    """Cluster two halves of a sample, and return the mean prediction strength."""
    found = [
        best_clustering(half, k, _STARTS, seed=seed, **_OPTIONS) for half in halves
    ]
    strengths = []
    for half, own, other in zip(halves, found, found[::-1], strict=True):
        placed = nearest_centers(half, other.centers).labels
        together = np.zeros((k, k))
        np.add.at(together, (own.labels, placed), 1)
        strengths.append(least_shared(together))
    return float(np.mean(strengths))


def least_shared(together: _Floats) -> float:
    """Compute the share of pairs that stay together, in the cluster with the lowest.

    Parameters
    ----------
    together : ndarray of shape (n_clusters, n_others)
        Number of rows of each cluster that are assigned to each of the other clusters.

    Returns
    -------
    float
        0 if a cluster has no pair.

    Examples
    --------
    >>> least_shared(np.array([[4.0, 0.0], [1.0, 3.0]]))
    0.5
    """
    sizes = together.sum(axis=1)
    pairs = sizes * (sizes - 1)
    if not pairs.all():
        return 0.0
    return float(((together * (together - 1)).sum(axis=1) / pairs).min())


def _split_table(matrix: sp.csr_array, whole: _Copula, k: int) -> list[_Copula]:
    """Cluster the rows of a table, and fit a copula to each of `k` clusters."""
    own = matrix[whole.drawn]
    labels = best_clustering(
        gather_rows(own, np.ones(len(whole.drawn))), k, _STARTS, seed=0, **_OPTIONS
    ).labels
    clusters = [labels == c for c in range(k)]
    return [
        _Copula(whole.coded, whole.drawn[at], first_axis(own[at]), whole)
        for at in clusters
        if at.any()
    ]


def _measure_excess(
    matrix: sp.csr_array,
    samples: list[_Ints],
    k: int,
    parts: list[_Copula],
    represent: Callable[[CodedTable], sp.csr_array],
) -> _Floats:
    """Compare the fall of the inertia in samples with that in tables with fewer groups.

    Parameters
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
        The distinct rows.
    samples : list of ndarray
        Indices of rows.
    k : int
        The number of clusters.
    parts : list of _Copula
        Those of the groups found so far; null tables are samples of them.
    represent : callable
        As in `find_groups`.

    Returns
    -------
    ndarray of shape (n_samples,)
        For each sample, the larger of two z-scores among the null tables: of the fall
        of the inertia to `k` clusters, and of its difference from the fall to `k` + 1.
    """
    few = [sample[:_MOST_IN_NULL] for sample in samples]
    own = np.array([_measure_falls(matrix[sample], k) for sample in few])
    rng = np.random.default_rng([SEED, k])
    tables = (_draw_table(parts, len(few[0]), rng) for _ in range(_NULLS * N_SAMPLES))
    null = np.array([_measure_falls(represent(table), k) for table in tables])
    return np.asarray(_standardize(own, null).max(axis=1))


def _standardize(own: _Floats, null: _Floats) -> _Floats:
    """Turn the statistics of each sample into z-scores among its null tables.

    Parameters
    ----------
    own : ndarray of shape (n_samples, 2)
    null : ndarray of shape (3 * n_samples, 2)
        Three tables for each sample, so that samples differ by as much as the null is
        uncertain; the spread is that of all tables.

    Returns
    -------
    ndarray of shape (n_samples, 2)
    """
    means = null.reshape(len(own), _NULLS, -1).mean(axis=1)
    return np.asarray((own - means) / np.maximum(null.std(axis=0, ddof=1), 1e-9))


def _measure_falls(matrix: sp.csr_array, k: int) -> list[float]:
    """Measure the share by which the inertia falls with one cluster more.

    Returns
    -------
    list of two floats
        The fall to `k` clusters, and its difference from the fall to the next number.
    """
    rows = gather_rows(matrix, np.ones(matrix.shape[0]))
    before, own, after = (
        max(best_clustering(rows, n, _STARTS, seed=0, **_OPTIONS).inertia, 1e-9)
        for n in (k - 1, k, k + 1)
    )
    fall = 1 - own / before
    return [fall, fall - (1 - after / own)]


def _draw_table(
    parts: list[_Copula], n_rows: int, rng: np.random.Generator
) -> CodedTable:
    """Sample a null table: rows of each cluster, as many as the cluster has."""
    sizes = np.array([len(part.drawn) for part in parts])
    counts = rng.multivariate_hypergeometric(sizes, min(n_rows, sizes.sum()))
    drawn = [part.draw(int(n), rng) for part, n in zip(parts, counts, strict=True)]
    model = parts[0].coded.model
    return replace(CodedTable.of_rows(*np.concatenate(drawn, axis=1)), model=model)


def first_axis(matrix: sp.csr_array) -> _Floats:
    """Compute the coordinates of rows on their first principal axis (power iteration).

    Parameters
    ----------
    matrix : csr_array of shape (n_rows, n_columns)

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> axis = first_axis(sp.csr_array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]))
    >>> abs(axis).round(2).tolist()
    [0.82, 0.41, 0.41]
    """
    axis: _Floats = np.random.default_rng(SEED).normal(size=matrix.shape[0])
    for _ in range(_STEPS):
        axis = matrix @ (matrix.T @ (axis - axis.mean()))
        axis = axis - axis.mean()
        axis /= max(float(np.linalg.norm(axis)), 1e-300)
    return axis


class _Copula:
    """The Gaussian copula of a table or cluster, from which null tables are sampled.

    Parameters
    ----------
    coded : CodedTable
        Distinct rows of a table, with their model.
    drawn : ndarray of shape (n_rows,), int64
        For each row, its index among the distinct rows.
    axis : ndarray of shape (n_rows,)
        Coordinates of the rows on their first principal axis.
    whole : _Copula or None, default=None
        That of the whole table, for the rows of a cluster. Then the values between two
        peaks of a column get cells, so that the rows of the cluster vary gradually.
    """

    def __init__(
        self,
        coded: CodedTable,
        drawn: _Ints,
        axis: _Floats,
        whole: _Copula | None = None,
    ) -> None:
        self.coded, self.drawn = coded, drawn
        self._model, self._axis = coded.model, axis
        layers = [coded.bins] if coded.leaves is None else [coded.bins, coded.leaves]
        self._codes = np.stack([codes[drawn] for codes in layers])
        # An informative missing cell has the last code; it stays a missing cell here.
        bins = self._codes[0]
        informative = self._model.informative & (bins == self._model.n_bins - 1)
        self._seen = (bins != coded.missing) & ~informative
        self._ranks = np.full(bins.shape, -1)
        self.values: list[NDArray[Any]] = []  # of each column: the codes of each rank
        self.counts: list[_Floats] = []  # and how often null tables have it
        for j in range(bins.shape[1]):
            self._rank_column(j, whole)
        self._root = self._find_root()

    def _rank_column(self, j: int, whole: _Copula | None) -> None:
        """Rank the values of a column, from 0, and count them; -1 is missing."""
        seen = self._seen[:, j]
        codes = self._codes[:, seen, j]
        distinct, first, ranks = np.unique(
            codes[-1], return_index=True, return_inverse=True
        )
        values = codes[:, first]
        if isinstance(self._model.bins[j], CategoricalBins):
            means = np.bincount(ranks, self._axis[seen]) / np.bincount(ranks)
            order = np.argsort(means, kind="stable")
            values, ranks = values[:, order], np.argsort(order)[ranks]
        elif whole is not None:  # with the values that the cluster does not have
            values = whole.values[j]
            ranks = np.searchsorted(values[-1], distinct)[ranks]
        counts = np.bincount(ranks, minlength=values.shape[1]).astype(np.float64)
        if whole is not None and len(counts):
            place = {int(code): r for r, code in enumerate(whole.values[j][-1])}
            at = [place[int(code)] for code in values[-1]]
            counts = _fill_holes(counts, whole.counts[j][at])
        self._ranks[seen, j] = ranks
        self.values.append(values)
        self.counts.append(counts)

    def _find_root(self) -> _Floats:
        """Compute a square root of the correlation matrix of the copula."""
        shape = self._ranks.shape
        scores, series = np.zeros(shape), np.zeros((shape[1], _N_TERMS))
        for j in range(shape[1]):
            seen = self._seen[:, j]
            if seen.any():
                _, place, counts = np.unique(
                    self._ranks[seen, j], return_inverse=True, return_counts=True
                )
                own, series[j] = _score_ranks(counts)
                scores[seen, j] = own[place]
        observed = _correlate(scores, self._seen.astype(np.float64))
        values, vectors = np.linalg.eigh(_undo_ties(observed, series))
        # The largest eigenvalue of independent columns (Marchenko and Pastur).
        n_pairs = max(self._seen.mean() ** 2 * shape[0], 1)
        chance = (1 + np.sqrt(shape[1] / n_pairs)) ** 2
        self._has_axis = values[-1] > _CHANCE * chance
        root = vectors * np.sqrt(np.maximum(values, 0))  # of the nearest valid matrix
        return np.asarray(root / np.linalg.norm(root, axis=1, keepdims=True))

    def draw(self, n_rows: int, rng: np.random.Generator) -> NDArray[Any]:
        """Sample the codes of a null table, of shape (n_layers, n_rows, n_features).

        The missing cells are those of sampled rows. The values of each column are
        sampled by its counts, and are in the order of a normal variable.
        """
        rows = rng.permutation(len(self._axis))[:n_rows]
        n_features = len(self._root)
        normal = rng.normal(size=(n_rows, n_features))
        with one_blas_thread():  # starting threads would take longer than the work
            if n_rows > 2 * n_features:  # remove correlations by chance
                normal = np.linalg.qr(normal - normal.mean(axis=0))[0]
            latent = normal @ self._root.T
        drawn = self._codes[:, rows]
        for j in range(n_features):
            seen = np.flatnonzero(self._seen[rows, j])
            to = seen[np.argsort(latent[seen, j])]
            ends = np.cumsum(self.counts[j])
            n_cells = int(self._seen[:, j].sum())  # sampled without replacement
            cells = np.sort(rng.permutation(n_cells)[: len(seen)])
            shares = (cells + 0.5) / max(n_cells, 1)
            ranks = np.searchsorted(ends[:-1], shares * ends[-1:].sum())
            drawn[:, to, j] = self.values[j][:, ranks]
        return drawn

    def along(self) -> tuple[str, ...]:
        """Name the columns that vary most along the first axis (correlation ratio)."""
        if not self._has_axis:
            return ()
        shares = np.zeros(len(self._root))
        for j in range(len(shares)):
            seen = self._seen[:, j]
            if seen.sum() < _LEAST_PAIRS or not self._model.scales[j]:
                continue
            own, place = self._axis[seen], self._ranks[seen, j]
            sizes = np.bincount(place)
            between = np.bincount(place, own - own.mean()) ** 2 / sizes
            shares[j] = between.sum() / len(self._axis)
        order = np.argsort(-shares, kind="stable")[:_N_ALONG]
        return tuple(self._model.names[j] for j in order if shares[j] > 0)


def _fill_holes(counts: _Floats, whole: _Floats) -> _Floats:
    """Let the shares of a cluster rise to one peak and fall, by isotonic regression.

    Parameters
    ----------
    counts, whole : ndarray of shape (n_ranks,)
        How often the cluster and the table have each rank of a column.

    Returns
    -------
    ndarray of shape (n_ranks,)
        New counts of the cluster, with the same sum.

    Examples
    --------
    >>> _fill_holes(np.array([6.0, 0.0, 4.0]), np.full(3, 10.0)).tolist()
    [6.0, 2.0, 2.0]
    """
    shares, peak = counts / whole, int(np.argmax(counts / whole))
    rise = isotonic_regression(shares[:peak], weights=whole[:peak]).x if peak else []
    fall = isotonic_regression(shares[peak:], weights=whole[peak:], increasing=False)
    return np.asarray(np.concatenate([rise, fall.x]) * whole)


def _score_ranks(counts: _Ints) -> tuple[_Floats, _Floats]:
    """Score the ranks of a column by their mid-ranks, with mean 0 and variance 1.

    Parameters
    ----------
    counts : ndarray of shape (n_ranks,)

    Returns
    -------
    ndarray of shape (n_ranks,)
        The scores.
    ndarray of shape (40,)
        The coefficients of the scores, as a function of a normal variable that is cut
        into these ranks, in normalized Hermite polynomials of degree 1, 2, ...
    """
    shares = counts / counts.sum()
    ends = np.cumsum(shares)
    scores = ends - shares / 2 - 0.5
    spread = np.sqrt(shares @ scores**2)
    scores = scores / spread if spread else scores
    cuts = ndtri(ends[:-1])
    steps = np.diff(scores) * np.exp(-cuts * cuts / 2) / np.sqrt(2 * np.pi)
    series = np.empty(_N_TERMS)
    before, own = np.zeros_like(cuts), np.ones_like(cuts)
    for m in range(1, _N_TERMS + 1):
        series[m - 1] = steps @ own / np.sqrt(m)
        before, own = own, (cuts * own - np.sqrt(m - 1) * before) / np.sqrt(m)
    return scores, series


def _correlate(scores: _Floats, seen: _Floats) -> _Floats:
    """Correlate columns over the rows that observe both; 0 with fewer than ten rows."""
    n_pairs = seen.T @ seen
    sure = np.maximum(n_pairs, 1)
    means = scores.T @ seen / sure
    covariance = scores.T @ scores / sure - means * means.T
    variance = np.maximum((scores * scores).T @ seen / sure - means**2, 0)
    spread = np.sqrt(variance * variance.T)
    enough = (n_pairs >= _LEAST_PAIRS) & (spread > 1e-9)
    return np.where(enough, covariance / np.where(enough, spread, 1), 0)


def _undo_ties(observed: _Floats, series: _Floats) -> _Floats:
    """Compute the normal correlations that give the observed correlations of ranks."""
    tried = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 81))
    powers = tried[:, None] ** np.arange(1, _N_TERMS + 1)
    found = np.eye(len(series))
    for i in range(len(series)):
        curves = (series[i] * series[:i]) @ powers.T
        for j, curve in enumerate(curves):
            if curve[-1] - curve[0] > 1e-9:
                found[i, j] = found[j, i] = np.interp(observed[i, j], curve, tried)
    return found
