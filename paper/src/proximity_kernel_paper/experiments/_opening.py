"""The first screen of the page, and the account of what was run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from . import classification, encoding, nmi
from ._claims import VERDICTS, judge_claims, tell_fidelity
from ._rendering import Table, write_markdown
from .nmi import OURS, PAPER

if TYPE_CHECKING:
    from .page import Chapter

Chapters = Mapping[str, "Chapter"]
ABOUT = (
    "The experiments of arXiv 2510.13352, run again. Two methods have its name here "
    f"and are kept apart: **{PAPER}** is the paper's (percentile bins, gaps estimated "
    f"by its cascade of matching rows), **{OURS}** is this library's default (other "
    "bins, gaps estimated from counts of pairs of cells, some gaps a bin of their "
    "own). Written by `proximity-kernel-paper page` from the files in `results`; no "
    "figure is typed by hand."
)
RULE = (
    "A claim is reproduced if all that it counts is so here, partly if at least half "
    "is; without labels means that no label was used before the result was judged."
)
SEEN = ("kidney", "credit")  # the tables that decided the constants
CONSTANTS = (
    f"**Chosen with these labels in view**, in {OURS}: the number and the weight of "
    "the coarse bins (`docs/decisions/0007-bins-without-tuning.md`), and the margin "
    "above which gaps are taken for events, set after kidney had been seen "
    "(`docs/decisions/0008-informative-gaps.md`). Nearly all that they gain is on two "
    "tables."
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
    counts = Counter(claim.verdict for claim in claims)
    verdict = ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
    rows = [[claim.text, claim.verdict, claim.here, claim.better] for claim in claims]
    names = ["the paper's claim", "verdict", "the paper's method here", "this library"]
    frame = pd.DataFrame(rows, columns=names, dtype=object)
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
    return (
        f"Mean NMI is {codes[plain]:.3f} for gaps filled with the {plain} as integer "
        f"codes and {four[plain]:.3f} for the same fills in the paper's bins; in these "
        f"bins its cascade has {four['cascade']:.3f}, the column's bin frequencies "
        f"{four[encoding.PRIOR]:.3f}. So the encoding makes "
        f"{four[plain] - codes[plain]:+.3f}, the cascade in place of the plain fill "
        f"{four['cascade'] - four[plain]:+.3f}."
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
        f"Balanced accuracy by the {classification.NEAREST}: {tell(near)}; by a "
        f"support vector machine: {tell(machine)}; logistic regression {linear:.3f}."
    )


def tell_constants(results: pd.DataFrame) -> str:
    """Say which constants knew the labels, and what is left without their tables."""
    wide = nmi.pivot(nmi.summarise(results, "clean"))
    rest = wide.drop(index=[name for name in SEEN if name in wide.index]).mean()
    names = (OURS, PAPER, "HI-PMK", "HI-PMK bin0")
    means = ", ".join(f"{name} {rest[name]:.3f}" for name in names)
    without = " and ".join(SEEN)
    return f"{CONSTANTS} Without {without}, mean NMI without labels: {means}."


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
                "cut by a cap": f"{int((results['note'] != '').sum()):,}",
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
