"""One skewed feature cut into cells: what a bin center is, and what a pair shares.

The centers are percentiles, so cells are narrow where values are dense. Two values
close together can fall into two cells, and two far apart into one: similarity follows
the density of the data, not the distance.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ._style import (
    GREY,
    INK,
    PALE,
    SMALL,
    Look,
    house_style,
    looks,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_LANE = 0.26  # the height of a pair's lane, as a part of the tallest bar
_RUG = 0.05


def draw_bins(
    values: NDArray[np.float64],
    centers: NDArray[np.float64],
    edges: NDArray[np.float64],
    pairs: Mapping[str, tuple[float, float]],
) -> Axes:
    """Draw a sample, the bin centers with the borders of their cells, and some pairs.

    Parameters
    ----------
    values : array of shape (n_samples,)
        The feature: a histogram, and a rug below it.
    centers : array of shape (n_bins,)
        Bin centers, as triangles on the axis.
    edges : array of shape (n_bins - 1,)
        The borders between cells: midpoints of neighbouring centers.
    pairs : mapping from str to (float, float)
        What to say of a pair of values, its similarity say, and the values. Each pair
        has a lane of its own above the histogram, the first at the bottom.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from proximity_kernel_paper.plots import draw_bins
    >>> values, centers = np.array([1, 1.2, 1.3, 2, 3, 9]), np.array([1, 2, 9])
    >>> ax = draw_bins(values, centers, np.array([1.5, 5.5]),
    ...                {"sparse pair: similarity 1": (6, 9)})
    >>> [text.get_text() for text in ax.texts]
    ['sparse pair: similarity 1']
    """
    with house_style():
        ax = new_axes(6.0, 3.2)
        tallest = _draw_sample(ax, values)
        # The lanes of the pairs, and half of one more for the legend.
        bottom, top = -2 * _RUG * tallest, tallest * (1.12 + len(pairs) * _LANE)
        _draw_cells(ax, centers, edges, (bottom, top))
        for lane, (label, pair) in enumerate(pairs.items()):
            height = tallest * (1.12 + lane * _LANE)
            look = looks(pairs)[label]
            _draw_pair(ax, pair, height, label, look, _side(pair, values))
        ax.set(ylim=(bottom, top + _LANE / 2 * tallest), xlabel="value", ylabel="rows")
        ax.grid(visible=False)
        ax.legend(loc="upper right", ncols=3, borderaxespad=0, handlelength=1.5)
    return ax


def _draw_sample(ax: Axes, sample: NDArray[np.float64]) -> float:
    """Draw the histogram and the rug; the height of the tallest bar."""
    counts, _, _ = ax.hist(sample, bins=50, color=PALE, label="histogram")
    tallest = float(np.max(counts)) or 1.0
    ax.vlines(
        sample, -2 * _RUG * tallest, -_RUG * tallest, color=GREY, lw=0.4, alpha=0.5
    )
    return tallest


def _draw_cells(
    ax: Axes,
    centers: NDArray[np.float64],
    edges: NDArray[np.float64],
    reach: tuple[float, float],
) -> None:
    ax.vlines(edges, *reach, color=GREY, linestyle="--", lw=0.9, label="border of bins")
    ax.plot(
        centers,
        np.zeros(len(centers)),
        color=INK,
        marker="^",
        markersize=7,
        linestyle="none",
        clip_on=False,
        zorder=5,
        label="bin center",
    )


def _side(pair: tuple[float, float], sample: NDArray[np.float64]) -> str:
    """Where the label begins, so that it stays within the axes."""
    both = [*sample, *pair]
    low, high = min(both), max(both)
    place = (sum(pair) / 2 - low) / (high - low) if high > low else 0.5
    return "left" if place < 0.4 else "right" if place > 0.6 else "center"


def _draw_pair(
    ax: Axes,
    pair: tuple[float, float],
    height: float,
    label: str,
    look: Look,
    side: str,
) -> None:
    ax.plot(
        pair,
        [height, height],
        color=look.color,
        marker=look.marker,
        markersize=6,
        linestyle=look.line,
        linewidth=1.6,
        zorder=5,
    )
    ax.vlines(pair, 0, height, color=look.color, lw=0.8, linestyle=":", zorder=4)
    anchor = {"left": min(pair), "right": max(pair), "center": sum(pair) / 2}[side]
    ax.annotate(
        label,
        (anchor, height),
        xytext=(0, 6),
        textcoords="offset points",
        ha=side,
        fontsize=SMALL,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        zorder=4.5,
    )
