"""Draw random values for the missing cells of coded rows.

The missing cells of a row are drawn one after another, in the order of the columns.
Each is drawn from its estimate. The drawn code is then used like an observed one for
the next cell, so the values drawn for one row are consistent as far as the matching
rule can tell. Cells of informative features come last: their being missing is evidence
for the others.

For a number, the code is a bin. The value is drawn uniformly around the mean of the
bin, with the bin's standard deviation, but never past a border of the bin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._bins.centers import NumericBins
from .._bins.codes import Codes, plain_codes
from .._table.gaps import Gaps
from .imputation import (
    find_shares,
    label_bins,
    open_gaps,
    rows_at_a_time,
    warn_of_open_gaps,
)
from .model import Model


def draw_gaps(
    model: Model, codes: Codes, random: np.random.Generator, n_threads: int
) -> list[Gaps]:
    """Draw values for the missing cells of coded rows.

    Warns of columns whose missing cells cannot be filled.

    Parameters
    ----------
    model : Model
    codes : Codes
        The coded rows of the table.
    random : numpy Generator
    n_threads : int

    Returns
    -------
    list of Gaps, one per feature
        Their uncertainty is 0.
    """
    rows = codes.rows[codes.inverse]
    missing = open_gaps(model, rows) == codes.missing
    step = rows_at_a_time(model)
    for first in range(0, len(rows), step):
        _draw_codes(model, rows[first : first + step], random, n_threads)
    gaps = []
    for j in range(len(model.types)):
        at = np.flatnonzero(missing[:, j])
        gaps.append(_decode(model, j, at, rows[at, j], random))
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
            estimates = model.matcher.estimate(plain_codes(rows[at]), n_threads)
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


def _decode(
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
