"""The page that puts all results together, written from the CSV files alone.

Nothing is run and nothing is typed by hand: what a number needs is in the results, and
what is not there is said to be missing. A number that takes several trials (the mean of
ten seeds, the best of a grid) is shown only when all of them are done.

The page is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from .._whole import whole_file
from ..plots import save_figure
from ._catalogue import find_experiment, list_experiments, list_failures
from ._opening import (
    list_checks,
    open_page,
    tell_classes,
    tell_encoding,
    tell_leads,
    tell_neighbors,
    tell_runs,
)
from ._rendering import Rendering, Table, write_markdown
from ._run import keep_planned, open_ledger, survey
from ._trials import KEY, Experiment, Request, Trial

PICTURES = Path("pictures")
# As a reader would ask: where does the gain come from, is it real, what is it good for?
ORDER = (
    "encoding",
    "nmi",
    "ranks",
    "peers",
    "fidelity",
    "missing-rate",
    "bins",
    "runtime",
)
DETAILS = (
    "nmi", "ranks", "peers", "spaces", "classification", "missing-rate", "levels",
    "scaling", "options", "differences", "tables",
)  # fmt: skip
# Sections on both pages: tables and figures on the first.
SPLIT = {"nmi": (2, 3), "ranks": (1, 0), "peers": (2, 0), "missing-rate": (1, 0)}
BEYOND = {"nmi": "AMI"}  # what titles of tables begin with that the second page has
JOINED = {"nmi": "boxplot", "bins": "binning"}  # figures shown in another's section
LEADING = {
    "encoding": tell_encoding,
    "nmi": tell_leads,
    "fidelity": tell_neighbors,
    "classification": tell_classes,
}
CAPTIONS = {
    "nmi-beside-paper": (
        "NMI here against NMI printed, a point for each table and method. On the "
        "diagonal they agree; look for the named tables far from it."
    ),
    "boxplot-paper": (
        "The spread over the tables, labels choosing parameters. Look at the medians: "
        "the kernels are to the right, and the boxes of all methods overlap."
    ),
    "boxplot-clean": (
        "The same without labels. Look at how little the order changes, and which "
        "medians move to the left."
    ),
    "ranks-paper-pk-paper": (
        "Mean ranks; a bar joins methods that Nemenyi's test cannot tell apart. Look "
        "at who shares a bar with PK (paper): the paper has HI-PMK alone there."
    ),
    "ranks-paper-pk-ours": (
        "Mean ranks with PK (ours) in the place of PK (paper), parameters of the "
        "others chosen by labels. Look at who shares a bar with it."
    ),
    "ranks-clean-pk-paper": "Mean ranks without labels. Look at who is first.",
    "ranks-clean-pk-ours": (
        "The same with PK (ours). Look at the gap to HI-PMK: far less than the "
        "critical difference."
    ),
    "fidelity": (
        "Error of the similarities against time, a point for each method; best is at "
        "the lower left. Look at the distance between PK (paper) and PK, pairwise."
    ),
    "missing-rate": (
        "NMI as more cells are hidden. Look at PK (paper) with four bins beside its "
        "best bins, and at the height of chance on messidor."
    ),
    "bins": (
        "NMI against the number of bins, by the paper's rule and by ours in the same "
        "bins. Look at how much the curves of one table move, not at which is higher."
    ),
    "binning": (
        "Percentile bins on a skewed sample. Two pairs equally far apart: the dense "
        "one is cut by a border, the sparse one is not."
    ),
    "runtime": (
        "Seconds and memory against rows, first table. Look at the slopes: a line of "
        "slope 2 takes four times as long for twice the rows."
    ),
}
NAMED = 12  # groups of gaps that are named


@dataclass(frozen=True, eq=False)
class Chapter:
    """One experiment, as far as it is done.

    Attributes
    ----------
    experiment : Experiment
    results : pandas.DataFrame or None
        Of the trials that belong to it; None if it has no trials.
    shown : pandas.DataFrame or None
        Those of them that make complete numbers.
    rendering : Rendering
        Of what is shown.
    n_planned : int
    left : list of Trial
        Not done.
    problem : str
        Why nothing can be shown, if something can not.
    """

    experiment: Experiment
    results: pd.DataFrame | None = None
    shown: pd.DataFrame | None = None
    rendering: Rendering = field(default_factory=Rendering)
    n_planned: int = 0
    left: list[Trial] = field(default_factory=list)
    problem: str = ""

    @property
    def has_trials(self) -> bool:
        """Whether the trials are its own."""
        return self.experiment.plan is not None


def write_page(results: Path, page: Path, *, quick: bool = False) -> None:
    """Write the page and its figures.

    Parameters
    ----------
    results : Path
        The folder that keeps the results; whatever of it is there.
    page : Path
        The file. The second page, named ``-details``, and the figures, in ``pictures``,
        are put beside it.
    quick : bool, default=False
        Whether to show the quick runs.
    """
    chapters = read_chapters(results, quick)
    details = name_details(page)
    texts = {
        details: write_details(chapters, page.name, quick),
        page: write_text(chapters, details.name, quick),
    }
    for chapter in chapters.values():
        for stem, draw in chapter.rendering.figures.items():
            save_figure(draw(), page.parent / PICTURES / stem)
    page.parent.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        with whole_file(path) as part:
            part.write_text(text, encoding="utf-8")


def name_details(page: Path) -> Path:
    """Name the second page.

    Examples
    --------
    >>> name_details(Path("paper.md")).name
    'paper-details.md'
    """
    return page.with_name(f"{page.stem}-details{page.suffix}")


def read_chapters(results: Path, quick: bool = False) -> dict[str, Chapter]:
    """Read what is done of every experiment.

    Parameters
    ----------
    results : Path
    quick : bool, default=False

    Returns
    -------
    dict from str to Chapter
        By the name of the experiment, in the order of the paper.
    """
    request = Request(quick=quick)
    chapters: dict[str, Chapter] = {}
    for name in list_experiments():
        experiment = find_experiment(name)
        known = chapters.get(experiment.source)  # a source comes before its users
        chapter = known or _read_chapter(experiment, request, results)
        chapters[name] = _render(replace(chapter, experiment=experiment), request)
    return chapters


def _read_chapter(experiment: Experiment, request: Request, folder: Path) -> Chapter:
    if experiment.plan is None:
        return Chapter(experiment)
    ledger = open_ledger(experiment, folder, request.quick)
    done, planned, left = survey(experiment, request, ledger)
    found = keep_planned(done, planned)
    shown = keep_complete(found, left, experiment.unit)
    return Chapter(experiment, found, shown, n_planned=len(planned), left=left)


def _render(chapter: Chapter, request: Request) -> Chapter:
    shown = pd.DataFrame() if chapter.shown is None else chapter.shown
    if chapter.shown is not None and not len(shown):
        return chapter
    try:
        found = chapter.experiment.render(shown, request)
        return replace(chapter, rendering=found, problem="")
    except (LookupError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
        return replace(chapter, rendering=Rendering(), problem=problem)


def keep_complete(
    results: pd.DataFrame, left: list[Trial], unit: tuple[str, ...]
) -> pd.DataFrame:
    """Leave out numbers of which some trials are not done.

    Parameters
    ----------
    results : pandas.DataFrame
        Of a ledger.
    left : list of Trial
        Those that are not done.
    unit : tuple of str
        The columns that make one number.

    Returns
    -------
    pandas.DataFrame
    """
    places = [KEY.index(name) for name in unit]
    lacking = {tuple(trial.key[place] for place in places) for trial in left}
    keys = results[list(unit)].astype(str).itertuples(index=False, name=None)
    kept = np.fromiter((key not in lacking for key in keys), bool, len(results))
    return results[kept].reset_index(drop=True)


def write_text(
    chapters: Mapping[str, Chapter],
    details: str = "paper-details.md",
    quick: bool = False,
) -> str:
    """Write the first page.

    Parameters
    ----------
    chapters : mapping from str to Chapter
        By the name of the experiment.
    details : str, default="paper-details.md"
        Where the second page is.
    quick : bool, default=False

    Returns
    -------
    str
        Markdown.
    """
    parts = [
        "# Did it reproduce?" + " (quick runs)" * quick,
        *open_page(chapters),
    ]
    for name in ORDER:
        joined = chapters.get(JOINED.get(name, ""))
        figures = [*chapters[name].rendering.figures]
        figures += joined.rendering.figures if joined else []
        tables = _list_tables(chapters[name])
        if name in SPLIT:
            n_tables, n_figures = SPLIT[name]
            tables, figures = tables[:n_tables], figures[:n_figures]
        parts += _write_chapter(chapters[name], tables, figures)
    parts.append(
        f"[Details]({details}): AMI by table, the other ranks, each held-out table, "
        "kernels clustered alike, classes of unseen rows, Messidor, who answers for a "
        "missing cell, why some printed numbers differ, what the options give, where "
        "the method departs from the paper, the tables, what the verdicts count, and "
        "what was run."
    )
    return _join(parts)


def write_details(
    chapters: Mapping[str, Chapter], first: str = "paper.md", quick: bool = False
) -> str:
    """Write the second page.

    Parameters
    ----------
    chapters : mapping from str to Chapter
        By the name of the experiment.
    first : str, default="paper.md"
        Where the first page is.
    quick : bool, default=False

    Returns
    -------
    str
        Markdown.
    """
    parts = [
        "# Did it reproduce? Details" + " (quick runs)" * quick,
        f"The verdicts and main results are in [Did it reproduce?]({first}).",
    ]
    for name in DETAILS:
        n_tables, n_figures = SPLIT.get(name, (0, 0))
        figures = [*chapters[name].rendering.figures][n_figures:]
        tables = _list_tables(chapters[name])[n_tables:]
        tables += [
            replace(table, notes=())
            for table in chapters[name].rendering.tables
            if name in BEYOND and table.title.startswith(BEYOND[name])
        ]
        leading = name not in SPLIT
        parts += _write_chapter(chapters[name], tables, figures, leading)
    parts += ["## What the verdicts count", list_checks()]
    return _join([*parts, "## What was run", *tell_runs(chapters)])


def _join(parts: list[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _list_tables(chapter: Chapter) -> list[Table]:
    """Give the tables of a chapter that are shown, each note at its first place."""
    told: set[str] = set()
    found = []
    shown = [table for table in chapter.rendering.tables if not table.detail]
    for table in shown:
        new = tuple(note for note in table.notes if note not in told)
        told |= set(new)
        title = table.title if len(shown) > 1 else ""  # the heading says it
        found.append(replace(table, title=title, notes=new))
    return found


def _write_chapter(
    chapter: Chapter, tables: list[Table], figures: list[str], leading: bool = True
) -> list[str]:
    name = chapter.experiment.name
    parts = [f"## {chapter.experiment.title} (`{name}`)", _tell_gaps(chapter)]
    if chapter.problem:
        parts.append(f"Cannot be shown from what is there: {chapter.problem}.")
    if leading and name in LEADING and tables and chapter.shown is not None:
        parts.append(_lead(chapter))
    parts += [write_markdown(table) for table in tables]
    for stem in figures:
        picture = f"![{stem}]({(PICTURES / stem).as_posix()}.svg)"
        parts.append(f"{picture}\\\n*{CAPTIONS[stem]}*")
    return parts


def _lead(chapter: Chapter) -> str:
    """Say in words what a section shows, if all of it was run."""
    try:
        return LEADING[chapter.experiment.name](chapter.shown)
    except (LookupError, ValueError):
        return ""


def _tell_gaps(chapter: Chapter) -> str:
    """Say which trials are not done, and which failed."""
    if chapter.results is None or not chapter.has_trials:
        return ""
    if not len(chapter.results):
        return "Not run."
    told = []
    if chapter.left:
        told.append(
            f"Not run: {len(chapter.left):,} of {chapter.n_planned:,} trials, of "
            f"{_name_trials(chapter.left)}. Numbers that need them are not shown."
        )
    failed = list_failures(chapter.results)
    if failed:
        told.append(f"Failed: {len(failed):,} trials; the first: {failed[0]}.")
    return "\n\n".join(told)


def _name_trials(trials: list[Trial]) -> str:
    """Name methods with their tables, those with the same tables together."""
    tables: dict[str, dict[str, None]] = {}
    for trial in trials:
        who = " ".join(filter(None, (trial.protocol, trial.method)))
        tables.setdefault(who, {})[trial.dataset] = None
    groups: dict[tuple[str, ...], list[str]] = {}
    for who, where in tables.items():
        groups.setdefault(tuple(where), []).append(who)
    told = [f"{', '.join(who)} on {', '.join(on)}" for on, who in groups.items()]
    more = f"; and {len(told) - NAMED} more" if len(told) > NAMED else ""
    return "; ".join(told[:NAMED]) + more
