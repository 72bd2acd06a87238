"""Small multiples: several axes in one figure, under one legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from ._style import house_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend


def make_panels(
    n: int,
    *,
    columns: int = 3,
    size: tuple[float, float] = (2.4, 2.0),
    titles: Sequence[str] | None = None,
    share_x: bool = False,
    share_y: bool = False,
    xlabel: str = "",
    ylabel: str = "",
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a grid of axes.

    Parameters
    ----------
    n : int
        How many.
    columns : int, default=3
        How many beside each other, at most.
    size : tuple of two floats, default=(2.4, 2.0)
        Width and height of each, in inches.
    titles : sequence of str of length n, optional
        One above each.
    share_x, share_y : bool, default=False
        Whether all have the same limits, with numbers at the grid's edge only.
    xlabel, ylabel : str, default=""
        Of the panels at the left and the lower edge of the grid.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : list of matplotlib.axes.Axes
        Of length n, row after row.

    Examples
    --------
    >>> from proximity_kernel_paper.plots import make_panels
    >>> figure, axes = make_panels(2, titles=["adult", "kidney"])
    >>> [ax.get_title(loc="left") for ax in axes]
    ['adult', 'kidney']
    """
    if n < 1 or columns < 1:
        raise ValueError(f"n and columns must be at least 1; got {n} and {columns}.")
    if titles is not None and len(titles) != n:
        raise ValueError(f"{len(titles)} titles for {n} panels.")
    columns = min(columns, n)
    rows = ceil(n / columns)
    with house_style():
        from matplotlib.figure import Figure

        shape = (columns * size[0], rows * size[1])
        figure = Figure(figsize=shape, layout="constrained")
        grid = figure.subplots(
            rows, columns, squeeze=False, sharex=share_x, sharey=share_y
        )
        axes = _keep_first(list(grid.flat), n, columns)
        for ax, title in zip(axes, titles or (), strict=False):
            ax.set_title(title)
        # Not the figure's own labels: matplotlib draws the legend over them.
        for ax in axes[-columns:]:
            ax.set_xlabel(xlabel)
        for ax in axes[::columns]:
            ax.set_ylabel(ylabel)
    return figure, axes


def _keep_first(axes: list[Axes], n: int, columns: int) -> list[Axes]:
    for ax in axes[n:]:
        ax.remove()
    # With shared limits, a panel above an empty place has to number its own axis.
    for ax in axes[max(n - columns, 0) : n]:
        ax.tick_params(labelbottom=True)
    return axes[:n]


def share_legend(
    figure: Figure, axes: Iterable[Axes], *, columns: int | None = None
) -> Legend:
    """Put one legend below all panels in place of theirs.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        As `make_panels` makes it.
    axes : iterable of matplotlib.axes.Axes
        Whose labels to collect; each label once. One that looks different in two
        panels is a ValueError: draw them with the same ``names``.
    columns : int, optional
        Of the legend; by default as many as the figure's width has room for.

    Returns
    -------
    matplotlib.legend.Legend

    Examples
    --------
    >>> from proximity_kernel_paper.plots import draw_lines, make_panels, share_legend
    >>> figure, axes = make_panels(2)
    >>> for ax in axes:
    ...     ax = draw_lines([1, 2], {"PK": [1, 2], "KNN": [2, 3]}, ax=ax, legend=False)
    >>> [text.get_text() for text in share_legend(figure, axes).get_texts()]
    ['PK', 'KNN']
    """
    entries: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            first = entries.setdefault(label, handle)
            if _appearance(first) != _appearance(handle):
                raise ValueError(
                    f"{label} looks different in two panels; draw all with the same "
                    "names=."
                )
        own = ax.get_legend()
        if own is not None:
            own.remove()
    wanted = columns or _columns_with_room(figure, entries)
    with house_style():
        return figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=wanted,
        )


def _appearance(handle: Any) -> tuple[Any, ...]:
    """Ask what a legend would show of a line; nothing of other artists."""
    asked = ("get_color", "get_marker", "get_linestyle")
    return tuple(getattr(handle, ask)() for ask in asked if hasattr(handle, ask))


def _columns_with_room(figure: Figure, labels: Iterable[str]) -> int:
    texts = list(labels)
    longest = max(map(len, texts), default=0)
    # In inches at 8 points: a letter is about 0.07 wide, a handle with its space 0.6.
    room = int(figure.get_figwidth() / (0.6 + 0.07 * longest))
    # Rows of equal length look better than one nearly empty row.
    rows = ceil(len(texts) / max(room, 1)) or 1
    return ceil(len(texts) / rows) or 1
