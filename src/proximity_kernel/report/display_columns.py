"""Columns as the page shows them: how values are written, and a card for each column.

The values of a display column are floats: numbers, dates and durations in seconds, or
indices of labels; NaN is missing. Names and cells may contain any text, so invisible
characters, and characters that change the direction of writing, are replaced by a
visible mark here. HTML is escaped where the page is rendered.

A card is the data that the template draws. Far values would squeeze all other values
into one bar of a histogram, so they have a bar of their own at the end of the scale.
Going out from the central 80 % of a column, values are far after the first step that is
larger than half of the range before it. If more than three values, and more than 0.5 %
of the column, would be far, none is: they are a group of their own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from .._bins import NumericBins, format_moment
from .._shared.wording import counted, write_plain, write_share
from .._surprise import TAIL
from .._table.columns import Column
from ..kernel import bin_names

_Floats: TypeAlias = NDArray[np.float64]
_NO_YES = ("no", "yes")
_KINDS = {"dates": "date", "durations": "duration"}
_MAX_LENGTH = 120  # characters of a cell or a name
_MARK = "\N{REPLACEMENT CHARACTER}"
_DIRECTION_MARKS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_BLANK = "\N{OPEN BOX}"
# Blanks that a page would not show, or would show as a single blank.
_HIDDEN_BLANKS = re.compile(r"\s{2,}|^\s|\s$|[^\S ]")
# Thousands are separated in a column with a number of this size, but not among years.
_GROUPED = 10_000
_LONG_NUMBER = re.compile(r"(?<![\d.])\d{4,}(?![\de])")
_N_DIGITS = 5  # digits of the median of a column
_MAX_DIGITS = 7  # digits of a number with decimals; a longer number has no decimals
_PLAIN = 1e15  # numbers from here on have an exponent
_DAY = 86_400.0  # seconds
WIDTH, HEIGHT = 300.0, 88.0  # size of a histogram, in units of the SVG
_N_BARS = 30
_GAP, _FAR_WIDTH = 9.0, 11.0  # space before a bar of far values, and its width
_LEAST = 4 / HEIGHT  # least height of a bar of far values, as a share of the histogram
_MAX_LABELS = 8  # labels on a card
_MAX_BINS = 12  # bins on a card
_LEAST_VALUES = 10  # a column with fewer values has no far values
_LEAST_DISTINCT = 3  # distinct usual values; two numbers are mostly codes
_STEP = 0.5  # step to a far value, as a share of the range of the usual values
# Maximum number of far values, share of all values, and share in a short column.
_MOST_FAR, _MOST_SHARE, _MOST_OF_FEW = 3, 0.005, 0.1
_MAX_ROWS = 5  # rows with far values that are listed for a column
_MAX_COLUMNS = 10  # columns for which rows with far values are listed


def clean(value: Any, longest: int = _MAX_LENGTH) -> str:
    r"""Convert a value to one line of visible text, truncated to `longest` characters.

    >>> clean("abcdefgh", longest=5) == "abcd\u2026", clean(chr(0)) == "\ufffd"
    (True, True)
    >>> clean("two  blanks") == "two\u2423\u2423blanks"
    True
    """
    text = str(value)
    text = text if len(text) <= longest else text[: longest - 1] + "\u2026"
    text = _HIDDEN_BLANKS.sub(lambda found: _BLANK * len(found[0]), text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _MARK
        if unicodedata.category(one) in ("Cc", "Cs") or one in _DIRECTION_MARKS
        else one
        for one in text
    )


@dataclass(frozen=True)
class UsualRange:
    """The range of the usual values of a column, and the far values, sorted."""

    low: float
    high: float
    below: _Floats
    above: _Floats

    def measure_distance(self, values: _Floats) -> _Floats:
        """Compute how far values are outside, in multiples of the range; 0 inside."""
        # Halves: the difference of two numbers may be too large for a float.
        outside = np.maximum(self.low / 2 - values / 2, values / 2 - self.high / 2)
        size = (self.high / 2 - self.low / 2) or 1
        with np.errstate(over="ignore"):
            return np.where(outside > 0, outside, 0) / size


@dataclass(frozen=True)
class DisplayColumn:
    """A column of the table as the page shows it."""

    name: str
    # "number", "date", "duration", "yes or no", "ordered", "category" or "empty"
    kind: str
    values: _Floats  # NaN is missing; an index into `labels` if there are labels
    # Ordered labels begin with the lowest. None: numbers, dates or durations.
    labels: tuple[str, ...] | None = None

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Whether each cell is missing, shape (n_samples,)."""
        return np.isnan(self.values)

    @property
    def known(self) -> _Floats:
        """The observed values; not cached, because they take much memory."""
        return self.values[~self.missing]

    @cached_property
    def usual(self) -> UsualRange | None:
        """The range of the usual values; None for labels, and for an empty column."""
        if self.labels is not None or not len(self.known):
            return None
        known = np.sort(self.known)
        first, last = _find_usual_slice(known)
        low, high = float(known[first]), float(known[last - 1])
        return UsualRange(low, high, known[:first], known[last:])

    @cached_property
    def extremes(self) -> str:
        """The lowest and highest value, and how far the next are; "" for labels."""
        distinct, counts = np.unique(self.known, return_counts=True)
        if self.labels is not None or len(distinct) < _LEAST_DISTINCT:
            return ""
        ends = ((0, 1, "lowest", "below"), (-1, -2, "highest", "above"))
        return "; ".join(
            f"{name} {self.write(distinct[own])}"
            f"{f' ({counts[own]:,} times)' if counts[own] > 1 else ''}, "
            f"{self.write_distance(distinct[own], distinct[next_one])} {side} the next"
            for own, next_one, name, side in ends
        )

    def write_distance(self, value: float, other: float) -> str:
        """Format the distance of two values; of dates, in days or seconds."""
        with np.errstate(over="ignore"):
            apart = abs(value - other)
        if self.kind == "date":
            days = apart / _DAY
            return counted(round(days), "day") if days >= 1 else f"{apart:g} s"
        return self._write_number(float(apart)) + " s" * (self.kind == "duration")

    @cached_property
    def far(self) -> list[str]:
        """Sentences about the far values: at most one for each end of the range."""
        if self.usual is None:
            return []
        ends = (
            (self.usual.below, "below the others, which begin at", self.usual.low),
            (self.usual.above, "above the others, which end at", self.usual.high),
        )
        return [
            f"{counted(len(far), 'value')} of {self.write_range(far[0], far[-1])}, far "
            f"{where} {self.write(end)}"
            for far, where, end in ends
            if len(far)
        ]

    def write_range(self, low: float, high: float) -> str:
        """Format a range of values; a range of one value as this value."""
        return " to ".join(dict.fromkeys([self.write(low), self.write(high)]))

    def count_labels(self) -> list[tuple[int, int]]:
        """Count the labels that occur: pairs of index and count, most common first."""
        found, counts = np.unique(self.known.astype(np.int64), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        pairs = zip(found[order].tolist(), counts[order].tolist(), strict=True)
        return list(pairs)

    def write_bin(self, name: str) -> str:
        """Format the name of a bin like the values of the column."""
        if self.kind == "number" and self._grouped:
            return _LONG_NUMBER.sub(lambda found: f"{int(found[0]):,}", name)
        if self.kind == "yes or no":
            return {"False": "no", "True": "yes"}.get(name, name)
        shown = name if self.kind == "number" else clean(name)
        return shown.replace("T", " ") if self.kind == "date" else shown

    def write(self, value: float) -> str:
        """Format a value of the column, or return its label."""
        if self.labels is not None:
            return self.labels[int(value)]
        if self.kind == "date":
            return format_moment(value).replace("T", " ")
        return self._write_number(value) + " s" * (self.kind == "duration")

    def write_middle(self, value: float) -> str:
        """Format a median, with one decimal more if it lies between two values."""
        if self.kind == "date" or round(value, self._n_decimals) == value:
            return self.write(value)
        more = self._write_number(value, self._n_decimals + 1)
        return more + " s" * (self.kind == "duration")

    def _write_number(self, value: float, n_decimals: int | None = None) -> str:
        """Format a number with the column's decimals, unless it is tiny or huge."""
        size = abs(value)
        n_decimals = self._n_decimals if n_decimals is None else n_decimals
        if size >= _PLAIN or (value and not round(value, n_decimals)):
            return f"{value:.{_N_DIGITS}g}"
        if size >= 10.0 ** (_MAX_DIGITS - n_decimals):
            n_decimals = 0
        return f"{value:{',' * self._grouped}.{n_decimals}f}"

    @cached_property
    def _grouped(self) -> bool:
        """Whether thousands are separated by commas in the numbers of the column."""
        return bool(np.abs(self.known).max(initial=0) >= _GROUPED)

    @cached_property
    def _n_decimals(self) -> int:
        """Number of decimals that all numbers of the column have.

        As few as write every value in full, but at most as many as give the median five
        digits; a zero before the point counts as a digit.
        """
        sizes = np.abs(self.known)
        sizes = sizes[(sizes > 0) & (sizes < _PLAIN)]
        if not len(sizes):
            return 0
        size = np.floor(np.log10(np.median(sizes)))
        most = int(np.clip(_N_DIGITS - 1 - size - (size < 0), 0, 15))
        return next((n for n in range(most) if (sizes.round(n) == sizes).all()), most)


def _find_usual_slice(known: _Floats) -> tuple[int, int]:
    """Find start and stop of the slice of sorted values that are not far.

    >>> _find_usual_slice(np.array([-500.0, *range(40), 4200.0]))
    (1, 41)
    """
    n = len(known)
    first, last = round(TAIL * n), n - round(TAIL * n)
    if n < _LEAST_VALUES or len(np.unique(known[first:last])) < _LEAST_DISTINCT:
        return 0, n
    half = known / 2  # a difference of values may be too large for a float
    last = first + _count_connected(half[first:], last - first)
    first = last - _count_connected(-half[:last][::-1], last - first)
    n_far = first + n - last
    few = max(min(_MOST_FAR, _MOST_OF_FEW * n), _MOST_SHARE * n)
    return (first, last) if n_far <= few else (0, n)


def _count_connected(ascending: _Floats, n_inside: int) -> int:
    """Count the values before the first large step that follows `n_inside` values."""
    steps = np.diff(ascending[n_inside - 1 :])
    large = steps > _STEP * (ascending[n_inside - 1 : -1] - ascending[0])
    return n_inside + int(large.argmax() if large.any() else len(large))


def make_display_columns(columns: Iterable[Column]) -> list[DisplayColumn]:
    """Make the display columns of a table, one for each column.

    >>> from proximity_kernel._table.columns import read_columns
    >>> columns = read_columns([[1.5, "red"], [None, "blue"]])
    >>> for column in make_display_columns(columns):
    ...     print(column.name, column.kind, column.values, column.labels)
    x0 number [1.5 nan] None
    x1 category [1. 0.] ('blue', 'red')
    """
    return list(map(_make_display_column, columns))


def _make_display_column(column: Column) -> DisplayColumn:
    """Make the display column of a column: its kind, values and labels."""
    name, observed = clean(column.type.name), column.observed
    values = np.where(observed, column.values, np.nan)
    if not observed.any():
        return DisplayColumn(name, "empty", values)
    if column.type.kind == "categorical":
        return DisplayColumn(name, "category", values, _write_labels(column.labels))
    if column.type.order is not None:
        return DisplayColumn(name, "ordered", values, _write_labels(column.type.order))
    if column.type.form == "boolean":
        return DisplayColumn(name, "yes or no", values, _NO_YES)
    return DisplayColumn(name, _KINDS.get(column.type.family, "number"), values)


def _write_labels(labels: Sequence[Any]) -> tuple[str, ...]:
    """Convert labels to text: booleans to yes or no, 4.0 to "4"."""
    return tuple(
        _NO_YES[label]
        if isinstance(label, bool)
        else clean(write_plain(label) if isinstance(label, float) else label)
        for label in labels
    )


def describe_columns(
    columns: Sequence[DisplayColumn], kernel: ProximityKernel
) -> list[dict[str, Any]]:
    """Build the card data for each column.

    The keys are name, kind, share (of missing cells), summary, extremes, far (lines),
    bins (names), n_bins, kept (whether missing cells have a bin of their own), two
    (whether the bins have groups), and ``histogram`` (see `draw_histogram`) or
    ``labels`` (label, share, rest). A column without a value, or with one number only,
    has neither.
    """
    cards = []
    for j, (column, names) in enumerate(zip(columns, bin_names(kernel), strict=True)):
        groups, bins = kernel.bin_groups_[j], kernel.model_.bins[j]
        card: dict[str, Any] = {
            "name": column.name,
            "kind": column.kind,
            "share": float(column.missing.mean()),
            "summary": _summarize(column),
            "extremes": column.extremes,
            "far": column.far,
            "n_bins": bins.n_bins,
            "bins": list(map(column.write_bin, names[: min(bins.n_bins, _MAX_BINS)])),
            "kept": bool(kernel.model_.informative[j]),
            "two": groups is not None,
        }
        usual = column.usual
        if column.labels is not None:
            card["labels"] = _list_label_shares(column, column.labels)
        elif usual and isinstance(bins, NumericBins) and usual.low < usual.high:
            shown = _cut_tails(column.known, usual)
            card["histogram"] = draw_histogram(column, shown, bins.midpoints, groups)
        cards.append(card)
    return cards


def list_far_values(columns: Sequence[DisplayColumn]) -> list[dict[str, Any]]:
    """List the columns that have far values, with some of their rows.

    The keys are name, lines (descriptions), rows (indices of the farthest), values (in
    these rows) and more (the number of other rows). The farthest values come first,
    measured by the range of the usual values of their column.
    """
    found = []
    for column in columns:
        if column.usual and column.far:
            apart = column.usual.measure_distance(column.values)
            found.append((column, apart, np.argsort(-apart, kind="stable")))
    found.sort(key=lambda one: -one[1].max())
    out: list[dict[str, Any]] = []
    for column, apart, order in found:
        rows = order[: np.count_nonzero(apart)].tolist()
        named = rows[: _MAX_ROWS if len(out) < _MAX_COLUMNS else 0]
        out.append(
            {
                "name": column.name,
                "lines": column.far,
                "rows": named,
                "values": [column.write(column.values[row]) for row in named],
                "more": len(rows) - len(named),
            }
        )
    return out


def _summarize(column: DisplayColumn) -> str:
    """Describe the values of a column: range and median, or number of labels."""
    known = column.known
    if not len(known):
        return "no value"
    n_distinct = len(np.unique(known))
    low, high = map(column.write, (known.min(), known.max()))
    if column.labels is not None:
        ends = f", {low} to {high}" if column.kind == "ordered" else ""
        return counted(n_distinct, "value") + ends
    if low == high:
        return f"always {low}"
    middle = column.write_middle(float(np.median(known)))
    return f"{low} to {high}, median {middle}, {n_distinct:,} different"


def _list_label_shares(
    column: DisplayColumn, labels: tuple[str, ...]
) -> list[dict[str, Any]]:
    """List the most common labels with their shares; ordered labels in their order."""
    counts = column.count_labels()
    shown = counts if len(counts) == _MAX_LABELS + 1 else counts[:_MAX_LABELS]
    rest = sum(n for _, n in counts[len(shown) :])
    if column.kind != "category":
        shown = sorted(shown)
    bars = [(labels[k], n, False) for k, n in shown]
    if rest:
        bars.append((f"and {len(counts) - len(shown):,} more", rest, True))
    return [
        {"label": label, "share": n / len(column.known), "rest": is_rest}
        for label, n, is_rest in bars
    ]


def _cut_tails(known: NDArray[np.float64], usual: UsualRange) -> UsualRange:
    """Narrow the range if the outer 1 % of values spans more than the middle 98 %."""
    low, first, last, high = np.quantile(
        known[(known >= usual.low) & (known <= usual.high)] / 2, [0, 0.01, 0.99, 1]
    )
    if first < last:  # halves: a difference may be too large for a float
        low = first if first - low > last - first else low
        high = last if high - last > last - first else high
    low, high = max(2 * low, usual.low), min(2 * high, usual.high)
    return UsualRange(low, high, known[known < low], known[known > high])


def draw_histogram(
    column: DisplayColumn,
    usual: UsualRange,
    limits: NDArray[np.float64],
    groups: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Compute the histogram of a measured column, with the limits of its bins.

    The column has two different values. The range `usual` is drawn to scale; `limits`
    tell where one bin ends and the next begins, and `groups` the coarse bin of each.
    Returns bars and beyond (x, y, width, height), bands (x, width), limits (x, strong),
    left and right (of the scale), low, high, cut (how many values lie beyond, in words)
    and text (for screen readers).
    """
    known, low, high = column.known, usual.low, usual.high
    whole = high / 2 - low / 2 < _N_BARS / 2 and bool((known == known.round()).all())
    inside = known[(known >= low) & (known <= high)]
    if whole:  # a bar for each whole number
        low, high = low - 0.5, high + 0.5
    left = (_GAP + _FAR_WIDTH) * (len(usual.below) > 0)
    right = WIDTH - (_GAP + _FAR_WIDTH) * (len(usual.above) > 0)
    # Scaled: the difference of the ends may be too large for a float.
    size = max(abs(low), abs(high))
    ends, places = (low / size, high / size), (left, right)
    n_bars = round(high - low) if whole else _N_BARS
    positions = np.interp(inside / size, ends, places)
    counts, edges = np.histogram(positions, n_bars, places)
    peak = int(counts.argmax())
    # An edge may belong to either bar, so the bar is named by the values that it holds.
    held = inside[np.searchsorted(edges[1:-1], positions, "right") == peak]
    where = column.write_range(held.min(), held.max())
    return {
        **_draw_bars(edges, counts, usual),
        **_draw_bins(np.interp(limits / size, ends, places), left, right, groups),
        "left": left,
        "right": right,
        "low": column.write(usual.low),
        "high": column.write(usual.high),
        "cut": " and ".join(
            f"{counted(len(beyond), 'value')} {side} {column.write(end)}"
            for beyond, side, end in (
                (usual.below, "below", usual.low),
                (usual.above, "above", usual.high),
            )
            if len(beyond)
        ),
        "text": f"Values from {column.write(usual.low)} to {column.write(usual.high)}; "
        f"the tallest bar, {where}, holds {write_share(counts[peak] / len(known))}.",
    }


def _draw_bars(
    edges: NDArray[np.float64], counts: NDArray[np.int64], usual: UsualRange
) -> dict[str, Any]:
    """Place the bars of a histogram, and the bars of the values beyond its ends."""
    parts = counts / counts.max()
    bars = [
        (x, HEIGHT - HEIGHT * part, end - x, HEIGHT * part)
        for (x, end), part in zip(pairwise(edges.tolist()), parts.tolist(), strict=True)
        if part
    ]
    beyond = [
        (x, HEIGHT - height, _FAR_WIDTH, height)
        for x, far in ((0.0, usual.below), (WIDTH - _FAR_WIDTH, usual.above))
        if len(far)
        for height in [HEIGHT * min(1, max(_LEAST, len(far) / int(counts.max())))]
    ]
    return {"bars": bars, "beyond": beyond}


def _draw_bins(
    limits: NDArray[np.float64],
    left: float,
    right: float,
    groups: NDArray[np.int64] | None,
) -> dict[str, Any]:
    """Shade every other bin, or group of bins, and draw the limits between them."""
    owner = range(len(limits) + 1) if groups is None else groups.tolist()
    at = [left, *limits.tolist(), right]
    return {
        "bands": [
            (x, end - x) for k, (x, end) in enumerate(pairwise(at)) if owner[k] % 2
        ],
        "limits": [
            (x, groups is not None and owner[k] != owner[k + 1])
            for k, x in enumerate(at[1:-1])
            if left < x < right
        ],
    }
