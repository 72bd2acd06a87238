"""What density-adaptive bins do: two pairs equally far apart, one similar, one not.

The paper's figure shows bin centers that crowd where values are dense, and the cells
around them. The same here, on a skewed (lognormal) sample, with what follows from it:
a pair in the dense region lies in two cells and has similarity 0, a pair just as far
apart in the sparse region lies in one cell and has similarity 1.

One pair proves little, since any two values on both sides of a border differ. So all
pairs of the sample that are about as far apart are counted. In the skewed sample the
distance is larger than any cell below the median is wide, so that no dense pair can be
alike. A second sample, bell-shaped, shows that this is no rule: its end centers are the
extremes, so its sparse ends are cut by a border too, and its middle has wide cells.

Nothing is tried here: a sample and a fit are no work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proximity_kernel import ProximityKernel

from ..plots import draw_bins
from ._rendering import Rendering, Table
from ._trials import Experiment, Request

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_ROWS, SIGMA, SEED = 500, 0.6, 0
N_BINS = 8
DISTANCE, NEAR = 0.5, 0.05
# The second sample: values of Beta(2, 2), in the bins of the paper's comparisons.
BELL_ROWS, BELL_SHAPE, BELL_BINS = 4_000, (2, 2), 4
BELL_DISTANCE, BELL_NEAR = 0.1, 0.01
# Shares of the values, from and to, that are sparse and dense.
Parts = tuple[tuple[float, float], ...]


@dataclass(frozen=True, eq=False)
class Sample:
    """A sample and its bins.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Rising.
    model : ProximityKernel
        Fitted on them.
    distance, near : float
        How far apart pairs are, and by how much they may miss that.
    sparse, dense : tuple of (float, float)
        Shares of the values, from and to, between which both values of a pair lie.
    """

    values: NDArray[np.float64]
    model: ProximityKernel
    distance: float = DISTANCE
    near: float = NEAR
    sparse: Parts = ((0.9, 1.0),)
    dense: Parts = ((0.0, 0.5),)

    @property
    def centers(self) -> NDArray[np.float64]:
        """Array of shape (n_bins,)."""
        (found,) = self.model.bin_centers_
        assert found is not None  # of numbers
        return found

    @property
    def edges(self) -> NDArray[np.float64]:
        """Array of shape (n_bins - 1,): where one cell ends and the next begins."""
        return (self.centers[:-1] + self.centers[1:]) / 2

    @property
    def pairs(self) -> Mapping[str, tuple[float, float]]:
        """Two pairs, equally far apart: at the median, and amid the widest cell."""
        widest = int(np.argmax(np.diff(self.edges)))
        middles = {
            "dense": float(np.median(self.values)),
            "sparse": float(self.edges[widest : widest + 2].mean()),
        }
        half = DISTANCE / 2
        return {name: (at - half, at + half) for name, at in middles.items()}

    def similarity(self, first: float, second: float) -> float:
        """Compare two values by the kernel."""
        return float(self.model.kernel([[first]], [[second]])[0, 0])

    def share_alike(self, parts: Parts) -> tuple[float, int]:
        """Give the share of pairs in one cell, of those in a part, and their number.

        Parameters
        ----------
        parts : tuple of (float, float)
            As `sparse`.
        """
        alike, count = 0.0, 0
        for part in parts:
            low, high = np.quantile(self.values, part)
            values = self.values[(self.values >= low) & (self.values <= high)]
            apart = np.abs(values[:, None] - values)
            pairs = np.triu(np.abs(apart - self.distance) <= self.near)
            alike += float(self.model.kernel(values[:, None])[pairs].sum())
            count += int(pairs.sum())
        return alike / count, count

    def compare_parts(self) -> tuple[float, float]:
        """Give the share of pairs in one cell, of sparse pairs and of dense ones."""
        return self.share_alike(self.sparse)[0], self.share_alike(self.dense)[0]


@cache
def make_sample() -> Sample:
    """Draw the sample and fit its bins.

    Returns
    -------
    Sample

    Examples
    --------
    >>> sample = make_sample()
    >>> [sample.similarity(*pair) for pair in sample.pairs.values()]
    [0.0, 1.0]
    """
    values = np.sort(np.random.default_rng(SEED).lognormal(0, SIGMA, N_ROWS))
    return Sample(values, ProximityKernel(n_bins=N_BINS).fit(values[:, None]))


@cache
def make_bell() -> Sample:
    """Draw the second sample, whose dense pairs are more alike than its sparse ones.

    Returns
    -------
    Sample

    Examples
    --------
    >>> sparse, dense = make_bell().compare_parts()
    >>> sparse < dense
    True
    """
    values = np.sort(np.random.default_rng(SEED).beta(*BELL_SHAPE, BELL_ROWS))
    model = ProximityKernel(n_bins=BELL_BINS).fit(values[:, None])
    quarters: Parts = ((0.0, 0.25), (0.75, 1.0))
    return Sample(
        values, model, BELL_DISTANCE, BELL_NEAR, sparse=quarters, dense=((0.25, 0.75),)
    )


def tell_samples() -> str:
    """Say what the two samples are that pairs are counted in."""
    (_, skewed), (_, bell) = (
        sample.share_alike(sample.dense) for sample in (make_sample(), make_bell())
    )
    return (
        f"Sparse and dense pairs. Skewed: {N_ROWS} lognormal values, sigma {SIGMA}, "
        f"{N_BINS} bins, pairs {DISTANCE} ± {NEAR} apart, wider than any cell below "
        "the median; sparse: both values above the 90th percentile; dense: below the "
        f"median ({skewed:,} pairs). Bell-shaped: {BELL_ROWS:,} values of Beta(2, 2), "
        f"{BELL_BINS} bins, pairs {BELL_DISTANCE} ± {BELL_NEAR} apart; sparse: both "
        "values in the lowest or in the highest quarter; dense: in the middle half "
        f"({bell:,} pairs)."
    )


def render(results: pd.DataFrame, request: Request) -> Rendering:  # noqa: ARG001
    """Show the cells and the pairs, and draw them."""
    sample = make_sample()
    tables = (_render_cells(sample), _render_pairs(sample))
    return Rendering(tables, {"binning": lambda: draw(sample)})


def _render_cells(sample: Sample) -> Table:
    ends = np.array([sample.values[0], *sample.edges, sample.values[-1]])
    frame = pd.DataFrame(
        {
            "center": sample.centers,
            "from": ends[:-1],
            "to": ends[1:],
            "width": np.diff(ends),
            "share of values": sample.model.prior_[0],
        },
        index=pd.RangeIndex(1, len(sample.centers) + 1, name="cell"),
    )
    note = (
        f"{N_ROWS} values, lognormal with sigma {SIGMA}, seed {SEED}; {N_BINS} bins. "
        "Centers are evenly spaced percentiles, so the first and the last are the "
        "extremes. Values beyond them fall into the end cells."
    )
    return Table("Density-adaptive cells", _write(frame), notes=(note,), detail=True)


def _render_pairs(sample: Sample) -> Table:
    rows = [
        (name, a, b, b - a, sample.similarity(a, b))
        for name, (a, b) in sample.pairs.items()
    ]
    columns = ["pair", "first", "second", "distance", "similarity"]
    frame = pd.DataFrame(rows, columns=columns).set_index("pair")
    told = [
        f"Of the {count:,} pairs of the sample that are {DISTANCE} ± {NEAR} apart and "
        f"both {where}, {alike:.0%} lie in one cell."
        for where, (alike, count) in {
            "below the median": sample.share_alike(sample.dense),
            "above the 90th percentile": sample.share_alike(sample.sparse),
        }.items()
    ]
    title = "Pairs equally far apart"
    return Table(title, _write(frame), notes=tuple(told), detail=True)


def _write(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.map("{:.3f}".format).astype(object)


def draw(sample: Sample) -> Any:
    """Draw the sample, its cells and the two pairs.

    Parameters
    ----------
    sample : Sample

    Returns
    -------
    matplotlib.figure.Figure
    """
    said = {
        f"{name} pair, {DISTANCE} apart: similarity {sample.similarity(*pair):g}": pair
        for name, pair in sample.pairs.items()
    }
    ax = draw_bins(sample.values, sample.centers, sample.edges, said)
    return ax.figure


EXPERIMENT = Experiment("binning", "Density-adaptive bins on a skewed sample", render)
