"""Small multiples: several axes in one figure, under one legend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from ._style import house_style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend


def make_panels(
    titles: Sequence[str], size: tuple[float, float]
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a row of axes.

    Parameters
    ----------
    titles : sequence of str
        One above each panel.
    size : tuple of two floats
        Width and height of each, in inches.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : list of matplotlib.axes.Axes
        As long as `titles`.

    Examples
    --------
    >>> from proximity_kernel_paper.plots import make_panels
    >>> figure, axes = make_panels(["adult", "kidney"], size=(2.4, 2))
    >>> [ax.get_title(loc="left") for ax in axes]
    ['adult', 'kidney']
    """
    with house_style():
        from matplotlib.figure import Figure

        n = len(titles)
        figure = Figure(figsize=(n * size[0], size[1]), layout="constrained")
        axes = list(figure.subplots(1, n, squeeze=False).flat)
        for ax, title in zip(axes, titles, strict=True):
            ax.set_title(title)
    return figure, axes


def share_legend(figure: Figure, axes: Iterable[Axes]) -> Legend:
    """Put one legend below all panels.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        As `make_panels` makes it.
    axes : iterable of matplotlib.axes.Axes
        Whose labels to collect, each label once. Draw them with the same ``names``,
        so that a label looks the same in all of them.

    Returns
    -------
    matplotlib.legend.Legend

    Examples
    --------
    >>> from proximity_kernel_paper.plots import draw_lines, make_panels, share_legend
    >>> figure, axes = make_panels(["adult", "kidney"], size=(2.4, 2))
    >>> for ax in axes:
    ...     draw_lines(ax, [1, 2], {"PK": [1, 2], "KNN": [2, 3]})
    >>> [text.get_text() for text in share_legend(figure, axes).get_texts()]
    ['PK', 'KNN']
    """
    entries: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    with house_style():
        return figure.legend(
            list(entries.values()),
            list(entries),
            loc="outside lower center",
            ncols=_columns_with_room(figure, entries),
        )


def _columns_with_room(figure: Figure, labels: Iterable[str]) -> int:
    texts = list(labels)
    longest = max(map(len, texts), default=0)
    # In inches at 8 points: a letter is about 0.07 wide, a handle with its space 0.6.
    room = int(figure.get_figwidth() / (0.6 + 0.07 * longest))
    # Rows of equal length look better than one nearly empty row.
    rows = ceil(len(texts) / max(room, 1)) or 1
    return ceil(len(texts) / rows) or 1
