"""Fill numbers within their bins, by a regression on the other numbers of the row.

The other cells of a row give the expected value of a number, at the resolution of a few
bins. The difference of the number from this expected value, the residual, is predicted
from the row's other numbers ::

    residual_j / s_j = sum over observed numbers i of
                       a_ij (x_i - mean of its bin) / s_i + b_ij (x_i - mean_i) / s_i

with ``s`` the standard deviations of the columns. So with ``f = 32 + 1.8 c`` a missing
f is filled almost exactly if c is observed. The slopes are those of a ridge regression,
with the penalty of the highest marginal likelihood. Offsets, values and residuals are
limited to five standard deviations, and a filled number to the observed range.

The slopes hold where the bins leave a typical variance. Where they leave less, the
prediction and the expected value are combined by precision: a cell whose bins leave no
variance keeps its expected value.

The mean and standard deviation of a bin may depend on one label of the row, such as the
product that a price belongs to. They are then computed from the rows with this bin and
label, and shrunk toward those of the bin by analysis of variance.

The regression, and also the means of the bins, are learned from a sample of distinct
rows: the rows whose content has the lowest hashes. The sample depends on the rows only,
not on how the table was divided or ordered, so a fit to batches has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from ._coded import CodedTable
from ._model import Model
from ._pairwise import Pairwise
from ._row_summary import find_lowest, hash_rows, limit_copies
from ._saving import State, check, is_finite
from ._shared.resources import one_blas_thread, run_pieces

MOST_ROWS = 10_000
"""Maximum number of distinct rows from which the slopes are learned."""
MOST_SOURCES = 16
"""Maximum number of columns that the residual of a number is predicted from."""
PENALTIES = 10.0 ** (np.arange(-8, 17) / 4)
"""Penalties of the ridge regression to choose from, in rows."""
PLACES = np.array([0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1])
"""Levels of the quantiles that are stored for the numbers of each bin."""
TAILS = np.array([0, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4])
ERROR_PLACES = np.concatenate([TAILS, [0.5], 1 - TAILS[::-1]])
"""Levels of the quantiles that are stored for the errors at fit."""

_MOST_NUMBERS = 1000  # columns of numbers; with more there is no regression
_MOST_VALUES = 1 << 20  # maximum number of values in the sample
_MOST_CELLS = 1 << 18  # probabilities that are computed at a time
_FEWEST_ROWS = 100
_LIMIT = 5.0  # limit of standardized offsets, values and residuals
_MOST_SCORE = 20.0  # largest error, in stated standard deviations
_EXACT = 1e-12  # share of the sum of squares that counts as 0
_USEFUL = 0.95  # share of the variance within bins that a useful label leaves, at most
_CHANCE = 0.01  # probability that any column of uninformative labels seems informative
_MOST_COMPARED = 1 << 26  # rows compared between labels, of all pairs of columns
_ROWS_OF_A_PAIR = 1300  # fixed cost of a pair of columns, as a number of rows
_PIECE = 16384  # rows that a thread hashes at a time
_STIRS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]
_Reader = Callable[[int], tuple[_Floats, NDArray[Any]]]


@dataclass(frozen=True)
class NumberSample:
    """A sample of the distinct rows of a table, with their codes and numbers.

    Attributes
    ----------
    hashes : ndarray of shape (n_rows,), uint64, strictly ascending
    rows : ndarray of shape (n_rows, n_features), uint8 or uint16
        Codes, including those of informative missing cells.
    values : ndarray of shape (n_rows, n_numbers), float64
        Numbers, NaN if missing.
    counts : ndarray of shape (n_rows,), int64
        How often each row occurs in the table.
    low, high : ndarray of shape (n_numbers,), float64
        The range of each number in all rows; NaN if none is observed.
    sampled : bool
        Whether some distinct rows were not kept.
    """

    hashes: NDArray[np.uint64]
    rows: NDArray[Any]
    values: _Floats
    counts: _Ints
    low: _Floats
    high: _Floats
    sampled: bool = False


@dataclass(frozen=True)
class NumberModel:
    """The fitted regression, and the moments and quantiles of numbers in their bins.

    Attributes
    ----------
    features : ndarray of shape (n_numbers,), int64
        Indices of the features that are numbers or times. The place of such a feature
        is its position here, and its line in the arrays below.
    centers, scales : ndarray of shape (n_numbers,), float64
        Mean and standard deviation; a scale of 0 if the column takes no part.
    low, high : ndarray of shape (n_numbers,), float64
        The observed range.
    means, spreads : ndarray of shape (n_numbers, n_bins), float64
        Mean and standard deviation of the numbers in each bin; `n_bins` is the largest
        number of bins of any feature.
    quantiles : ndarray of shape (n_numbers, n_bins, n_places), float64
        Quantiles of the numbers in each bin, at the levels `PLACES`.
    sources : ndarray of shape (n_numbers, n_sources), int64
        The places of the numbers that predict each number's residual; -1 for none.
    slopes : ndarray of shape (n_numbers, n_sources, 2), float64
        Slopes of a source's offset from the mean of its bin, and of its value.
    errors : ndarray of shape (n_numbers, 2 n_sources, 2 n_sources), float64
        A square root of the covariance of the slopes.
    explained : ndarray of shape (n_numbers, n_sources), float64
        The share of each source in what the regression explains; the sum is 1 or 0.
    left : ndarray of shape (n_numbers, 2), float64, from 0 to 1
        The share of the variance that is left where no source is observed, and where
        all are.
    typical : ndarray of shape (n_numbers,), float64
        The standard deviation that the bins leave in the fitted rows (root mean
        square), divided by the standard deviation of the column.
    scores : ndarray of shape (n_numbers, n_scores), float64
        Quantiles of the errors of the fitted numbers, in stated standard deviations,
        at the levels `ERROR_PLACES`; 0 if unknown (cascade, booleans).
    labels : ndarray of shape (n_numbers,), int64
        The feature whose labels explain most of each number's variance within its bins;
        -1 for none.
    label_offsets : ndarray of shape (n_numbers, n_codes + 1, n_bins), float64
        Mean of the numbers with each code of that feature, minus the mean of the bin;
        0 in the lines after its codes, of which the last is for a missing label.
    label_ratios : ndarray of shape (n_numbers, n_codes + 1, n_bins), float64
        Standard deviation of the numbers with each code of that feature, divided by
        that of the bin; 1 in the lines after its codes.
    """

    features: _Ints
    centers: _Floats
    scales: _Floats
    low: _Floats
    high: _Floats
    means: _Floats
    spreads: _Floats
    quantiles: _Floats
    sources: _Ints
    slopes: _Floats
    errors: _Floats
    explained: _Floats
    left: _Floats
    typical: _Floats
    scores: _Floats
    labels: _Ints
    label_offsets: _Floats
    label_ratios: _Floats

    def place(self, j: int) -> int | None:
        """Find the place of a feature among the numbers; None if it is not there."""
        at = int(np.searchsorted(self.features, j))
        found = at < len(self.features) and self.features[at] == j
        return at if found else None

    def find_moments(
        self, t: int, rows: NDArray[Any], n_bins: int
    ) -> tuple[_Floats, _Floats]:
        """Return mean and standard deviation of a number in each bin, given a label.

        Parameters
        ----------
        t : int
            The place of the number.
        rows : ndarray of shape (n_rows, n_features)
            The codes of the rows.
        n_bins : int
            Number of bins of the number.

        Returns
        -------
        means, spreads : ndarray of shape (n_rows, n_bins)
        """
        at = np.minimum(rows[:, self.labels[t]], self.label_offsets.shape[1] - 1)
        means = self.means[t, :n_bins] + self.label_offsets[t, at, :n_bins]
        return means, self.spreads[t, :n_bins] * self.label_ratios[t, at, :n_bins]

    def compute_intervals(
        self, t: int, means: _Floats, deviations: _Floats, level: float
    ) -> _Floats | None:
        """Compute prediction intervals of numbers from the quantiles of errors at fit.

        Parameters
        ----------
        t : int
            The place of the number.
        means, deviations : ndarray of shape (n_cells,)
            The filled numbers, and their stated standard deviations.
        level : float
            The coverage probability of the intervals.

        Returns
        -------
        ndarray of shape (n_cells, 2), or None if the errors are not known
        """
        if not self.scores[t].any():
            return None
        places = [(1 - level) / 2, (1 + level) / 2]
        ends = np.interp(places, ERROR_PLACES, self.scores[t])
        found = means[:, None] + deviations[:, None] * ends
        return np.asarray(np.clip(found, self.low[t], self.high[t]))

    def find_quantiles(
        self, t: int, rows: NDArray[Any], shares: _Floats, places: _Floats
    ) -> tuple[_Floats, NDArray[np.bool_]]:
        """Compute quantiles of a number from distributions over its bins.

        Parameters
        ----------
        t : int
            The place of the number.
        rows : ndarray of shape (n_cells, n_features)
            The codes of the rows of the cells.
        shares : ndarray of shape (n_cells, n_bins)
            Probabilities of the bins.
        places : ndarray of shape (n_cells,), from 0 to 1
            The level of each cell's quantile.

        Returns
        -------
        ndarray of shape (n_cells,)
            The quantiles.
        ndarray of shape (n_cells,), bool
            Whether the quantile is a frequent value: two stored quantiles of the bin
            equal it, and it is within two standard deviations of the mean of the
            numbers with the row's label.
        """
        reached = np.cumsum(shares, axis=1)
        places = places * reached[:, -1]
        picks = (reached[:, :-1] <= places[:, None]).sum(axis=1)
        cells = np.arange(len(shares))
        own = np.maximum(shares[cells, picks], np.finfo(float).tiny)
        inside = np.clip((places - reached[cells, picks]) / own + 1, 0, 1)
        at = np.clip(np.searchsorted(PLACES, inside, side="right"), 1, len(PLACES) - 1)
        above = (inside - PLACES[at - 1]) / (PLACES[at] - PLACES[at - 1])
        low, high = self.quantiles[t, picks, at - 1], self.quantiles[t, picks, at]
        found = _interpolate(low, high, above)
        if self.labels[t] < 0:
            return found, low == high
        means, spreads = self.find_moments(t, rows, shares.shape[1])
        mean, spread = means[cells, picks], spreads[cells, picks]
        frequent = (low == high) & (np.abs(found - mean) <= 2 * spread)
        whole = np.where(self.spreads[t, picks] > 0, self.spreads[t, picks], 1)
        moved = mean + (found - self.means[t, picks]) * (spread / whole)
        moved = np.clip(moved, self.low[t], self.high[t])
        return np.where(frequent, found, moved), frequent

    def predict(
        self, t: int, read: _Reader, deviations: _Floats
    ) -> tuple[_Floats, _Floats]:
        """Predict the residuals of a number from other numbers of the rows.

        Parameters
        ----------
        t : int
            The place of the number.
        read : callable
            Reads another number by its place: its values and codes in these rows.
        deviations : ndarray of shape (n_rows,)
            The standard deviations of the number that the bins leave in each row.

        Returns
        -------
        shift : ndarray of shape (n_rows,)
            The predicted residuals, to be added to the expected values.
        left : ndarray of shape (n_rows,), from 0 to 1
            The share of the variance that stays unexplained.
        """
        shift, known = np.zeros((2, len(deviations)))
        for k, s in enumerate(self.sources[t].tolist()):
            if s >= 0:
                offsets, values, observed = self.standardize(s, *read(s))
                shift += self.slopes[t, k, 0] * offsets + self.slopes[t, k, 1] * values
                known += self.explained[t, k] * observed
        none, every = self.left[t]
        left = none + (every - none) * np.minimum(known, 1)
        # At the typical variance, the prediction explains the share 1 - left. So its
        # own error has the variance left / (1 - left), in units of typical variances.
        with np.errstate(over="ignore"):  # a model file can have any scale
            ratio = deviations / (self.scales[t] * self.typical[t] or 1)
        ratio = np.clip(ratio, 1e-15, 1e15) ** 2
        weight = 1 / np.maximum(1, 1 - left + left / ratio)
        unexplained = (1 - (1 - left) * weight) ** 2
        unexplained += (1 - left) * left * weight**2 / ratio
        return self.scales[t] * shift * weight, unexplained

    def standardize(
        self, s: int, values: _Floats, codes: NDArray[Any]
    ) -> tuple[_Floats, _Floats, NDArray[np.bool_]]:
        """Standardize the values of a number, and their offsets from the bin means.

        Returns
        -------
        offsets, values : ndarray of shape (n_rows,), float64
            0 if missing.
        observed : ndarray of shape (n_rows,), bool
        """
        observed = ~np.isnan(values)
        if not self.scales[s] > 0:
            return np.zeros(len(values)), np.zeros(len(values)), observed
        # If the cell is missing, any bin's mean can be used: the offset becomes 0.
        means = self.means[s][np.minimum(codes, self.means.shape[1] - 1)]
        return (
            _clip((values - means) / self.scales[s]),
            _clip((values - self.centers[s]) / self.scales[s]),
            observed,
        )


def _clip(scaled: _Floats) -> _Floats:
    """Clip standardized numbers to five standard deviations; NaN becomes 0."""
    return np.clip(np.nan_to_num(scaled), -_LIMIT, _LIMIT)


def _interpolate(low: _Floats, high: _Floats, share: _Floats) -> _Floats:
    """Interpolate between two numbers: exact if they are equal, without overflow."""
    return np.asarray(np.where(low == high, low, low * (1 - share) + high * share))


def list_numbers(model: Model) -> _Ints:
    """List the numeric and time features with at least one observed value."""
    features = zip(model.types, model.bins, strict=True)
    return np.array(
        [
            j
            for j, (column, bins) in enumerate(features)
            if not column.has_labels and bins.n_bins
        ],
        np.int64,
    )


# ------------------------------------------------------------------------- the sample


def sample_numbers(
    model: Model,
    coded: CodedTable,
    n_threads: int,
    copies: NDArray[Any] | None = None,
) -> NumberSample:
    """Sample the distinct rows of a table with the lowest hashes.

    Parameters
    ----------
    model : Model
    coded : CodedTable
    n_threads : int
    copies : ndarray of shape (n_samples,), or None
        The weight of each row; None means 1.

    Returns
    -------
    NumberSample
    """
    features = list_numbers(model)
    columns = [coded.columns[j].values for j in features.tolist()]
    n_rows = len(coded.index)
    hashes = np.empty(n_rows, np.uint64)

    def hash_some(first: int, last: int) -> None:
        own = hashes[first:last]
        hash_rows(coded.bins[coded.index[first:last]], np.uint64(0), own)
        for values in columns:
            plain = values[first:last] + 0.0  # no -0.0
            plain[np.isnan(plain)] = np.nan  # one bit pattern for every NaN
            _mix_hashes(own, plain.view(np.uint64))

    run_pieces(hash_some, n_rows, _PIECE, n_threads)
    if copies is None:
        copies = np.ones(n_rows, np.int64)
    some = np.flatnonzero(copies)
    most = _choose_sample_size(len(columns))
    at, counts, sampled = find_lowest(hashes[some], copies[some], most)
    at = some[at]
    low, high = (
        np.array([reduce(values[some]) for values in columns], np.float64)
        for reduce in (np.fmin.reduce, np.fmax.reduce)
    )
    values = np.empty((len(at), len(columns)))
    for s, whole in enumerate(columns):
        values[:, s] = whole[at]
    rows = coded.bins[coded.index[at]]
    return NumberSample(hashes[at], rows, values, counts, low, high, sampled)


def _choose_sample_size(n_numbers: int) -> int:
    """Choose how many rows to sample, by the number of numeric columns."""
    return min(MOST_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // max(1, n_numbers)))


def _mix_hashes(hashes: NDArray[np.uint64], bits: NDArray[np.uint64]) -> None:
    """Mix 64 bits into each hash, by the finalizer of splitmix64."""
    hashes += bits
    for shift, stir in zip((30, 27), _STIRS, strict=True):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= stir
    hashes ^= hashes >> np.uint64(31)


def merge_samples(a: NumberSample, b: NumberSample) -> NumberSample:
    """Merge the samples of two parts of a table, in either order.

    Parameters
    ----------
    a, b : NumberSample

    Returns
    -------
    NumberSample
    """
    hashes = np.concatenate([a.hashes, b.hashes])
    counts = np.concatenate([a.counts, b.counts])
    at, counts, sampled = find_lowest(hashes, counts, _choose_sample_size(len(a.low)))
    return NumberSample(
        hashes[at],
        np.concatenate([a.rows, b.rows])[at],
        np.concatenate([a.values, b.values])[at],
        counts,
        np.fmin(a.low, b.low),
        np.fmax(a.high, b.high),
        a.sampled or b.sampled or sampled,
    )


# ----------------------------------------------------------------------- the learning


def learn_numbers(model: Model, sample: NumberSample, n_threads: int) -> NumberModel:
    """Learn the regression and the quantiles of bins from a sample of rows.

    No regression is fitted with the cascade, where a sampled row would be estimated
    from itself, nor for booleans, whose expected value is a probability.

    Parameters
    ----------
    model : Model
    sample : NumberSample
        The sample of all rows.
    n_threads : int

    Returns
    -------
    NumberModel
    """
    weights = limit_copies(sample.counts, sample.sampled).astype(np.float64)
    blank = vars(_outline(model, 1))
    learned = NumberModel(**{name: array.copy() for name, array in blank.items()})
    n_numbers = len(learned.features)
    learned.low[:], learned.high[:] = sample.low, sample.high
    for s in range(n_numbers):
        moments = _measure_column(sample.values[:, s], weights)
        learned.centers[s], learned.scales[s] = moments
        _summarize_bins(model, learned, s, sample, weights)
    learned = _learn_labels(model, learned, sample, weights)
    if isinstance(model.matcher, Pairwise) and 0 < n_numbers <= _MOST_NUMBERS:
        with one_blas_thread():  # starting threads would take longer than the work
            _learn_slopes(model, learned, sample, weights, n_threads)
    return learned


def _outline(model: Model, n_codes: int) -> NumberModel:
    """Make a `NumberModel` without sources and labels, in arrays that take no memory.

    Parameters
    ----------
    model : Model
    n_codes : int
        Lines of `label_offsets` and `label_ratios` for each number.
    """
    features = list_numbers(model)
    n_sources = min(MOST_SOURCES, max(0, len(features) - 1))
    most = max((len(model.typical[j].spread) for j in features), default=0)

    def fill(value: float, *shape: int) -> NDArray[Any]:
        return np.broadcast_to(value, (len(features), *shape))

    return NumberModel(
        features, centers=fill(0.0), scales=fill(0.0), low=fill(0.0), high=fill(0.0),
        means=fill(0.0, most), spreads=fill(0.0, most),
        quantiles=fill(0.0, most, len(PLACES)), sources=fill(-1, n_sources),
        slopes=fill(0.0, n_sources, 2),
        errors=fill(0.0, 2 * n_sources, 2 * n_sources),
        explained=fill(0.0, n_sources), left=fill(1.0, 2), typical=fill(0.0),
        scores=fill(0.0, len(ERROR_PLACES)), labels=fill(-1),
        label_offsets=fill(0.0, n_codes, most), label_ratios=fill(1.0, n_codes, most),
    )  # fmt: skip


def _learn_slopes(
    model: Model, learned: NumberModel, sample: NumberSample, weights: _Floats,
    n_threads: int,
) -> None:  # fmt: skip
    """Fit the regression of each number, and write it to the arrays of `learned`."""
    features, scales = learned.features.tolist(), learned.scales

    def read(s: int) -> tuple[_Floats, NDArray[Any]]:
        return sample.values[:, s], sample.rows[:, features[s]]

    scaled = [learned.standardize(s, *read(s)) for s in range(len(features))]
    inputs = np.array([part[:2] for part in scaled])
    observed = np.array([part[2] for part in scaled])
    safe = np.where(scales > 0, scales, 1)
    expected, variances = _expect(model, learned, sample.rows, safe, n_threads)
    with np.errstate(over="ignore"):  # in numbers without a regression
        residuals = _clip((sample.values.T - expected) / safe[:, None])  # 0 if missing
    wanted = [scales[t] > 0 and model.types[j].form != "boolean"
              for t, j in enumerate(features)]  # fmt: skip
    candidates = _mark_candidates(model.matcher, learned.features, scales)
    related = _relate(inputs, residuals, observed, weights)
    for t in np.flatnonzero(wanted).tolist():
        some = np.flatnonzero(observed[t])
        own_variances = variances[t, some] * weights[some]
        learned.typical[t] = np.sqrt(own_variances.sum() / weights[some].sum())
        best = np.argsort(-np.where(candidates[t], related[t], -1), kind="stable")
        sources = np.sort(best[: min(MOST_SOURCES, int(candidates[t].sum()))])
        degrees = 0.0
        if len(sources):
            own = np.ix_(sources, some)
            degrees = _fit_regression(
                learned, t, sources, inputs[sources][..., some], observed[own],
                residuals[t, some], weights[some],
            )  # fmt: skip
        deviations = np.sqrt(variances[t])
        shift, left = learned.predict(t, read, scales[t] * deviations)
        means = np.clip(expected[t] + shift, learned.low[t], learned.high[t])
        stated = deviations * np.sqrt(left)
        errors = (sample.values[:, t] - means) / scales[t]
        scores = (errors / np.maximum(stated, _EXACT))[some]
        j = features[t]
        totals = model.totals_by_feature[j][: len(model.typical[j].spread)]
        degrees += np.count_nonzero(totals)  # each bin has a mean
        learned.scores[t] = _find_error_quantiles(scores, weights[some], degrees)


def _find_error_quantiles(scores: _Floats, weights: _Floats, degrees: float) -> _Floats:
    """Estimate the quantiles of errors of new numbers, in stated standard deviations.

    The errors at fit are smaller, so they are scaled up by the `degrees` of freedom of
    the fit. A new number lies beyond all n fitted numbers with probability 2 / (n + 1).
    """
    n_rows = weights.sum()
    scores = scores * np.sqrt(n_rows / max(n_rows - degrees, 1.0))
    scores = np.clip(scores, -_MOST_SCORE, _MOST_SCORE)
    order = np.argsort(scores, kind="stable")
    places = (ERROR_PLACES * (n_rows + 1) - 1) / max(n_rows - 1, 1.0)
    return _weighted_quantiles(scores[order], weights[order], np.clip(places, 0.0, 1.0))


def _expect(
    model: Model, learned: NumberModel, rows: NDArray[Any], scales: _Floats,
    n_threads: int,
) -> tuple[_Floats, _Floats]:  # fmt: skip
    """Compute expected values and variances of numbers from the row's other cells.

    Returns
    -------
    expected, variances : ndarray of shape (n_numbers, n_rows)
        Variances are in units of the squares of `scales`.
    """
    features = learned.features.tolist()
    expected, variances = np.empty((2, len(features), len(rows)))

    def expect_some(first: int, last: int) -> None:
        shares = model.matcher.estimate_features(rows[first:last], features)
        for t, (j, own) in enumerate(zip(features, shares, strict=True)):
            known = drop_missing(model, j, own)
            moments = learned.find_moments(t, rows[first:last], known.shape[1])
            mean = (known * moments[0]).sum(axis=1)
            expected[t, first:last] = mean
            with np.errstate(over="ignore"):  # then the number has no regression
                apart = ((moments[0] - mean[:, None]) / scales[t]) ** 2
                apart += (moments[1] / scales[t]) ** 2
                variances[t, first:last] = (known * apart).sum(axis=1)

    piece = max(1, _MOST_CELLS // max(1, int(model.n_bins[features].sum())))
    run_pieces(expect_some, len(rows), piece, n_threads)
    return expected, variances


def drop_missing(model: Model, j: int, shares: _Floats) -> _Floats:
    """Drop the probability of an informative feature's missing bin, and normalize.

    Parameters
    ----------
    model : Model
    j : int
    shares : ndarray of shape (n_cells, n_bins)
        Probabilities of all bins of feature j.

    Returns
    -------
    ndarray of shape (n_cells, n_bins)
        Probabilities of the bins with values.
    """
    if not model.informative[j]:
        return shares
    n_bins = len(model.typical[j].spread)
    some = shares[:, :n_bins]
    mass = some.sum(axis=1, keepdims=True)
    prior = model.totals_by_feature[j][:n_bins]
    known = some / np.maximum(mass, np.finfo(float).tiny)
    return np.asarray(np.where(mass > 0, known, prior / prior.sum()))


def _measure_column(values: _Floats, weights: _Floats) -> tuple[float, float]:
    """Compute mean and standard deviation of a number; (0, 0) if it does not vary."""
    seen = ~np.isnan(values)
    if not seen.any():
        return 0.0, 0.0
    mean, scale = _average(values[seen], weights[seen], 0.0)
    useful = scale > 0 and np.isfinite(1 / np.float64(scale))
    return (mean, scale) if useful else (0.0, 0.0)


def _mark_candidates(
    matcher: Any, features: _Ints, scales: _Floats
) -> NDArray[np.bool_]:
    """Return a mask of the numbers (columns) that can predict each number (line)."""
    good = np.tile(scales > 0, (len(features), 1))
    np.fill_diagonal(good, False)
    if matcher.counts.sources is not None:
        for t, j in enumerate(features.tolist()):
            good[t] &= np.isin(features, matcher.counts.sources[j])
    return good


def _relate(
    inputs: _Floats, residuals: _Floats, observed: NDArray[np.bool_], weights: _Floats
) -> _Floats:
    """Measure how related each number is to the residuals of each other number.

    Returns
    -------
    ndarray of shape (n_numbers, n_numbers)
        Line t, column s: the sum of the squares of t's residuals that a regression on
        the offsets of s explains, plus the sum that one on the values of s explains.
    """
    found = np.zeros((len(inputs), len(inputs)))
    for k in range(inputs.shape[1]):
        squares = (observed * weights) @ (inputs[:, k] ** 2).T
        along = (residuals * weights) @ inputs[:, k].T
        found += along**2 / np.where(squares > 0, squares, 1)
    return found


def _fit_regression(
    learned: NumberModel, t: int, sources: _Ints, inputs: _Floats,
    observed: NDArray[np.bool_], residuals: _Floats, weights: _Floats,
) -> float:  # fmt: skip
    """Fit the regression of one number on its sources, and store it in `learned`.

    Parameters
    ----------
    learned : NumberModel
    t : int
    sources : ndarray of shape (n_sources,), int64
    inputs : ndarray of shape (n_sources, 2, n_rows)
        Offsets and values of the sources.
    observed : ndarray of shape (n_sources, n_rows), bool
    residuals, weights : ndarray of shape (n_rows,)

    Returns
    -------
    float
        The effective degrees of freedom; 0 if nothing is explained.
    """
    squares = weights * residuals**2
    if not squares.sum() > 0:
        return 0.0
    size = len(sources)
    chosen = inputs.reshape(2 * size, -1)
    slopes, errors, degrees = solve_ridge(chosen, residuals, weights)
    parts = (slopes[:, None] * chosen).reshape(size, 2, -1).sum(axis=1)
    after = weights * (residuals - parts.sum(axis=0)) ** 2
    after *= weights.sum() / max(weights.sum() - degrees, 1.0)
    seen = np.maximum((weights * observed).sum(axis=1), 1)
    explained = (weights * parts**2).sum(axis=1) / seen
    if not explained.sum() > 0:
        return 0.0
    explained /= explained.sum()
    learned.sources[t, :size] = sources
    learned.slopes[t, :size] = slopes.reshape(-1, 2)
    noise = np.sqrt(after.sum() / weights.sum())
    learned.errors[t, : 2 * size, : 2 * size] = noise * errors
    learned.explained[t, :size] = explained
    known = (explained[:, None] * observed).sum(axis=0)
    learned.left[t] = _fit_unexplained(known, squares, after, weights.sum())
    return degrees


def solve_ridge(
    inputs: _Floats, targets: _Floats, weights: _Floats
) -> tuple[_Floats, _Floats, float]:
    """Fit a ridge regression, with the penalty of the highest marginal likelihood.

    The prior of the slopes is normal: its variance is that of the noise, divided by the
    penalty.

    Parameters
    ----------
    inputs : ndarray of shape (n_inputs, n_rows)
    targets, weights : ndarray of shape (n_rows,)

    Returns
    -------
    slopes : ndarray of shape (n_inputs,)
    errors : ndarray of shape (n_inputs, n_inputs)
        A square root of the covariance of the slopes, for noise of variance 1.
    degrees : float
        The effective degrees of freedom.

    Examples
    --------
    >>> x = np.array([[-1.0, 0.0, 1.0, 2.0]])
    >>> slopes, errors, degrees = solve_ridge(x, 3 * x[0], np.ones(4))
    >>> slopes.round(2), round(degrees, 2)
    (array([3.]), 1.0)
    """
    weighted = inputs * weights
    lengths, axes = np.linalg.eigh(weighted @ inputs.T)
    lengths = np.maximum(lengths, 0)
    along = axes.T @ (weighted @ targets)
    total = (weights * targets**2).sum()
    shrunk = lengths + PENALTIES[:, None]
    left = np.maximum(total - (along**2 / shrunk).sum(axis=1), _EXACT * total)
    misfit = weights.sum() * np.log(left)
    misfit += np.log(shrunk / PENALTIES[:, None]).sum(axis=1)
    best = shrunk[int(misfit.argmin())]
    degrees = float((lengths / best).sum())
    return axes @ (along / best), axes / np.sqrt(best), degrees


def _fit_unexplained(
    known: _Floats, before: _Floats, after: _Floats, n_rows: float
) -> _Floats:
    """Fit the unexplained share of the variance, with no source and with all sources.

    The share is linear in `known`, which is 0 with no source and 1 with all. One added
    row, of which nothing is explained, keeps the fit defined.
    """
    share = np.stack([1 - known, known])
    one = before.sum() / n_rows * np.eye(2)
    moments = (share * before) @ share.T + one
    left = np.linalg.solve(moments, (share * after).sum(axis=1) + one.sum(axis=1))
    return np.clip(left, 0, 1)


# --------------------------------------------------------- numbers within their bins


def _learn_labels(
    model: Model, learned: NumberModel, sample: NumberSample, weights: _Floats
) -> NumberModel:
    """Find the feature whose labels explain most of each number within its bins.

    If there are very many pairs of a number and a feature with labels, they are not
    compared, to limit time, and no feature is found.
    """
    n_bins = learned.means.shape[1]
    codes = {
        i: np.minimum(sample.rows[:, i], model.n_bins[i]).astype(np.intp) * n_bins
        for i, column in enumerate(model.types)
        if model.n_bins[i] > 1 and (column.has_labels or column.form == "boolean")
    }
    n_pairs = len(codes) * len(learned.features)
    if n_pairs * (len(sample.rows) + _ROWS_OF_A_PAIR) > _MOST_COMPARED:
        return learned
    labels, found = learned.labels.copy(), {}
    for t, j in enumerate(learned.features.tolist()):
        bins = np.minimum(sample.rows[:, j], n_bins - 1).astype(np.intp)
        spreads = learned.spreads[t]
        some = np.flatnonzero(~np.isnan(sample.values[:, t]) & (spreads[bins] > 0))
        if model.types[j].form == "boolean" or not len(some):
            continue
        bins = bins[some]
        apart = (sample.values[some, t] - learned.means[t, bins]) / spreads[bins]
        parts = weights[some] * np.stack([np.ones(len(some)), apart, apart**2])
        least = _USEFUL
        for i, own in codes.items():
            shape = int(model.n_bins[i]) + 1, n_bins  # with a code for a missing label
            left, chance, offsets, ratios = _compare_labels(
                own[some] + bins, parts, shape
            )
            if left < least and chance * len(codes) < _CHANCE:
                least, labels[t], found[t] = left, i, (offsets * spreads, ratios)
    most = max((len(own[0]) for own in found.values()), default=0)
    by_label = [np.full((len(labels), most + 1, n_bins), x) for x in (0.0, 1.0)]
    for t, own in found.items():
        for whole, part in zip(by_label, own, strict=True):
            whole[t, : len(part)] = part
    offsets, ratios = by_label
    return replace(learned, labels=labels, label_offsets=offsets, label_ratios=ratios)


def _compare_labels(
    groups: _Ints, parts: _Floats, shape: tuple[int, int]
) -> tuple[float, float, _Floats, _Floats]:
    """Compare the numbers in each bin between labels of another column.

    Parameters
    ----------
    groups : ndarray of shape (n_rows,)
        Index of the pair (code, bin) of each row.
    parts : ndarray of shape (3, n_rows)
        w, w * d and w * d**2: w is the weight of a row, d its number less the mean of
        its bin, in standard deviations of the bin.
    shape : tuple
        Number of codes, the last for a missing label, and of bins.

    Returns
    -------
    float
        The share of the variance within bins that the labels are expected to leave in
        new rows, mean over the rows.
    float
        The p-value of an F test of the hypothesis that labels do not matter.
    ndarray of shape (n_codes - 1, n_bins)
        Offsets from the means of the bins: best linear predictions, with random effects
        of the labels.
    ndarray of shape (n_codes - 1, n_bins)
        Standard deviations of the numbers with each label, divided by that of the bin.
    """
    n, total, squares = (
        np.bincount(groups, part, shape[0] * shape[1]).reshape(shape)[:-1]
        for part in parts
    )
    if not squares.any():
        return 1.0, 1.0, np.zeros(n.shape), np.ones(n.shape)
    between = total**2 / np.where(n > 0, n, 1)
    inside = np.maximum(squares - between, 0)
    # One added row, with the bin's mean squared deviation, keeps the noise above 0.
    rows = np.maximum(n.sum(axis=0), 1)
    noise = inside.sum(axis=0) + squares.sum(axis=0) / rows
    noise /= np.maximum(rows - (n > 0).sum(axis=0), 0) + 1
    effect = between.sum(axis=0) - (n > 0).sum(axis=0) * noise
    useful = effect > 0
    prior = noise * rows / np.where(useful, effect, 1)
    unsure = noise / np.where(n + prior > 0, n + prior, 1)  # variance of the offsets
    left = np.where(useful, n * (noise + unsure), squares).sum() / squares.sum()
    offsets = np.where(useful, total / np.where(n + prior > 0, n + prior, 1), 0)
    ratios = np.sqrt((inside + noise) / np.where(n > 0, n, 1) + unsure)
    n_cells, n_filled = np.count_nonzero(n), np.count_nonzero(n.any(axis=0))
    freedom = n_cells - n_filled, n.sum() - n_cells
    chance = 1.0
    if min(freedom) > 0:
        share = between.sum() / freedom[0] * freedom[1]
        chance = float(fdtrc(*freedom, share / max(inside.sum(), _EXACT * share)))
    return float(left), chance, offsets, np.where(useful, ratios, 1)


def _summarize_bins(
    model: Model, learned: NumberModel, s: int, sample: NumberSample, weights: _Floats
) -> None:
    """Write mean, standard deviation and quantiles of the bins of a number.

    For a bin without sampled rows, its center is written. If no row of this table
    observes the number, its range is that of the centers.
    """
    j = int(learned.features[s])
    centers = model.bins[j].centers  # type: ignore[union-attr]  # it is a number
    codes, values = sample.rows[:, j], sample.values[:, s]
    order = np.lexsort((values, codes))
    starts = np.searchsorted(codes[order], np.arange(len(centers) + 1))
    for k, center in enumerate(centers.tolist()):
        at = order[starts[k] : starts[k + 1]]
        learned.means[s, k] = learned.quantiles[s, k] = center
        if len(at):
            own, counts = values[at], weights[at]
            learned.quantiles[s, k] = _weighted_quantiles(own, counts, PLACES)
            learned.means[s, k], learned.spreads[s, k] = _average(own, counts, center)
    low, high = learned.low, learned.high
    low[s] = min(centers[0], high[s]) if np.isnan(low[s]) else low[s]
    high[s] = max(centers[-1], low[s]) if np.isnan(high[s]) else high[s]
    learned.quantiles[s, 0, 0] = min(learned.quantiles[s, 0, 0], low[s])
    last = len(centers) - 1
    learned.quantiles[s, last, -1] = max(learned.quantiles[s, last, -1], high[s])


def _average(values: _Floats, weights: _Floats, center: float) -> tuple[float, float]:
    """Compute the weighted mean and standard deviation of values near `center`.

    The center is subtracted first, to keep digits. Returns (center, 0) on overflow.
    """
    shares = weights / weights.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        shift = (shares * (values - center)).sum()
        spread = np.sqrt((shares * (values - center - shift) ** 2).sum())
    fine = np.isfinite(center + shift) and np.isfinite(spread)
    return (float(center + shift), float(spread)) if fine else (center, 0.0)


def _weighted_quantiles(values: _Floats, weights: _Floats, wanted: _Floats) -> _Floats:
    """Interpolate the quantiles of levels `wanted` of ascending values with weights."""
    reached = np.cumsum(weights)
    places = wanted * (reached[-1] - 1)
    below = np.searchsorted(reached, np.floor(places), side="right")
    above = np.searchsorted(reached, np.ceil(places), side="right")
    share = places - np.floor(places)
    last = len(values) - 1
    low, high = values[np.minimum(below, last)], values[np.minimum(above, last)]
    return np.maximum.accumulate(_interpolate(low, high, share))  # despite rounding


# -------------------------------------------------------------------------- the file


def pack_numbers(learned: NumberModel) -> State:
    """Convert a `NumberModel` to the state of a model file."""
    return State({}, {one.name: getattr(learned, one.name) for one in fields(learned)})


def unpack_numbers(state: State, model: Model) -> NumberModel:
    """Rebuild a `NumberModel`; raise ValueError if no fit can produce it."""
    codes = state.array("label_ratios", float, 3).shape[1]
    blank, arrays = _outline(model, codes), {}
    for name, like in vars(blank).items():
        arrays[name] = state.array(name, like.dtype, like.ndim)
        check(arrays[name].shape == like.shape, f"{name} has the wrong shape")
        check(is_finite(arrays[name]), f"{name} are not finite")
    learned, features = NumberModel(**arrays), blank.features
    check(learned.features.tolist() == features.tolist(), "numbers of other columns")
    check((np.diff(learned.quantiles, axis=2) >= 0).all(), "quantiles do not rise")
    check((np.diff(learned.scores, axis=1) >= 0).all(), "scores do not rise")
    check((learned.low <= learned.high).all(), "a range ends before it begins")
    check((learned.scales >= 0).all(), "a negative scale")
    for spreads in (learned.spreads, learned.typical, learned.label_ratios):
        check((spreads >= 0).all(), "a negative spread")
    inside = (learned.labels >= -1) & (learned.labels < len(model.types))
    check(codes > 0 and bool(inside.all()), "labels of numbers are out of range")
    check(not learned.label_offsets[:, -1].any(), "offsets of missing labels are not 0")
    inside = (learned.sources >= -1) & (learned.sources < len(features))
    check(inside.all(), "sources of numbers are out of range")
    for shares in (learned.left, learned.explained):
        check(((shares >= 0) & (shares <= 1)).all(), "a share is not from 0 to 1")
    return learned
