"""`TableReport`: compute the sections of the page, render them, show or write it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import warnings
from collections.abc import Sequence
from functools import partial
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import ProximityKernel, ProximityKMeans, __version__
from .._coded import CodedTable
from .._groups import describe_groups, name_kind
from .._shared.extras import require
from .._shared.resources import count_threads
from .._shared.whole_files import whole_file
from .._shared.wording import capitalize, counted, number_repeats, write_share
from ..io import LoadedTable
from ..io.cells import write_cell
from ..kernel import code_table, find_kernel, fit_coded
from ..neighbors import fit_search_kernel
from .display_columns import (
    HEIGHT,
    WIDTH,
    clean,
    describe_columns,
    list_far_values,
    make_display_columns,
)
from .findings import count_cells, describe_clusters, find_alerts, write_findings
from .row_map import describe_rows, sample_compared_rows
from .sections import (
    count_missing_cells,
    describe_evidence,
    describe_missing_cells,
    find_surprising_rows,
)

_SAMPLE_ROWS = 5
# Characters that join words: a line may break after such a character.
_JOINERS = re.compile("([_.\N{OPEN BOX}-])(?=.)")
# Numbers, dates and times, with their units, and options of the command line: no line
# breaks inside, unless the text is very long. The number in an escape (&#39;) does not
# match.
_UNBREAKABLE = re.compile(
    r"(?<![\w-])--\w[\w=.-]{0,22}"
    r"|(?<![\w#])[-+]?\d[\d,.:+-]{0,22}(?:e[+-]?\d+)?(?: %| s\b)?(?!\w)"
)


class TableReport:
    """A page about a table: findings, a map of its rows, clusters, columns.

    The page also shows where cells are missing, and how certain their estimates are. It
    is one HTML text that loads nothing from the network. A notebook shows the page if
    the report is the last line of a cell; `write_html` writes the page to a file.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
        Or the result of `read_table`: then its ids, name, assumptions and doubts are on
        the page, unless these are given as parameters.
    kernel : ProximityKernel or None, default=None
        Fitted; also used to compare rows. None is the kernel of `clusters` or, without
        `clusters`, a kernel with default options, fitted to the table. Then rows are
        compared as `ProximityNeighbors` does, unless the kernel of `clusters` has its
        own `n_bins` or ``matching="cascade"``.
    clusters : ProximityKMeans or None, default=None
        Fitted. None leaves the clusters out.
    ids : sequence of shape (n_samples,) or None, default=None
        Names of the rows. None numbers them, from 1.
    title : str or None, default=None
    assumptions : sequence of str
        What was assumed when the table was read, to show on the page.
    doubts : sequence of str
        What may be wrong with the table, to show at the top of the page. An assumption
        that is also a doubt is not repeated.
    made : str or None, default=None
        When and how the page was made, for its last line.
    random_state : int, default=0
        Seed for the rows that are sampled from a large table. The same seed gives the
        same page.

    Attributes
    ----------
    html : str
        The page.

    Examples
    --------
    >>> from proximity_kernel import TableReport
    >>> from proximity_kernel.datasets import load_penguins
    >>> report = TableReport(load_penguins())
    >>> report
    TableReport(344 rows, 8 columns)
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     report.write_html(f"{folder}/penguins.html").name
    'penguins.html'
    """

    def __init__(
        self,
        table: Any,
        *,
        kernel: ProximityKernel | None = None,
        clusters: ProximityKMeans | None = None,
        ids: Sequence[Any] | None = None,
        title: str | None = None,
        assumptions: Sequence[str] = (),
        doubts: Sequence[str] = (),
        made: str | None = None,
        random_state: int = 0,
    ) -> None:
        require("jinja2", extra="report")
        if isinstance(table, LoadedTable):
            if ids is None:  # the ids of the file or, without ids, its row numbers
                numbers = (table.frame.index + 1).tolist()
                first = table.ids.iloc[:, 0] if table.ids.shape[1] else numbers
                ids = number_repeats([write_cell(cell) for cell in first], numbers)
            title = title or Path(table.name).name
            assumptions = assumptions or table.assumptions
            doubts = doubts or table.doubts
            table = table.frame
        if not isinstance(clusters, ProximityKMeans | None):
            raise TypeError(
                f"clusters must be a fitted ProximityKMeans or None, got {clusters!r}."
            )
        if clusters is not None:
            check_is_fitted(clusters)
        with warnings.catch_warnings():
            # Warnings about empty columns, which the page shows.
            warnings.simplefilter("ignore", UserWarning)
            used, coded = _choose_kernel(table, kernel, clusters)
            names, given = _name_rows(ids, len(coded)), kernel is not None
            how = given, clusters, names, random_state
            content = _collect_content(coded, used, *how)
        content["title"] = clean(title, 200) if title else content["size"]
        lines = [clean(one, 500) for one in assumptions if one not in doubts]
        content["assumptions"] = lines
        content["doubts"] = [clean(capitalize(one), 500) for one in doubts]
        content["made"] = clean(made, 500) if made else ""
        self._size: str = content["size"]
        self.html = _render(content)

    def write_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, completely or not at all.

        Parameters
        ----------
        path : path
            Where to write; an existing file is replaced. The folder must exist.

        Returns
        -------
        Path
            The path of the file.
        """
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(f"{target} is a folder; name a file in it.")
        if not target.absolute().parent.is_dir():
            text = f"the folder of {target} does not exist; create it first."
            raise FileNotFoundError(text)
        with whole_file(target) as file:
            file.write(self.html.encode())
        return target

    def _repr_html_(self) -> str:
        """Show the page in a frame of its own, so that styles do not mix."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" style="width: 100%; height: 720px; '
            'border: 1px solid #d0d7de" sandbox="allow-scripts"></iframe>'
        )

    def __repr__(self) -> str:
        return f"TableReport({self._size})"


def _choose_kernel(
    table: Any, kernel: ProximityKernel | None, clusters: ProximityKMeans | None
) -> tuple[ProximityKernel, CodedTable]:
    """Choose the kernel (given, of the clusters, or fitted here), and code the table.

    A table that is already coded by this kernel is not coded again.
    """
    if kernel is None and clusters is None:
        kernel = ProximityKernel()
        return kernel, fit_coded(kernel, table)
    kernel = find_kernel(clusters if kernel is None else kernel)
    return kernel, code_table(kernel, table)


def _name_rows(ids: Sequence[Any] | None, n_rows: int) -> list[str]:
    """List the names of the rows: the ids or, without ids, the numbers from 1.

    An id that several rows have is followed by the row number.
    """
    if ids is None:
        return [str(i) for i in range(1, n_rows + 1)]
    if len(ids) != n_rows:
        raise ValueError(
            f"ids must have one name for each of the {n_rows:,} rows, got {len(ids):,}."
        )
    return number_repeats([clean(one) for one in ids], range(1, n_rows + 1))


def _collect_content(
    coded: CodedTable,
    kernel: ProximityKernel,
    given: bool,
    clusters: ProximityKMeans | None,
    names: list[str],
    random_state: int,
) -> dict[str, Any]:
    """Compute the content of all sections, as variables of the template."""
    labels, groups, kind, own = None, None, "cluster", coded
    if clusters is not None:  # first, because finding groups needs most memory
        model = clusters.kernel_.model_
        if coded.model is not model:  # the table was coded by another kernel
            own = model.code_columns(coded.columns, count_threads(clusters.n_jobs))
        groups = clusters.groups_ or clusters.find_groups(own)
        kind = name_kind(clusters.n_clusters_, groups)
        if clusters.n_clusters_ > 1:
            labels = clusters.predict(own).astype(np.int64)
    own.release()
    coded.release()
    columns = make_display_columns(coded.columns)
    rng = np.random.default_rng(random_state)
    surprising = find_surprising_rows(kernel, columns, coded)
    far = list_far_values(columns)
    named = [one["row"] for one in surprising["rows"]]
    named += [row for one in far for row in one["rows"]]
    always = np.unique(named).astype(int)
    compared = sample_compared_rows(len(names), len(columns), always, rng)
    near = kernel, coded
    # Rows are compared as neighbors do, unless a kernel was given, or the kernel of the
    # clusters has its own bins or is a cascade.
    if not given and kernel.n_bins is None and kernel.matching == "pairwise":
        near = fit_search_kernel(kernel, coded.columns)
    data = describe_rows(near[0], columns, near[1], compared, rng)
    data["ids"] = [names[i] for i in data["rows"]]
    data["sampled"] = len(data["rows"]) < len(names)
    data["clusters"] = cards = None
    if clusters is not None and labels is not None:
        names_of = dict(zip(own.model.names, columns, strict=True))
        cards = describe_clusters(
            clusters, count_cells(own, labels, clusters.n_clusters_), names_of
        )
        data["clusters"] = labels[data["rows"]].tolist()
        data["sizes"] = [int(card["size"]) for card in cards]
        data["kind"] = kind
        data["names"] = [card["name"] for card in cards]
    counts = count_missing_cells(columns)
    missing = describe_missing_cells(kernel, coded, rng)
    findings = write_findings(cards, kind, far, surprising, counts, missing, names)
    if clusters is not None:
        text = describe_groups(clusters.n_clusters_, groups)
        if text or not cards:
            text = text or "The rows form one cluster."
            findings.insert(1 if cards else 0, text)  # the clusters come first
    return {
        "size": f"{counted(len(names), 'row')}, {counted(len(columns), 'column')}",
        "n_rows": len(names),
        "findings": findings,
        "map": data,
        "clusters": cards,
        "kind": kind,
        "surprising": surprising,
        "far": far,
        "alerts": find_alerts(columns),
        "sample": [
            [None if one.missing[i] else one.write(one.values[i]) for one in columns]
            for i in range(min(_SAMPLE_ROWS, len(names)))
        ],
        "missing_counts": counts,
        "missing": missing,
        "columns": describe_columns(columns, kernel),
        "numbers": any(one.type.kind == "numeric" for one in coded.columns),
        "categories": any(one.type.kind == "categorical" for one in coded.columns),
        "finer": bool(near[0].model_.leaf_names),
        "evidence": describe_evidence(kernel, columns),
        "names": names,
        "kernel": kernel,
        "json": _dump(data),
    }


def _dump(data: Any) -> str:
    """Convert data to JSON that cannot open or close a tag of the page."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _render(content: dict[str, Any]) -> str:
    """Render the page from its template."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("proximity_kernel.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": "{:,}".format, "share": write_share}
    environment.filters["breakable"] = partial(_mark_up, _JOINERS, r"\1<wbr>")
    whole = r'<span class="whole">\g<0></span>'
    environment.filters["whole"] = partial(_mark_up, _UNBREAKABLE, whole)
    environment.globals["some"] = counted
    folder = resources.files("proximity_kernel.report") / "templates"
    style, *scripts = (
        (folder / name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js", "map.js")
    )
    script = "\n".join(scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest())
    page: str = environment.get_template("page.html").render(
        content,
        style=style,
        script=script,
        hash=f"'sha256-{digest.decode('ascii')}'",
        version=__version__,
        width=WIDTH,
        height=HEIGHT,
    )
    return page


def _mark_up(pattern: re.Pattern[str], markup: str, text: str) -> Any:
    """Escape a text, and put markup around each match of a pattern."""
    from markupsafe import Markup, escape

    return Markup(pattern.sub(markup, str(escape(text))))
