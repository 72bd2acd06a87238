"""Lines: one for each method, against a rate, a number of bins or a number of rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import Look, house_style, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

_ON_TOP = 4.0


def draw_lines(
    ax: Axes,
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    spread: Mapping[str, ArrayLike] | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "",
    highlight: Collection[str] = (),
    logx: bool = False,
    logy: bool = False,
    slopes: Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Draw a line with markers for each series, and a light band around it.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw; see `make_panels`, and `share_legend` for the legend.
    x : array-like of shape (n_x,)
        Common to all series.
    series : mapping from str to array-like of shape (n_x,)
        The height of each line; NaN is a gap.
    spread : mapping from str to array-like of shape (n_x,), optional
        How far the band reaches to either side. NaN is a gap.
    xlabel, ylabel : str, default=""
        What the axes say.
    highlight : collection of str, default=()
        Names whose lines are thick and solid, and on top of the others.
    logx, logy : bool, default=False
        Whether the axis is logarithmic. A band to zero or below reaches its edge.
    slopes : mapping from str to float, optional
        A number for the legend, beside the name.
    names : sequence of str, optional
        All names, in the order that gives the looks; as in `series` by default.

    Examples
    --------
    >>> from proximity_kernel_paper.plots import draw_lines, make_panels
    >>> times = {"PK": [0.01, 0.1, 1.0], "KNN": [0.1, 10.0, float("nan")]}
    >>> _, [ax] = make_panels(["adult"], size=(3, 2))
    >>> draw_lines(ax, [1e3, 1e4, 1e5], times, logx=True, logy=True,
    ...            slopes={"PK": 1.0, "KNN": 2.0})
    >>> ax.get_legend_handles_labels()[1]
    ['PK (slope 1.00)', 'KNN (slope 2.00)']
    """
    at = np.asarray(x, dtype=float)
    known = looks(series, names)
    with house_style():
        _set_scales(ax, at, logx, logy)
        for name, heights in series.items():
            label = _label(name, slopes or {})
            _draw_line(ax, at, heights, label, known[name], name in highlight)
        for name, reach in (spread or {}).items():
            middle, reaches = np.asarray(series[name]), np.asarray(reach)
            color = known[name].color
            low, high = middle - reaches, middle + reaches
            ax.fill_between(at, low, high, color=color, alpha=0.15, linewidth=0)
        ax.set(xlabel=xlabel, ylabel=ylabel)


def _label(name: str, slopes: Mapping[str, float]) -> str:
    return f"{name} (slope {slopes[name]:.2f})" if name in slopes else name


def _set_scales(ax: Axes, at: NDArray[np.float64], logx: bool, logy: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    if logx:
        ax.set_xscale("log")
    elif np.array_equal(at, np.round(at)):  # no half bins
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9))
    if logy:
        ax.set_yscale("log")


def _draw_line(
    ax: Axes,
    at: NDArray[np.float64],
    heights: ArrayLike,
    label: str,
    look: Look,
    on_top: bool,
) -> None:
    ax.plot(
        at,
        heights,
        label=label,
        color=look.color,
        marker=look.marker,
        linestyle="-" if on_top else look.line,
        linewidth=2.4 if on_top else 1.2,
        markersize=look.scale * (6.5 if on_top else 4.5),
        markeredgecolor="white",
        markeredgewidth=0.3,
        zorder=_ON_TOP if on_top else _ON_TOP - 1,
    )
