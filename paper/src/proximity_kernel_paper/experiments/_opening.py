"""The first screen of the page, and the account of what was run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from . import classification, encoding, fidelity, nmi, peers, ranks, runtime
from ._claims import (
    MAIN,
    NO,
    PARTLY,
    SMALLER,
    UNKNOWN,
    YES,
    Verdict,
    judge_claims,
    require_tables,
)
from ._rendering import Table, write_markdown
from .nmi import BIN0, OURS, PAIRWISE, PAPER

if TYPE_CHECKING:
    from .page import Chapter

Chapters = Mapping[str, "Chapter"]
# What the first sentence is about: the names of claims, in words.
SUBJECTS = {
    "bins": "the encoding",
    "matching": "the rule for missing cells",
    "lead": "the lead over HI-PMK",
}
READING = (
    (
        f"**Two kernels.** {PAPER} is the paper's: percentile bins; a missing cell is "
        "estimated from the rows that share all known cells of its row "
        "(intersection), else any of them (union), else from the whole column "
        f"(prior). {OURS} is this library's default: other bins; a missing cell is "
        "estimated from counts of pairs of cells, and in some columns a missing cell "
        "is a value of its own."
    ),
    (
        f"**Not as in the paper.** {PAPER} gives each category its own bin, by kinds "
        "of columns that were curated here; the paper lists horse and tumor as all "
        "numeric. GAIN, MIRACLE, MIWAE, MissForest and EM are implemented here from "
        "their papers, where the paper took them from hyperimpute; HI-PMK too is "
        "implemented here. HI-PMK bin0 is what its published code computes, with "
        "missing cells in the first bin."
    ),
    (
        "**Two protocols.** `paper`: labels choose the parameters of every method that "
        "has a grid. `clean`: without labels, one default for each method; labels only "
        "judge."
    ),
    (
        "**Verdicts.** Reproduced: all that a claim counts is so here. Partly: at "
        "least half of it. They are computed, as every number here, by "
        "`proximity-kernel-paper page` from the files in `results`."
    ),
)
CONSTANTS = (
    f"**Chosen with these labels in view**, in {OURS}: the number and the weight of "
    "the coarse bins (`docs/decisions/0007-bins-without-tuning.md`), and the threshold "
    "above which a missing cell counts as a value, set after kidney had been seen "
    "(`docs/decisions/0024-overlap-of-missing-cells.md`)."
)
MEANS = (
    "Not a verdict, since the paper does not say it of its own kernel: it recalls "
    "that the mean of a *characteristic* kernel identifies a distribution. The "
    "proximity kernel is not characteristic. It is a sum over columns, so its mean "
    "shows how often each bin of each column occurs and nothing else: an exclusive or "
    "and independent coins have the same mean."
)


def open_page(chapters: Chapters) -> list[str]:
    """Write what a reader should know after one screen.

    Parameters
    ----------
    chapters : mapping from str to Chapter

    Returns
    -------
    list of str
        Paragraphs: the sentence, the verdicts, what this library adds, how to read it.
    """
    verdicts = judge_claims(chapters, MAIN)
    added = [
        _tell(chapters, "fidelity", tell_fidelity),
        _tell(chapters, "nmi", tell_clusters),
        _tell(chapters, "peers", tell_held_out),
        _tell(chapters, "runtime", tell_time),
    ]
    lines = [line for line in added if line]
    reading = [
        *READING,
        _tell(chapters, "peers", tell_chance),
        _tell(chapters, "nmi", tell_constants),
    ]
    return [
        summarise_verdicts(verdicts),
        _tabulate(verdicts),
        "**What this library adds**" if lines else "",
        "\n".join(f"- {line}" for line in lines),
        "## How to read this",
        "\n".join(f"- {line}" for line in reading if line),
        "## Smaller claims",
        _tabulate(judge_claims(chapters, SMALLER)),
        MEANS,
    ]


def summarise_verdicts(verdicts: list[Verdict]) -> str:
    """Say in a sentence what reproduced and what did not.

    Parameters
    ----------
    verdicts : list of Verdict

    Returns
    -------
    str
    """
    found = {verdict.claim.name: verdict.verdict for verdict in verdicts}
    groups: dict[str, list[str]] = {}
    for name, words in SUBJECTS.items():
        groups.setdefault(found[name], []).append(words)
    told: list[str] = []
    for verdict, one, many in (
        (YES, "reproduces", "reproduce"),
        (PARTLY, "reproduces in part", "reproduce in part"),
        (NO, "does not", "do not"),
        (UNKNOWN, "was not measured", "were not measured"),
    ):
        if names := groups.get(verdict):
            verb = one if len(names) == 1 else many
            full = verb if told or verdict != NO else f"{verb} reproduce"
            told.append(f"{' and '.join(names)} {full}")
    sentence = "; ".join(told) or "see the verdicts below"
    told_of = "The experiments of arXiv 2510.13352, run again."
    return f"**{sentence[0].upper()}{sentence[1:]}.** {told_of}"


def _tabulate(verdicts: list[Verdict]) -> str:
    names = ["the paper's claim", "printed", "here", "verdict"]
    rows = [
        (found.claim.text, found.printed, found.here, f"**{found.verdict}**")
        for found in verdicts
    ]
    frame = pd.DataFrame(rows, columns=names, dtype=object)
    return write_markdown(Table("", frame.set_index(names[0])))


def _tell(chapters: Chapters, name: str, tell: Callable[[pd.DataFrame], str]) -> str:
    shown = chapters[name].shown
    if shown is None or not len(shown):
        return ""
    try:
        return tell(shown)
    except (LookupError, ValueError):
        return ""


def tell_fidelity(results: pd.DataFrame) -> str:
    """Say how far similarities with hidden cells are from complete ones."""
    found = fidelity.arrange(fidelity.summarise(results))
    means, seconds = found["kernel_error"], found["fit_seconds"]
    others = means[list(fidelity.DISTRIBUTIONS)]
    best = others.idxmin()
    return (
        "Better estimates of missing cells: with cells hidden, similarities are off by "
        f"{means[PAIRWISE]:.3f} with our counts of pairs, by {means[PAPER]:.3f} with "
        f"the paper's rule in the same bins. The best found ({best}) has "
        f"{others[best]:.3f} and takes {seconds[best]:.0f} s a table."
    )


def tell_clusters(results: pd.DataFrame) -> str:
    """Compare the mean NMI without labels."""
    wide = nmi.pivot(nmi.summarise(results, "clean"))
    require_tables(wide.index)
    means = wide.mean()
    scores = ranks.collect(results, "clean", OURS)
    require_tables(scores.nmi.index)
    tests = ranks.compare(scores)
    return (
        "Clusters without labels or bins to choose: mean NMI of ours "
        f"{means[OURS]:.3f}, {PAPER} {means[PAPER]:.3f}, HI-PMK {means['HI-PMK']:.3f} "
        f"({BIN0} {means[BIN0]:.3f}). Against HI-PMK this is no more than chance (p "
        f"{tests.loc['HI-PMK', 'p_holm']:.2f})."
    )


def tell_held_out(results: pd.DataFrame) -> str:
    """Say where this library stands on tables on which nothing was tuned."""
    held_out = peers.split(results)[1]
    require_tables(held_out["dataset"], peers.HELD_OUT)
    means = peers.tabulate(held_out)["nmi"].drop(peers.CHANCE)
    tests = peers.compare_held_out(held_out)
    rank = int((means > means[OURS]).sum()) + 1
    other = means.drop(OURS).idxmax()
    named = dict.fromkeys([OURS, other, PAPER, "HI-PMK"])
    told = ", ".join(f"{name} {means[name]:.3f}" for name in named)
    return (
        f"On {len(peers.HELD_OUT)} held-out tables, chosen by a rule, on which nothing "
        f"was tuned, ours is number {rank} of {len(means)} by mean NMI: {told}. "
        f"Against {other}, the best of the others, p is "
        f"{tests.loc[other, 'p_holm']:.2f}."
    )


def tell_time(results: pd.DataFrame) -> str:
    """Say how the time grows, and which commit was timed."""
    seconds = runtime.summarise(results)
    slopes = runtime.list_slopes(results)[OURS]
    commits = results.loc[results["dataset"] == runtime.TABLE, "commit"].unique()
    return (
        "Time at most linear in the rows on both made-up tables (slopes "
        f"{slopes.iloc[0]:.2f} and {slopes.iloc[1]:.2f}): {seconds.index[-1]:,} rows "
        f"in {seconds[OURS].iloc[-1]:.1f} s, timed at commit {', '.join(commits)}. The "
        "model keeps counts, no rows."
    )


def tell_chance(results: pd.DataFrame) -> str:
    """Say what NMI is by chance."""
    chance = peers.summarise(peers.split(results)[0]).loc[peers.CHANCE]
    most = chance["nmi"].nlargest(2)
    told = " and ".join(f"{score:.2f} on {name}" for name, score in most.items())
    return (
        "**NMI** (normalized mutual information) compares clusters with classes; 1 is "
        f"equal. Chance is not 0: classes in random order have {told}. AMI, printed "
        f"beside it, is adjusted for that ({chance['ami'].abs().max():.2f} at most)."
    )


def tell_encoding(results: pd.DataFrame) -> str:
    """Say how much of the gain is the encoding's."""
    means = encoding.summarise(results)
    codes, four = means[encoding.CODES], means[encoding.FOUR]
    plain = next(iter(encoding.IMPUTED))
    gains = four - four[plain]
    return (
        f"Mean NMI is {codes[plain]:.3f} for missing cells filled with the {plain} as "
        f"integer codes, {four[plain]:.3f} for the same fills in the paper's bins: the "
        f"encoding gives {four[plain] - codes[plain]:+.3f}. In these bins, against "
        f"the same fills: its cascade {gains['cascade']:+.3f}, the frequencies of "
        f"the column {gains[encoding.PRIOR]:+.3f}, our counts of pairs "
        f"{gains['pairwise']:+.3f}, these with some missing cells as values "
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
    require_tables(wide.index)
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
