"""Lines: one for each method, against a rate, a number of bins or a number of rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import Look, as_names, as_vector, house_style, label_axes, looks, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

_ON_TOP = 4.0


def draw_lines(
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    spread: Mapping[str, ArrayLike] | None = None,
    ax: Axes | None = None,
    *,
    xlabel: str = "",
    ylabel: str = "",
    highlight: str | Collection[str] = (),
    reference: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    reference_label: str = "paper",
    logx: bool = False,
    logy: bool = False,
    slopes: Mapping[str, float] | None = None,
    names: Sequence[str] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw a line with markers for each series, and a light band around it.

    Parameters
    ----------
    x : array-like of shape (n_x,)
        Common to all series.
    series : mapping from str to array-like of shape (n_x,)
        The height of each line; NaN is a gap.
    spread : mapping from str to array-like of shape (n_x,) or (2, n_x), optional
        How far the band reaches to either side, or below and above. NaN is a gap.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new ones by default.
    xlabel, ylabel : str, default=""
        What the axes say; if empty, what they said before.
    highlight : str or collection of str, default=()
        Names whose lines are thick and solid, and on top of the others.
    reference : mapping from str to (x, y), each array-like of shape (n_points,)
        Printed values, drawn as hollow markers in the look of the series of this name.
    reference_label : str, default="paper"
        Where the reference is from, for the legend.
    logx, logy : bool, default=False
        Whether the axis is logarithmic. A band to zero or below reaches its edge.
    slopes : mapping from str to float, optional
        A number for the legend, beside the name.
    names : sequence of str, optional
        All names, in the order that gives the looks; as in `series` by default.
    legend : bool, default=True
        Whether to put a legend beside the axes; without, see `share_legend`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from proximity_kernel_paper.plots import draw_lines
    >>> times = {"PK": [0.01, 0.1, 1.0], "KNN": [0.1, 10.0, float("nan")]}
    >>> ax = draw_lines([1e3, 1e4, 1e5], times, logx=True, logy=True,
    ...                 slopes={"PK": 1.0, "KNN": 2.0})
    >>> ax.get_legend_handles_labels()[1]
    ['PK (slope 1.00)', 'KNN (slope 2.00)']
    """
    at = as_vector(x, "x")
    lines = {name: _matching(values, name, at) for name, values in series.items()}
    bands = _bands(spread or {}, lines)
    known = looks([*lines, *(reference or {})], names)
    on_top = as_names(highlight)
    with house_style():
        ax = new_axes(6.0, 3.4) if ax is None else ax
        _set_scales(ax, at, logx, logy)
        for name, heights in lines.items():
            label = _label(name, slopes or {})
            _draw_line(ax, at, heights, label, known[name], name in on_top)
        for name, (low, high) in bands.items():
            ax.fill_between(
                at, low, high, color=known[name].color, alpha=0.15, linewidth=0
            )
        for name, points in (reference or {}).items():
            _draw_reference(ax, points, f"{name} ({reference_label})", known[name])
        label_axes(ax, xlabel, ylabel)
        if legend:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
    return ax


def _matching(
    values: ArrayLike, name: str, at: NDArray[np.float64]
) -> NDArray[np.float64]:
    heights = as_vector(values, name)
    if heights.shape != at.shape:
        raise ValueError(f"{name} has {len(heights)} values; x has {len(at)}.")
    return heights


def _bands(
    spread: Mapping[str, ArrayLike], lines: Mapping[str, NDArray[np.float64]]
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Find the lower and the upper edge of each band."""
    bands = {}
    for name, reach in spread.items():
        if name not in lines:
            raise ValueError(f"spread has {name}, which is not in series.")
        heights = lines[name]
        reaches = np.asarray(reach, dtype=np.float64)
        if reaches.shape not in (heights.shape, (2, len(heights))):
            raise ValueError(
                f"The spread of {name} has shape {reaches.shape}; expected "
                f"({len(heights)},) or (2, {len(heights)})."
            )
        below, above = np.broadcast_to(reaches, (2, len(heights)))
        bands[name] = (heights - below, heights + above)
    return bands


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
    heights: NDArray[np.float64],
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


def _draw_reference(
    ax: Axes, points: tuple[ArrayLike, ArrayLike], label: str, look: Look
) -> None:
    x, y = (as_vector(part, label) for part in points)
    ax.plot(
        x,
        y,
        label=label,
        color=look.color,
        linestyle="none",
        marker=look.marker,
        markerfacecolor="none",
        markersize=8.5 * look.scale,
        markeredgewidth=1.1,
        zorder=_ON_TOP + 1,
    )
