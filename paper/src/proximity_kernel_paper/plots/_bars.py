"""Bars beside each other, ours and the paper's say, and their difference in numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import GREY, INK, SMALL, Look, house_style, label_axes, looks, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FILLED = 0.8  # how much of a row its bars take


def draw_bars(
    values: Mapping[str, Mapping[str, float]],
    ax: Axes | None = None,
    *,
    xlabel: str = "",
    difference: tuple[str, str] | None = None,
    digits: int = 2,
    names: Sequence[str] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw a row of horizontal bars for each table, one bar for each series.

    Parameters
    ----------
    values : mapping from str to mapping from str to float
        Table, then series. The tables are drawn from the top down. Where a series is
        absent or NaN there is no bar, and it says so.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new ones by default.
    xlabel : str, default=""
        What the bars measure; if empty, the label stays as it is.
    difference : tuple of two str, optional
        Two series: the first less the second is written beside each row. By default
        the two that there are, if there are two.
    digits : int, default=2
        Of the difference, after the point.
    names : sequence of str, optional
        All names, in the order that gives the looks; as given by default.
    legend : bool, default=True
        Whether to put a legend above the axes; without, see `share_legend`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from proximity_kernel_paper.plots import draw_bars
    >>> ax = draw_bars({"adult": {"ours": 0.25, "paper": 0.2},
    ...                 "kidney": {"ours": 0.87, "paper": 0.9}})
    >>> [text.get_text() for text in ax.texts]
    ['ours - paper', '+0.05', '-0.03']
    """
    series = list(dict.fromkeys(name for row in values.values() for name in row))
    if not series:
        raise ValueError("There is no value to draw.")
    known = looks(series, names)
    if difference is None and len(series) == 2:
        difference = (series[0], series[1])
    with house_style():
        if ax is None:
            height = 0.9 + len(values) * (0.12 + 0.16 * len(series))
            ax = new_axes(6.0, height)
        thick = _FILLED / len(series)
        for place, name in enumerate(series):
            lengths = [row.get(name, np.nan) for row in values.values()]
            shift = (place + 0.5) * thick - _FILLED / 2
            _draw_series(ax, name, lengths, shift, thick, known[name])
        if difference is not None:
            _write_differences(ax, list(values.values()), difference, digits)
        _finish(ax, list(values), xlabel)
        if legend:
            ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(series))
    return ax


def _draw_series(
    ax: Axes,
    name: str,
    lengths: Sequence[float],
    shift: float,
    thick: float,
    look: Look,
) -> None:
    rows = np.arange(len(lengths)) + shift
    missing = np.isnan(lengths)
    ax.barh(
        rows[~missing],
        np.asarray(lengths)[~missing],
        height=thick * 0.9,
        label=name,
        facecolor=look.color,
        edgecolor="white" if look.hatch else look.color,
        hatch=look.hatch,
        linewidth=0,
    )
    for row in rows[missing]:
        ax.annotate(
            "no value",
            (0, row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=GREY,
        )


def _write_differences(
    ax: Axes,
    rows: Sequence[Mapping[str, float]],
    difference: tuple[str, str],
    digits: int,
) -> None:
    """Write a column of numbers at the right of the axes, under its own heading."""
    first, second = difference
    beside = ax.get_yaxis_transform()
    _write(ax, f"{first} - {second}", -0.75, beside)
    for place, row in enumerate(rows):
        gap = row.get(first, np.nan) - row.get(second, np.nan)
        _write(ax, "n/a" if np.isnan(gap) else f"{gap:+.{digits}f}", place, beside)


def _write(ax: Axes, said: str, row: float, transform: object) -> None:
    ax.text(
        1.02,
        row,
        said,
        transform=transform,
        va="center",
        ha="left",
        fontsize=SMALL,
        color=INK,
    )


def _finish(ax: Axes, tables: Sequence[str], xlabel: str) -> None:
    ax.set_yticks(range(len(tables)), tables)
    ax.set_ylim(len(tables) - 0.5, -0.5)
    label_axes(ax, xlabel)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    ax.axvline(0, color=INK, linewidth=0.8)
