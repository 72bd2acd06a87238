"""Points against points: one number of a thing against another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ._style import GREY, SMALL, house_style, looks, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


def draw_scatter(
    points: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    xlabel: str = "",
    ylabel: str = "",
    diagonal: bool = False,
    logx: bool = False,
    labels: Sequence[tuple[float, float, str]] = (),
    names: Sequence[str] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the points of each name in its look.

    Parameters
    ----------
    points : mapping from str to (x, y), each array-like of shape (n_points,)
    xlabel, ylabel : str, default=""
    diagonal : bool, default=False
        Whether to draw the line on which both numbers are the same.
    logx : bool, default=False
        Whether the horizontal axis is logarithmic.
    labels : sequence of (x, y, str)
        Texts beside points.
    names : sequence of str, optional
        All names, in the order that gives the looks; as in `points` by default.
    legend : bool, default=True
        Whether to put a legend beside the axes.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from proximity_kernel_paper.plots import draw_scatter
    >>> ax = draw_scatter({"PK": ([0.1, 0.2], [0.1, 0.3])}, diagonal=True)
    >>> ax.get_legend_handles_labels()[1]
    ['PK']
    """
    known = looks(points, names)
    with house_style():
        ax = new_axes(6.0, 4.2)
        if diagonal:
            ax.axline((0, 0), slope=1, color=GREY, linewidth=0.8, zorder=1)
        if logx:
            ax.set_xscale("log")
        for name, (x, y) in points.items():
            look = known[name]
            size = 26 * look.scale**2
            ax.scatter(
                x, y, s=size, color=look.color, marker=look.marker, label=name, lw=0
            )
        # Above and below in turn, so that texts of neighbors lie apart.
        for place, (left, height, text) in enumerate(sorted(labels)):
            ax.annotate(
                text,
                (left, height),
                (5, 3 if place % 2 else -9),
                textcoords="offset points",
                fontsize=SMALL,
            )
        ax.set(xlabel=xlabel, ylabel=ylabel)
        if legend:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0)
    return ax
