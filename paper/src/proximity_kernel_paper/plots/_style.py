"""How all figures look: the settings, and the look of each name drawn.

The settings start from matplotlib's defaults, not from the user's, and hold only while
something is drawn or saved: the same data give the same bytes on anybody's machine, and
nobody else's figures change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#000000"
GREY = "#6b6b6b"
PALE = "#d0d0d0"
FONT_SIZE = 9.0
SMALL = 8.0

# First the palette of Okabe and Ito without its yellow, which is faint on white paper,
# then others that are far from these: fourteen names have colors of their own, and more
# are grey.
COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    INK,
    "#8C564B",
    "#8A8A8A",
    "#6A3D9A",
    "#A6A600",
    "#7FCDBB",
    "#FB8072",
    "#1F3A93",
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")
SCALES = {"*": 1.6, "P": 1.2, "X": 1.2}  # of markers that look small for their size
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))

STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelsize": FONT_SIZE,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": FONT_SIZE,
    "axes.titlelocation": "left",
    "figure.dpi": 100,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same everywhere
    "font.size": FONT_SIZE,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.handlelength": 3.0,  # long enough to tell the lines apart
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "proximity-kernel",
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}


@dataclass(frozen=True)
class Look:
    """How one name is drawn.

    Attributes
    ----------
    color, marker : str
        As matplotlib writes them.
    line : str or tuple
        The pattern of its line.
    """

    color: str
    marker: str
    line: Any

    @property
    def scale(self) -> float:
        """How much larger its marker has to be to look as large as others."""
        return SCALES.get(self.marker, 1.0)


def looks(drawn: Iterable[str], names: Sequence[str] | None = None) -> dict[str, Look]:
    """Give each name a look of its own.

    Parameters
    ----------
    drawn : iterable of str
        The names in the figure.
    names : sequence of str, optional
        All names, in the order that gives the looks; those not in it come after it.

    Returns
    -------
    dict from str to Look
        Of the names drawn, and of `names`.

    Examples
    --------
    >>> looks(["PK"], names=["Mean", "PK"])["PK"].marker
    's'
    """
    order = dict.fromkeys([*(names or ()), *drawn])
    return {name: _look(place) for place, name in enumerate(order)}


def _look(place: int) -> Look:
    color = COLORS[place] if place < len(COLORS) else GREY
    return Look(color, MARKERS[place % len(MARKERS)], LINES[place % len(LINES)])


@contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house style within the block.

    Examples
    --------
    >>> import matplotlib
    >>> with house_style():
    ...     matplotlib.rcParams["svg.fonttype"]
    'none'
    """
    import matplotlib as mpl  # here: it takes long to import

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def new_axes(width: float, height: float) -> Axes:
    """Make a figure with one pair of axes.

    Parameters
    ----------
    width, height : float
        In inches.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> new_axes(4, 3).figure.get_size_inches().tolist()
    [4.0, 3.0]
    """
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").add_subplot()
