"""A table in, the page out: calls the sections, renders them, and writes the file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import warnings
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import ProximityKernel, ProximityKMeans, __version__
from .._shared.extras import require
from .._shared.whole_files import whole_file
from . import (
    _bin_cards,
    _cluster_cards,
    _histogram,
    _map,
    _missing_cells,
    _overview,
    _row_data,
    _text,
    _unusual_rows,
)
from ._display_columns import DisplayColumn, read_display_columns

_JOINERS = re.compile(r"([_.-])(?=.)")
# Numbers, dates and times, with their units; very long ones may break. Not those of
# escaped characters, as &#39;.
_UNBREAKABLE = re.compile(
    r"(?<![\w#])[-+]?\d[\d,.:+-]{0,22}(?:e[+-]?\d+)?(?: %| s\b)?(?!\w)"
)
_SCRIPTS = ("page.js", "gaps.js", "panel.js", "map.js")


def write_report(
    path: str | os.PathLike[str],
    table: Any,
    *,
    kernel: ProximityKernel | None = None,
    clusters: ProximityKMeans | None = None,
    ids: Sequence[Any] | None = None,
    title: str | None = None,
    assumptions: Sequence[str] = (),
    random_state: int = 0,
) -> Path:
    """Write a page about a table: missing cells, bins, a map of its rows, outliers.

    The page is a single file that loads nothing from the network. It is written
    completely or not at all.

    Parameters
    ----------
    path : path
        Of the file; an existing one is replaced. Its folder must exist.
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel or None, default=None
        Fitted. None is the kernel of `clusters`, or one with default options, fitted
        to the table.
    clusters : ProximityKMeans or None, default=None
        Fitted. None leaves the clusters out.
    ids : sequence of shape (n_samples,) or None, default=None
        Names of the rows. None numbers them, from 0.
    title : str or None, default=None
    assumptions : sequence of str
        What was assumed when the table was read, to show on the page.
    random_state : int, default=0
        Seed for the rows that are drawn from a large table. The same seed gives the
        same page.

    Returns
    -------
    Path
        Of the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from proximity_kernel.datasets import load_penguins
    >>> from proximity_kernel.report import write_report
    >>> penguins = load_penguins()
    >>> with TemporaryDirectory() as folder:
    ...     page = write_report(f"{folder}/penguins.html", penguins)
    ...     "<title>344 rows, 8 columns</title>" in page.read_text(encoding="utf-8")
    True
    """
    target = _check_path(path)
    require("jinja2", extra="report")
    require("plotly", extra="report")
    kernel = _find_kernel(table, kernel, clusters)
    columns = read_display_columns(table, kernel)
    names = _name_rows(ids, len(table))
    content = _collect(table, columns, kernel, clusters, names, random_state)
    content["title"] = _text.clean(title, 200) if title else content["size"]
    content["assumptions"] = [_text.clean(line, 500) for line in assumptions]
    with whole_file(target) as part:
        part.write_text(_render(content), encoding="utf-8", newline="\n")
    return target


def _check_path(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file in it.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(
            f"the folder of {target} does not exist; create it first."
        )
    return target


def _find_kernel(
    table: Any, kernel: ProximityKernel | None, clusters: ProximityKMeans | None
) -> ProximityKernel:
    """Use the kernel that is given or that of the clusters, or fit one."""
    if clusters is not None:
        if not isinstance(clusters, ProximityKMeans):
            raise TypeError(
                f"clusters must be a fitted ProximityKMeans or None, got {clusters!r}."
            )
        check_is_fitted(clusters)
    if kernel is None and clusters is not None:
        kernel = clusters.kernel_
    if kernel is None:
        with warnings.catch_warnings():
            # About empty columns, which the page shows.
            warnings.simplefilter("ignore", UserWarning)
            kernel = ProximityKernel().fit(table)
    if not isinstance(kernel, ProximityKernel):
        raise TypeError(
            f"kernel must be a fitted ProximityKernel or None, got {kernel!r}."
        )
    check_is_fitted(kernel)
    return kernel


def _name_rows(ids: Sequence[Any] | None, n_rows: int) -> list[str]:
    if ids is None:
        return [str(i) for i in range(n_rows)]
    if len(ids) != n_rows:
        raise ValueError(
            f"ids must have one name for each of the {n_rows:,} rows, got {len(ids):,}."
        )
    return [_text.clean(one) for one in ids]


def _collect(
    table: Any,
    columns: list[DisplayColumn],
    kernel: ProximityKernel,
    clusters: ProximityKMeans | None,
    names: list[str],
    random_state: int,
) -> dict[str, Any]:
    """Compute everything that the page shows."""
    rng = np.random.default_rng(random_state)
    labels = None if clusters is None else clusters.predict(table).astype(np.int64)
    types = kernel.model_.types
    by_name = {one.name: column for one, column in zip(types, columns, strict=True)}
    unusual = _unusual_rows.find_unusual_rows(table, kernel, by_name)
    far = _overview.list_far_values(columns)
    sure = np.unique([*unusual["rows"], *(row for one in far for row in one["rows"])])
    rows = _map.draw_rows(len(names), len(columns), sure, rng)
    gaps = _overview.describe_gaps(columns, rng)
    data = _row_data.describe_rows(table, kernel, columns, rows)
    data["ids"] = [names[i] for i in data["rows"]]
    data["clusters"] = None if labels is None else labels[data["rows"]].tolist()
    picture = gaps["picture"]
    data["gaps"] = picture | {"names": [names[i] for i in picture["rows"]]}
    size = f"{_text.some(len(names), 'row')}, {_text.some(len(columns), 'column')}"
    return {
        "size": size,
        "n_rows": len(names),
        "columns": _overview.describe_columns(columns),
        "gaps": gaps,
        "missing": _missing_cells.describe_missing_cells(table, kernel, rng),
        "cards": _bin_cards.describe_bins(columns, kernel),
        "map": data,
        "clusters": None
        if clusters is None or labels is None
        else _cluster_cards.describe_profiles(clusters, labels, by_name),
        "unusual": unusual,
        "far": far,
        "names": names,
        "kernel": kernel,
        "json": _dump(data),
    }


def _dump(data: Any) -> str:
    """Write JSON that is safe inside a page: it neither opens nor closes a tag."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _render(content: dict[str, Any]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    environment = Environment(
        loader=PackageLoader("proximity_kernel.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": _text.count, "share": _text.share}
    environment.filters |= {"breakable": _breakable, "whole": _keep_whole}
    environment.globals["some"] = _text.some
    folder = resources.files("proximity_kernel.report") / "templates"
    read = {
        name: (folder / name).read_text(encoding="utf-8")
        for name in ("page.css", *_SCRIPTS)
    }
    scripts = [get_plotlyjs(), "\n".join(read[name] for name in _SCRIPTS)]
    scripts = [script.replace("</script", "<\\/script") for script in scripts]
    page: str = environment.get_template("page.html").render(
        content,
        style=read["page.css"],
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
        version=__version__,
        limits={
            "nearest": _map.N_NEAREST,
            "picture_rows": _overview.PICTURE_ROWS,
            "picture_columns": _overview.PICTURE_COLUMNS,
            "width": _histogram.WIDTH,
            "height": _histogram.HEIGHT,
        },
    )
    return page


def _breakable(name: str) -> Any:
    """Escape a name, and let it break after characters that join words."""
    from markupsafe import Markup, escape

    return Markup(_JOINERS.sub(r"\1<wbr>", str(escape(name))))


def _keep_whole(text: str) -> Any:
    """Escape a text, and keep its numbers and dates on one line."""
    from markupsafe import Markup, escape

    whole = r'<span class="whole">\g<0></span>'
    return Markup(_UNBREAKABLE.sub(whole, str(escape(text))))


def _hash(script: str) -> str:
    """Hash a script for the content security policy."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
