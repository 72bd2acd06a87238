"""The sentences of the page, each computed from the results, none without them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from . import differences, fidelity, nmi, ranks, runtime
from ._published import CLOSE, list_known, read_published, read_reasons
from ._ranking import mean_ranks
from ._rendering import Table, write_markdown

if TYPE_CHECKING:
    from .page import Chapter

Chapters = Mapping[str, "Chapter"]


def sum_up(chapters: Chapters) -> list[str]:
    """Say in short what came out.

    Parameters
    ----------
    chapters : mapping from str to Chapter

    Returns
    -------
    list of str
        A sentence or two each.
    """
    told = [
        *(_tell_protocol(chapters["nmi"], protocol) for protocol in nmi.PROTOCOLS),
        _tell_paper(chapters["nmi"]),
        _tell_differences(chapters["differences"]),
        _tell_fidelity(chapters["fidelity"]),
        _tell_runtime(chapters["runtime"]),
        _tell_left(chapters),
    ]
    return [line for line in told if line]


def _shown(chapter: Chapter) -> pd.DataFrame | None:
    """Give the results that make complete numbers, or None if there are none."""
    return chapter.shown if chapter.shown is not None and len(chapter.shown) else None


def _tell_protocol(chapter: Chapter, protocol: str) -> str:
    results = _shown(chapter)
    none = f'Protocol "{protocol}": no complete comparison yet.'
    if results is None or not (results["protocol"] == protocol).any():
        return none
    scores = ranks.collect(results, protocol)
    if not scores.enough:
        return none
    n_tables, n_methods = scores.nmi.shape
    means = scores.nmi.mean().sort_values(ascending=False)
    place = mean_ranks(scores.nmi)
    other = means.drop(nmi.PAPER).index[0]
    whole = "" if n_tables == len(nmi.TABLES) else ", those where all have a number"
    few = "" if n_methods == len(ranks.METHODS) else f" (of {len(ranks.METHODS)})"
    return (
        f'Protocol "{protocol}", {n_methods} methods{few} on {n_tables} tables{whole}: '
        f"{nmi.PAPER} has a mean NMI of {means[nmi.PAPER]:.3f} and a mean rank of "
        f"{place[nmi.PAPER]:.2f}. "
        f"The best other is {other} with {means[other]:.3f} and "
        f"{place[other]:.2f}; the best mean rank is that of {place.idxmin()}."
    )


def _ours(chapter: Chapter) -> pd.DataFrame | None:
    """NMI in the protocol of the paper, tables by methods."""
    results = _shown(chapter)
    if results is None or not (results["protocol"] == "paper").any():
        return None
    return nmi.pivot(nmi.summarise(results, "paper"))


def _tell_paper(chapter: Chapter) -> str:
    n_known = sum(len(values) for values in read_published()["nmi"].values())
    head = (
        f"Of the paper's main table, {n_known} values are known here and the others "
        "are not; none is guessed."
    )
    ours = _ours(chapter)
    if ours is None:
        return f"{head} None of the {n_known} has a number of ours beside it yet."
    known = list_known(ours).dropna(subset="ours")
    close = int((known["difference"].abs() <= CLOSE).sum())
    lacking = n_known - len(known)
    tail = f"; {lacking} have no number of ours yet" if lacking else ""
    return f"{head} {close} of {len(known)} are within {CLOSE} of ours{tail}."


def _tell_differences(chapter: Chapter) -> str:
    results = _shown(chapter)
    if results is None:
        return ""
    wide = differences.pivot(differences.summarise(results), "nmi")
    effects = (wide - wide.loc[differences.OURS]).drop(index=differences.OURS)
    means = effects.mean(axis=1, skipna=False).dropna()
    if means.empty:
        return ""
    largest = means.abs().idxmax()
    small = int((means.abs() <= CLOSE).sum())
    return (
        f"Of {len(means)} departures from the paper's text, numbers or code, {small} "
        f"change the mean NMI by {CLOSE} or less; the one that changes it most is "
        f'"{largest}", by {means[largest]:+.3f}.'
    )


def _tell_fidelity(chapter: Chapter) -> str:
    results = _shown(chapter)
    if results is None:
        return ""
    summary = fidelity.summarise(results)
    errors = summary.groupby("label")["kernel_error"].mean()
    fills = errors.reindex(list(fidelity.HARD)).dropna()
    if fidelity.PAIRWISE not in errors or fills.empty:
        return ""
    cascade = errors.get(nmi.PAPER)
    by_rule = "" if cascade is None else f", by {cascade:.4f} with the paper's rule"
    return (
        "Cells hidden, four bins for all: Our similarities (0 to 1) deviate by "
        f"{errors[fidelity.PAIRWISE]:.4f} RMS from those of the complete table"
        f"{by_rule}, and by {fills.min():.4f} after the best of {len(fills)} "
        f"imputations ({fills.idxmin()})."
    )


def _tell_runtime(chapter: Chapter) -> str:
    results = _shown(chapter)
    if results is None:
        return ""
    seconds = runtime.summarise(results)
    told = []
    for label in seconds:
        known = seconds[label].dropna()
        slope = runtime.fit_slope(seconds.index, seconds[label])
        if len(known):
            told.append(
                f"{label} takes {known.iloc[-1]:.3g} s for {known.index[-1]:,} rows "
                f"(slope {slope:.2f})"
            )
    return "; ".join(told) + "." if told else ""


def _tell_left(chapters: Chapters) -> str:
    own = [chapter for chapter in chapters.values() if chapter.has_trials]
    planned = sum(chapter.n_planned for chapter in own)
    left = sum(len(chapter.left) for chapter in own)
    if not left:
        return f"All {planned:,} planned trials are done."
    return (
        f"{planned - left:,} of {planned:,} planned trials are done; what is not is "
        "named in its section."
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
            rows[name] = {
                "trials": f"{len(results):,}",
                "planned": f"{chapter.n_planned:,}",
                "failed": f"{int((results['error'] != '').sum()):,}",
                "cut by a cap": f"{int((results['note'] != '').sum()):,}",
                "hours": f"{results['seconds'].sum() / 3600:.2f}",
                "commits": ", ".join(dict.fromkeys(results["commit"])),
                "machines": "; ".join(dict.fromkeys(results["machine"])),
            }
    frame = pd.DataFrame.from_dict(rows, orient="index", dtype=object)
    frame.index.name = "experiment"
    notes = [f"With {line}." for line in versions if line]
    notes.append(
        "A plus sign after a commit: the sources differed from it. Planned grows where "
        "the second round of a search follows from the first. Hours: of all trials, "
        "one after the other."
    )
    return [write_markdown(Table("Trials", frame, notes=tuple(notes)))]


def tell_reasons(chapters: Chapters) -> list[str]:
    """Say what was measured about the values that differ from the paper's.

    Parameters
    ----------
    chapters : mapping from str to Chapter

    Returns
    -------
    list of str
        A heading and a list, or nothing.
    """
    ours = _ours(chapters["nmi"])
    if ours is None:
        return []
    known = list_known(ours)
    apart = known[known["difference"].abs() > CLOSE]
    lines = [
        f"- {row.method} on {row.table}, {row.difference:+.3f}: "
        + _explain(row.method, row.table, chapters["differences"])
        for row in apart.itertuples()
    ]
    if not lines:
        return []
    return [f"**Values that differ by more than {CLOSE}**", "\n".join(lines)]


def _explain(method: str, table: str, chapter: Chapter) -> str:
    found = read_reasons().get(method, {}).get(table)
    if found is None:
        return "no reason is known."
    return " ".join([found["text"], *_measured(found["variants"], table, chapter)])


def _measured(variants: list[str], table: str, chapter: Chapter) -> list[str]:
    """Say what the variants did on a table, as `differences` measured it."""
    results = _shown(chapter)
    if results is None:
        return ["Not measured yet." for _ in variants[:1]]
    summary = differences.summarise(results)
    wide = differences.pivot(summary, "nmi")
    ranges = differences.pivot(summary, "range")
    if table not in wide:
        return ["Not measured yet." for _ in variants[:1]]
    return [
        f'Measured: "{name}" changes NMI by '
        f"{wide.loc[name, table] - wide.loc[differences.OURS, table]:+.3f}, and two "
        f"seeds differ by up to {ranges.loc[name, table]:.3f}."
        for name in variants
        if name in wide.index
    ]
