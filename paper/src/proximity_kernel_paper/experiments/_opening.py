"""The first screen of the page, and the account of what was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from . import classification, encoding, nmi
from ._claims import VERDICTS, judge_claims, tell_fidelity
from ._rendering import Table, write_markdown
from .nmi import BIN0, OURS, PAPER

if TYPE_CHECKING:
    from .page import Chapter

Chapters = Mapping[str, "Chapter"]
ABOUT = (
    f"The experiments of arXiv 2510.13352, run again, with two kernels. **{PAPER}** "
    "is the paper's: percentile bins; a missing cell is estimated by the rows that "
    "share all known cells of its row (intersection), else any of them (union), "
    f"else by the whole column (prior). **{OURS}** is this library's default: other "
    "bins; a missing cell is estimated from counts of pairs of cells, and in some "
    "columns a gap counts as a value. HI-PMK bin0 is HI-PMK as its published code "
    "computes it, with gaps in the first bin. NMI (normalized mutual information) "
    "compares clusters with classes: 0 is chance, 1 is equal. Written by "
    "`proximity-kernel-paper page` from the files in `results`; no figure is typed by "
    "hand."
)
RULE = (
    "Reproduced: all that the claim counts is so here. Partly: at least half of it. In "
    "the paper's protocol, `paper`, labels choose the parameters of every method; "
    "without labels, `clean`, every method has one default, and labels only judge."
)
CONSTANTS = (
    f"**Chosen with these labels in view**, in {OURS}: the number and the weight of "
    "the coarse bins (`docs/decisions/0007-bins-without-tuning.md`), and the threshold "
    "above which a gap counts as a value, set after kidney had been seen "
    "(`docs/decisions/0008-informative-gaps.md`)."
)


def open_page(chapters: Chapters) -> list[str]:
    """Write what a reader should know after one screen.

    Parameters
    ----------
    chapters : mapping from str to Chapter

    Returns
    -------
    list of str
        Paragraphs: the two names, the verdicts, what is better here, the constants.
    """
    claims = judge_claims(chapters)
    counts = Counter(verdict for _, verdict, *_ in claims)
    verdict = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
    names = ["the paper's claim", "verdict", "the paper's method here", "this library"]
    frame = pd.DataFrame(claims, columns=names, dtype=object)
    frame["verdict"] = [f"**{text}**" for text in frame["verdict"]]
    verdicts = Table("", frame.set_index(names[0]))
    told = [
        _tell(chapters, "encoding", tell_encoding),
        _tell(chapters, "fidelity", tell_fidelity),
        _tell(chapters, "classification", tell_classes),
    ]
    better = "\n".join(f"- {line}" for line in told if line)
    return [
        ABOUT,
        f"Of {len(claims)} claims: **{verdict}**. {RULE}",
        write_markdown(verdicts),
        better,
        _tell(chapters, "nmi", tell_constants),
    ]


def _tell(chapters: Chapters, name: str, tell: Callable[[pd.DataFrame], str]) -> str:
    shown = chapters[name].shown
    if shown is None or not len(shown):
        return ""
    try:
        return tell(shown)
    except (LookupError, ValueError):
        return ""


def tell_encoding(results: pd.DataFrame) -> str:
    """Say how much of the gain is the encoding's."""
    means = encoding.summarise(results)
    codes, four = means[encoding.CODES], means[encoding.FOUR]
    plain = next(iter(encoding.IMPUTED))
    gains = four - four[plain]
    return (
        f"Mean NMI is {codes[plain]:.3f} for gaps filled with the {plain} as integer "
        f"codes, {four[plain]:.3f} for the same fills in the paper's bins: the "
        f"encoding gives {four[plain] - codes[plain]:+.3f}. In these bins, against "
        f"the same fills: its cascade {gains['cascade']:+.3f}, the frequencies of "
        f"the column {gains[encoding.PRIOR]:+.3f}, our counts of pairs "
        f"{gains['pairwise']:+.3f}, these with some gaps as values "
        f"{gains[encoding.INFORMATIVE]:+.3f}."
    )


def tell_classes(results: pd.DataFrame) -> str:
    """Say how well unseen rows are classified."""
    means = classification.summarise(results)["mean"]
    near = means.xs(classification.NEAREST, level=1)
    machine = means.xs(classification.MACHINE, level=1)
    linear = means[(classification.LOGISTIC, classification.LINEAR)]

    def tell(scores: pd.Series) -> str:
        best = scores.sort_values(ascending=False)
        return ", ".join(f"{name} {score:.3f}" for name, score in best.items())

    return (
        f"Balanced accuracy by logistic regression {linear:.3f}; by a support vector "
        f"machine: {tell(machine)}; by the {classification.NEAREST}: {tell(near)}."
    )


def tell_constants(results: pd.DataFrame) -> str:
    """Say which constants knew the labels, and what two tables make of the gain."""
    wide = nmi.pivot(nmi.summarise(results, "clean"))
    most = (wide[OURS] - wide[PAPER]).nlargest(2).index
    rest = wide.drop(index=most).mean()
    names = (OURS, PAPER, "HI-PMK", BIN0)
    means = ", ".join(f"{name} {rest[name]:.3f}" for name in names)
    return (
        f"{CONSTANTS} Without {' and '.join(most)}, the two tables on which {OURS} "
        f"gains most over {PAPER}, mean NMI without labels: {means}."
    )


def tell_runs(chapters: Chapters) -> list[str]:
    """Say what was run, where and with what.

    Parameters
    ----------
    chapters : mapping from str to Chapter

    Returns
    -------
    list of str
        A table, and the versions.
    """
    rows = {}
    versions: dict[str, None] = {}
    for name, chapter in chapters.items():
        if chapter.has_trials and chapter.results is not None:
            results = chapter.results
            versions |= dict.fromkeys(results["versions"])
            commits = results["commit"].value_counts()
            rows[name] = {
                "trials": f"{len(results):,} of {chapter.n_planned:,}",
                "failed": f"{int((results['error'] != '').sum()):,}",
                "with a note": f"{int((results['note'] != '').sum()):,}",
                "hours": f"{results['seconds'].sum() / 3600:.2f}",
                "rows by commit": ", ".join(f"`{c}` {n:,}" for c, n in commits.items()),
                "machines": "; ".join(dict.fromkeys(results["machine"])),
            }
    frame = pd.DataFrame.from_dict(rows, orient="index", dtype=object)
    frame.index.name = "experiment"
    with_what = "; ".join(line for line in versions if line)
    notes = [f"With {with_what}.", "Hours: of all trials, one after the other."]
    if any("+" in row["rows by commit"] for row in rows.values()):
        notes.append("A plus sign after a commit: the sources differed from it.")
    return [write_markdown(Table("", frame, notes=tuple(notes)))]
