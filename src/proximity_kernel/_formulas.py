"""Formulas: numbers that other numbers of the same row determine.

An example is ``total = quantity * price``, or ``fahrenheit = 32 + 1.8 * celsius``. A
number is predicted by a linear function of up to three other numbers or, with products
and quotients, its logarithm by a linear function of their logarithms. The function is a
formula if the central 80 % of the residuals, observed minus predicted, are in a range
that is at most a twentieth of that of the number itself.

The function is fitted to a sample of the rows. Sources are added one by one: the number
that correlates most with what is left. Rows with large residuals, which may be errors,
are then left out of a least squares fit, which is repeated with the rows that fit. Rows
without a logarithm, as with a quantity of 0, are left out of products. At last, sources
that are not needed are removed.

A residual is measured like the tail of a number (see `_surprise`): by its distance
from the central 80 % of the residuals, in units of an exponential tail. A cell
*violates* its formula if this distance is above `FAR`. Where the formula is exact but
for rounding, the unit is the last digit of the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._number_model import NumberSample
from ._saving import check
from ._shared.resources import one_blas_thread

FAR = 8.0
"""Distance of a residual from the usual residuals above which a cell is an error."""
_MOST_SOURCES = 3
_TIGHT = 0.05  # range of the residuals, as a share of that of the number
_BETTER = 0.5  # factor by which another source must reduce the residuals
_EXACT = 1e-3  # share of the range from which on no other source is needed
_LEAST_UNIT = 0.002  # of the distance, as a share of the range of the number
_BETWEEN = 0.05  # share of a step from which on a prediction is between two steps
_DAY = 86_400.0  # seconds
_DIGITS = 6  # most decimal digits of a number that is taken for rounded
_FEWEST_ROWS = 50
_MOST_ROWS = 2000
_MOST_NUMBERS = 100  # columns of numbers; with more no formula is searched
_N_FITS = 10
_Floats = NDArray[np.float64]
Values = Sequence[NDArray[Any]] | _Floats


@dataclass(frozen=True)
class Formula:
    """A number: ``constant + sum of slope * (source - center)`` of other numbers."""

    feature: int  # the feature that is predicted
    sources: tuple[int, ...]  # the features it is predicted from, at most three
    logarithmic: bool  # whether logarithms are predicted from logarithms
    centers: tuple[float, ...]
    slopes: tuple[float, ...]
    constant: float
    # The range of the central 80 % of the residuals, and the units of the distance
    # below and above this range.
    low: float = 0.0
    high: float = 0.0
    units: tuple[float, float] = (1.0, 1.0)
    # Between rounded numbers, if the formula is exact without rounding; else 0. If it
    # gives a number between two steps, this number is not the wrong one.
    step: float = 0.0

    def predict(self, values: Values) -> _Floats:
        """Predict the number in rows; NaN where a source is missing.

        ``values[s]`` are the values of feature s.
        """
        with np.errstate(all="ignore"):
            found: Any = self.constant
            terms = zip(self.sources, self.centers, self.slopes, strict=True)
            for s, center, slope in terms:
                own = _to_logarithms(values[s]) if self.logarithmic else values[s]
                found = found + slope * (own - center)
            found = np.exp(found) if self.logarithmic else found
            return np.asarray(np.where(np.isfinite(found), found, np.nan))

    def measure(self, values: Values) -> _Floats:
        """Compute how far residuals are from the usual ones; NaN if not known."""
        with np.errstate(over="ignore"):
            predicted = self.predict(values)
            rest = values[self.feature] - predicted
            below = (self.low - rest) / self.units[0]
            above = (rest - self.high) / self.units[1]
            apart = np.maximum(np.maximum(below, above), 0.0)
            if self.step:
                steps = predicted / self.step
                apart[np.abs(steps - steps.round()) > _BETWEEN] = 0
        return np.asarray(apart)

    def round_prediction(self, value: float, family: str, *, whole: bool) -> float:
        """Round a prediction as its column is: dates to days or seconds.

        Numbers have six digits, or fewer if the residuals are larger.
        """
        if family == "dates":
            unit = _DAY if whole else 1.0
            return round(value / unit) * unit
        width = max(self.high - self.low, np.finfo(float).tiny)
        digits = int(np.clip(-np.floor(np.log10(width)), -300, 300))
        return float(f"{round(value, digits):.6g}")


def learn_formulas(
    sample: NumberSample, features: NDArray[np.int64], measured: NDArray[np.bool_]
) -> tuple[Formula, ...]:
    """Find the numbers that other numbers determine: at most one formula for each.

    `features` has the feature of each column of ``sample.values``. A feature is
    searched only if it has tails (`measured`).
    """
    some = np.flatnonzero(measured[features])
    if not 1 < len(some) <= _MOST_NUMBERS or len(sample.values) < _FEWEST_ROWS:
        return ()
    values, features = sample.values[:_MOST_ROWS, some].T, features[some]
    scaled = [_Scaled.of(values), _Scaled.of(_to_logarithms(values))]
    with one_blas_thread(), np.errstate(all="ignore"):
        found = [_find_formula(values, scaled, t, features) for t in range(len(some))]
    return tuple(one for one in found if one is not None)


def _to_logarithms(values: Any) -> _Floats:
    """Compute logarithms; NaN if a number is not above 0."""
    with np.errstate(all="ignore"):
        return np.asarray(np.where(values > 0, np.log(values), np.nan))


@dataclass(frozen=True)
class _Scaled:
    """Numbers, one line each, minus a center and divided by a scale.

    `usable` marks lines with enough numbers; `clipped` is limited to the central 90 %.
    """

    values: _Floats
    clipped: _Floats
    centers: _Floats
    scales: _Floats
    usable: NDArray[np.bool_]

    @classmethod
    def of(cls, values: _Floats) -> _Scaled:
        """Scale the lines by their central 90 %."""
        ends = np.zeros((len(values), 3))
        known = ~np.isnan(values)
        for own, line, some in zip(ends, values, known, strict=True):
            if some.sum() >= _FEWEST_ROWS:
                own[:] = np.quantile(line[some], (0.05, 0.5, 0.95))
        low, centers, high = ends.T
        with np.errstate(over="ignore", invalid="ignore"):
            scales = high - low
            usable = (scales > 0) & np.isfinite(scales)
            scales = np.where(usable, scales, 1.0)
            scaled = (values - centers[:, None]) / scales[:, None]
        ends = (ends - centers[:, None]) / scales[:, None]
        clipped = np.clip(scaled, ends[:, :1], ends[:, 2:])
        return cls(scaled, clipped, centers, scales, usable)

    def make_formula(
        self, t: int, chosen: list[int], slopes: _Floats, logarithmic: bool
    ) -> Formula:
        """Convert a fit to scaled numbers to the numbers themselves."""
        return Formula(
            t,
            tuple(chosen),
            logarithmic,
            tuple(self.centers[chosen].tolist()),
            tuple((self.scales[t] * slopes[1:] / self.scales[chosen]).tolist()),
            float(self.centers[t] + self.scales[t] * slopes[0]),
        )


def _find_formula(
    values: _Floats, scaled: list[_Scaled], t: int, features: NDArray[np.int64]
) -> Formula | None:
    """Find the formula of number t; None if other numbers do not determine it."""
    best, least = None, 2 * _TIGHT
    for logarithmic, own in enumerate(scaled):
        if not own.usable[t]:
            continue
        chosen: list[int] = []
        left = own.clipped[t]
        while len(chosen) < min(_MOST_SOURCES, len(values) - 1):
            related = _correlate(left, own.clipped)
            related[[t, *chosen]] = 0
            related[~own.usable] = 0
            chosen.append(int(np.nan_to_num(related).argmax()))
            fitted = None
            if related[chosen[-1]] > 0:
                fitted = _fit_formula(values, own, t, chosen, bool(logarithmic))
            if fitted is None:
                break
            formula, share, slopes = fitted
            if share <= _BETTER * least:
                best, least = (formula, own), share
            if least < _EXACT:
                break
            left = own.clipped[t] - slopes[0] - slopes[1:] @ own.clipped[chosen]
        if least < _EXACT:
            break
    if best is None:
        return None
    formula = _remove_sources(values, *best, least)
    sources = tuple(features[list(formula.sources)].tolist())
    return replace(formula, feature=int(features[t]), sources=sources)


def _fit_formula(
    values: _Floats, own: _Scaled, t: int, chosen: list[int], logarithmic: bool
) -> tuple[Formula, float, _Floats] | None:
    """Fit number t to the numbers `chosen`; None if too few rows have them.

    Also returns the range of the residuals, as a share of that of the number, and the
    slopes for scaled numbers.
    """
    rows = np.asarray(~np.isnan(own.values[[t, *chosen]]).any(axis=0))
    if rows.sum() < max(_FEWEST_ROWS, np.count_nonzero(~np.isnan(own.values[t])) / 2):
        return None
    slopes = _fit_slopes(own, t, chosen, rows)
    formula = own.make_formula(t, chosen, slopes, logarithmic)
    rest = values[t] - formula.predict(values)
    shown = _measure_residuals(rest[rows], values[t][rows])
    if shown is None:
        return None
    share, low, high, units, step = shown
    return replace(formula, low=low, high=high, units=units, step=step), share, slopes


def _remove_sources(
    values: _Floats, formula: Formula, own: _Scaled, share: float
) -> Formula:
    """Remove the sources without which the residuals are hardly larger."""
    for source in formula.sources:
        others = [s for s in formula.sources if s != source]
        t, logarithmic = formula.feature, formula.logarithmic
        fitted = _fit_formula(values, own, t, others, logarithmic) if others else None
        if fitted is not None and fitted[1] <= max(share / _BETTER, _EXACT):
            formula, share = fitted[0], max(share, fitted[1])
    return formula


def _correlate(line: _Floats, others: _Floats) -> _Floats:
    """Compute the absolute correlation of a line with others, without missing cells."""
    own, known = np.nan_to_num(line), (~np.isnan(line)).astype(float)
    lines, seen = np.nan_to_num(others), (~np.isnan(others)).astype(float)
    n, sums, own_sums = seen @ known, lines @ known, seen @ own
    squares = lines**2 @ known - sums**2 / n
    own_squares = seen @ own**2 - own_sums**2 / n
    found = (lines @ own - sums * own_sums / n) / np.sqrt(squares * own_squares)
    return np.asarray(np.nan_to_num(np.abs(found), posinf=0.0))


def _fit_slopes(
    own: _Scaled, t: int, chosen: list[int], rows: NDArray[np.bool_]
) -> _Floats:
    """Fit a constant and slopes by least squares to the rows that fit."""
    inputs = np.vstack([np.ones(rows.sum()), own.values[chosen][:, rows]])
    targets, kept = own.values[t, rows], np.zeros(rows.sum(), bool)
    clipped = np.vstack([np.ones(rows.sum()), own.clipped[chosen][:, rows]])
    slopes = np.linalg.lstsq(clipped.T, own.clipped[t, rows], rcond=None)[0]
    for _ in range(_N_FITS):
        errors = np.abs(targets - slopes @ inputs)
        before, kept = kept, errors <= max(5 * np.median(errors), 1e-9)
        if (before == kept).all():
            break
        slopes = np.linalg.lstsq(inputs[:, kept].T, targets[kept], rcond=None)[0]
    return np.asarray(slopes)


def _measure_residuals(rest: _Floats, values: _Floats) -> Any:
    """Measure the range of the residuals, as a share of the range of the values.

    Returns this share, the ends of the central 80 %, the units of the tails, and the
    step of an exact formula; None if the values or the residuals have no range.
    """
    if not np.isfinite(rest).all():
        return None
    low, high = np.quantile(rest, (0.1, 0.9)).tolist()
    least, most = np.quantile(values, (0.1, 0.9)).tolist()
    usual = most - least
    if not usual > 0 or not np.isfinite(usual):
        return None
    floor = max(0.1 * (high - low), _LEAST_UNIT * usual)
    step, usual_error = _find_step(values), np.quantile(np.abs(rest), 0.95)
    is_exact = usual_error <= _EXACT * step
    if usual_error <= step:  # FAR units are two steps, or half a step without rounding
        floor = step / (16 if is_exact else 4)
    # In an exponential tail, the median is log 2 units beyond its begin.
    excess = low - np.quantile(rest, 0.05), np.quantile(rest, 0.95) - high
    units = [max(float(own / np.log(2)), floor) for own in excess]
    if not np.isfinite(units).all():
        return None
    return (high - low) / usual, low, high, (units[0], units[1]), step * is_exact


def _find_step(values: _Floats) -> float:
    """Find the step between rounded numbers; 0 if they are not rounded.

    >>> _find_step(np.array([1.25, 3.5, 2.0])), _find_step(np.array([200.0, 10.0]))
    (0.01, 1.0)
    """
    for step in (_DAY, *(10.0**-digits for digits in range(_DIGITS + 1))):
        rounded = (values / step).round() * step
        if np.mean(np.abs(values - rounded) <= _EXACT * min(step, 1)) > 0.95:
            return step
    return 0.0


def pack_formulas(formulas: tuple[Formula, ...]) -> list[list[Any]]:
    """Convert formulas to values of a model file."""
    return [[list(x) if type(x) is tuple else x for x in astuple(f)] for f in formulas]


def unpack_formulas(packed: Any, measured: NDArray[np.bool_]) -> tuple[Formula, ...]:
    """Rebuild formulas; raise ValueError if no fit can produce them.

    `measured` marks the features with tails.
    """
    check(type(packed) is list, "formulas")
    return tuple(_unpack_formula(own, measured) for own in packed)


def _unpack_formula(packed: Any, measured: NDArray[np.bool_]) -> Formula:
    """Rebuild one formula; raise ValueError if no fit can produce it."""
    kinds = [type(one) for one in packed] if type(packed) is list else []
    wanted = [int, list, bool, list, list, float, float, float, list, float]
    check(kinds == wanted, "a formula")
    parts: Any = [tuple(x) if type(x) is list else x for x in packed]
    made = Formula(*parts)
    n = len(made.sources)
    sizes = n, len(made.centers), len(made.slopes), len(made.units)
    check(0 < n <= _MOST_SOURCES and sizes == (n, n, n, 2), "a formula's sources")
    for j in (made.feature, *made.sources):
        known = type(j) is int and 0 <= j < len(measured) and bool(measured[j])
        check(known, "a formula's features")
    numbers = made.constant, made.low, made.high, made.step
    for x in (*numbers, *made.centers, *made.slopes, *made.units):
        check(type(x) is float and bool(np.isfinite(x)), "a formula's numbers")
    check(min(made.units) > 0 <= made.step, "a formula's units")
    return made
