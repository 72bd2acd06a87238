"""The critical-difference diagram of Demsar (JMLR 7, 2006): mean ranks over tables.

Methods joined by a thick bar are not significantly different. The best is on the left,
at rank 1, as the axis says: some diagrams run the other way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._style import (
    FONT_SIZE,
    GREY,
    INK,
    SMALL,
    Look,
    house_style,
    looks,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEP = 0.45  # between two levels of bars, where the rows of labels are 1 apart
_FIRST = -0.6  # the first level
_GAP = 0.02  # beside the axis, and between two bars on a level: a part of the axis
_OVER = (
    0.005  # bars are a little longer than the group, so that its ends are seen in it
)


def draw_critical_difference(
    mean_ranks: Mapping[str, float],
    groups: Sequence[Sequence[str]],
    critical_difference: float,
    *,
    highlight: Collection[str] = (),
    names: Sequence[str] | None = None,
) -> Axes:
    """Draw mean ranks on a line, and bars that join what does not differ.

    Parameters
    ----------
    mean_ranks : mapping from str to float
        Each between 1, the best, and the number of methods.
    groups : sequence of sequences of str
        Methods that are not significantly different.
    critical_difference : float
        The smallest significant difference of two mean ranks: a bar of this length is
        drawn above the axis.
    highlight : collection of str, default=()
        Names written in bold.
    names : sequence of str, optional
        All names, in the order that gives the looks; as given by default.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from proximity_kernel_paper.plots import draw_critical_difference
    >>> ax = draw_critical_difference({"PK": 1.2, "KNN": 2.2, "Mean": 2.6},
    ...                               [["KNN", "Mean"]], 0.9)
    >>> [text.get_text() for text in ax.texts if "." in text.get_text()]
    ['critical difference 0.90', 'PK  1.20', 'KNN  2.20', 'Mean  2.60']
    """
    bars = _bars(mean_ranks, groups)
    levels = _levels(bars, gap=_GAP * (len(mean_ranks) - 1))
    order = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    half = (len(order) + 1) // 2
    first_row = _FIRST - _STEP * max([0, *(level + 1 for level in levels)]) - 0.35
    known = looks(mean_ranks, names)
    with house_style():
        ax = new_axes(6.4, 0.9 + 0.2 * (half - first_row))
        _draw_axis(ax, len(order), critical_difference)
        for (low, high), level in zip(bars, levels, strict=True):
            over = _OVER * (len(order) - 1)
            _draw_bar(ax, low - over, high + over, _FIRST - _STEP * level)
        for side in (order[:half], order[half:][::-1]):
            end = ax.get_xlim()[side[0] != order[0]]
            for row, name in enumerate(side):
                bold = name in highlight
                place = (mean_ranks[name], first_row - row)
                _draw_name(ax, name, place, end, known[name], bold)
        ax.set_ylim(first_row - half + 0.4, 3.4)
    return ax


def _bars(
    mean_ranks: Mapping[str, float], groups: Sequence[Sequence[str]]
) -> list[tuple[float, float]]:
    """From which rank to which each group reaches."""
    joined = [[mean_ranks[name] for name in group] for group in groups]
    return sorted((min(ranks), max(ranks)) for ranks in joined)


def _levels(bars: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """Put each bar on the first level where it touches no other."""
    ends: list[float] = []
    levels = []
    for low, high in bars:
        free = [level for level, end in enumerate(ends) if end + gap < low]
        level = free[0] if free else len(ends)
        ends[level : level + 1] = [high]
        levels.append(level)
    return levels


def _draw_axis(ax: Axes, n_methods: int, critical_difference: float) -> None:
    ax.set_axis_off()
    margin = _GAP * (n_methods - 1)
    ax.set_xlim(1 - margin, n_methods + margin)
    ax.plot([1, n_methods], [0, 0], color=INK, lw=1.0)
    for rank in range(1, n_methods + 1):
        ax.plot([rank, rank], [0, 0.25], color=INK, lw=1.0)
        ax.text(rank, 0.35, str(rank), ha="center", va="bottom", fontsize=SMALL)
    ax.text(1, 1.3, "mean rank (1, left: best)", va="bottom", fontsize=SMALL)
    _draw_difference(ax, 1, 1 + critical_difference)


def _draw_difference(ax: Axes, low: float, high: float) -> None:
    style: dict[str, Any] = {"color": GREY, "clip_on": False}
    ax.plot([low, high], [2.8, 2.8], lw=2.0, gid="critical difference", **style)
    for end in (low, high):
        ax.plot([end, end], [2.55, 3.05], lw=1.0, **style)
    ax.annotate(
        f"critical difference {high - low:.2f}",
        (high, 2.8),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=SMALL,
        annotation_clip=False,
    )


def _draw_bar(ax: Axes, low: float, high: float, height: float) -> None:
    ax.plot(
        [low, high],
        [height, height],
        color=INK,
        lw=4.0,
        solid_capstyle="butt",
        zorder=4,
        gid="group",
    )


def _draw_name(
    ax: Axes, name: str, place: tuple[float, float], end: float, look: Look, bold: bool
) -> None:
    rank, height = place
    elbow = ([rank, rank, end], [0, height, height])
    ax.plot(*elbow, color=look.color, lw=1.8 if bold else 1.0, gid=name)
    ax.plot(
        [rank], [0], color=look.color, marker=look.marker, ms=6 * look.scale, zorder=5
    )
    left = end < rank
    ax.annotate(
        f"{name}  {rank:.2f}",
        (end, height),
        xytext=(-4 if left else 4, 0),
        textcoords="offset points",
        ha="right" if left else "left",
        va="center",
        fontsize=FONT_SIZE,
        fontweight="bold" if bold else "normal",
        annotation_clip=False,
    )
