"""A figure in two files, for the screen and for print: each whole, or not there."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._whole import whole_file
from ._style import house_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Neither the day nor the version of matplotlib: the same data give the same bytes.
_FORMATS: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
}


def save_figure(figure: Figure, path_stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Save a figure as PNG (200 dots per inch) and as SVG, its text as text.

    Both are drawn before the first is written, and each gets its name only when it is
    complete: an error leaves the older files as they were.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        With the layout "constrained".
    path_stem : path
        Of the files, without ``.png`` and ``.svg``. Its folder is made if absent.

    Returns
    -------
    png, svg : Path

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from proximity_kernel_paper.plots import draw_scatter, save_figure
    >>> ax = draw_scatter({"PK": ([1, 2], [0.9, 0.8])})
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in save_figure(ax.figure, f"{folder}/bins-v1.2")]
    ['bins-v1.2.png', 'bins-v1.2.svg']
    """
    with house_style():
        contents = {kind: _render(figure, kind) for kind in _FORMATS}
    stem = Path(path_stem)
    png, svg = (stem.with_name(f"{stem.name}.{kind}") for kind in _FORMATS)
    stem.parent.mkdir(parents=True, exist_ok=True)
    for path, kind in ((png, "png"), (svg, "svg")):
        with whole_file(path) as part:
            part.write_bytes(contents[kind])
    return png, svg


def _render(figure: Figure, kind: str) -> bytes:
    # The constrained layout starts from where it left the axes at the last drawing:
    # without this, saving twice moves everything by a fraction of a pixel.
    for ax in figure.axes:
        place = ax.get_subplotspec()
        if place is not None:
            ax.set_position(place.get_position(figure))
            ax.set_in_layout(True)  # which set_position takes away
    buffer = BytesIO()
    figure.savefig(buffer, format=kind, metadata=_FORMATS[kind])
    return buffer.getvalue()
