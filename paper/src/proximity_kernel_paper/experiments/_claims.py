"""The claims of the paper, each with a verdict that the results give.

A verdict follows from numbers by a fixed rule: "reproduced" where all that a claim
counts is so here, "partly" where at least half of it is, "not" where less is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from . import bins, fidelity, levels, missing_rate, nmi, ranks, runtime
from ._published import read_published
from ._ranking import mean_ranks
from .missing_rate import CHANCE
from .nmi import BASELINES, BEST_BINS, BIN0, OURS, PAIRWISE, PAPER

if TYPE_CHECKING:
    from .page import Chapter

Chapters = Mapping[str, "Chapter"]
YES, PARTLY, NO, UNKNOWN = "reproduced", "partly", "not reproduced", "not measured"
VERDICTS = (YES, PARTLY, NO, UNKNOWN)
LINEAR = 1.1  # the largest slope that is called linear
RANGES = {"mammo": (0.30, 0.33), "heart": (0.18, 0.20), "hepatitis": (0.17, 0.21)}
ZERO = 1e-6  # an eigenvalue of a matrix of 32 bits, as a share of the largest


# The verdict, the evidence, and what this library does about it.
Judged: TypeAlias = tuple[str, str, str]


def grade(share: float) -> str:
    """Give the verdict on a claim of which a share holds.

    Examples
    --------
    >>> grade(1.0), grade(0.5), grade(0.1)
    ('reproduced', 'partly', 'not reproduced')
    """
    return YES if share >= 1 else PARTLY if share >= 0.5 else NO


def judge_claims(chapters: Chapters) -> list[tuple[str, str, str, str]]:
    """Judge all claims.

    Parameters
    ----------
    chapters : mapping from str to Chapter

    Returns
    -------
    list of tuple of str
        The claim in our words, and what the judge found.
    """
    judges: tuple[tuple[str, str, Callable[[pd.DataFrame], Judged]], ...] = (
        ("nmi", "best or second on 10 of 12 tables", judge_top_two),
        ("nmi", "highest mean NMI", judge_mean),
        ("nmi", "significantly better than all but HI-PMK, alpha 0.1", judge_tests),
        ("missing-rate", "best and stable on 3L at 10 to 40 % missing", judge_3l),
        ("missing-rate", "best on Messidor at all rates", judge_messidor),
        ("bins", "NMI hardly depends on the bins (2 to 10)", judge_bins),
        ("levels", "the intersection answers for most rows", judge_levels),
        ("runtime", "time linear in the rows", judge_slope),
        ("runtime", "faster than HI-PMK and MIWAE", judge_speed),
        ("levels", "positive semi-definite", judge_eigenvalues),
    )
    claims = []
    for name, text, judge in judges:
        shown = chapters[name].shown
        try:
            if shown is None or not len(shown):
                raise LookupError
            found = judge(shown)
        except (LookupError, ValueError):
            found = UNKNOWN, "", ""
        claims.append((text, *found))
    return claims


def count_top_two(wide: pd.DataFrame, label: str) -> int:
    """Count the tables on which a method is best or second beside the baselines.

    Examples
    --------
    >>> count_top_two(read_published().drop(index="mean"), "PK (paper)")
    10
    """
    places = wide[[*BASELINES, label]].rank(axis=1, ascending=False, method="min")
    return int((places[label] <= 2).sum())


def _wide(results: pd.DataFrame, protocol: str) -> pd.DataFrame:
    wide = nmi.pivot(nmi.summarise(results, protocol))
    if wide.isna().any(axis=None):
        raise ValueError("a number is missing.")
    return wide


def judge_top_two(results: pd.DataFrame) -> Judged:
    """Count the tables on which the paper's method is best or second."""
    paper, clean = _wide(results, "paper"), _wide(results, "clean")
    n = count_top_two(paper, PAPER)
    wanted = count_top_two(read_published().drop(index="mean"), PAPER)
    here = (
        f"{n} of {len(paper)} tables in the paper's protocol, "
        f"{count_top_two(clean, PAPER)} without labels, among the paper's "
        f"{len(BASELINES) + 1} methods"
    )
    better = f"{OURS}: {count_top_two(clean, OURS)} without labels"
    return grade(n / wanted), here, better


def judge_mean(results: pd.DataFrame) -> Judged:
    """Compare the mean NMI in both protocols."""
    told, ours, best = [], [], 0
    for protocol, name in (("paper", "paper's protocol"), ("clean", "without labels")):
        means = _wide(results, protocol).mean()
        others = means[list(BASELINES)]
        other = str(others.idxmax())
        place = mean_ranks(ranks.collect(results, protocol).nmi)
        best += int(means[PAPER] > others.max())
        told.append(
            f"{name} {means[PAPER]:.3f} (rank {place[PAPER]:.2f}), {other} "
            f"{means[other]:.3f} ({place[other]:.2f}), HI-PMK bin0 "
            f"{means[BIN0]:.3f}"
        )
        place = mean_ranks(ranks.collect(results, protocol, OURS).nmi)
        ours.append(f"{name} {means[OURS]:.3f} (rank {place[OURS]:.2f})")
    others = [BIN0 if name == "HI-PMK" else name for name in BASELINES]
    after = mean_ranks(_wide(results, "clean")[[*others, OURS]])
    better = (
        f"{OURS}: {'; '.join(ours)}; best rank there {place.idxmin()} "
        f"{place.min():.2f}; with {BIN0} in place of HI-PMK {after[OURS]:.2f}, best "
        f"{after.idxmin()} {after.min():.2f}"
    )
    return grade(best / 2), "; ".join(told), better


def judge_tests(results: pd.DataFrame) -> Judged:
    """Count the methods that Nemenyi's test finds worse."""
    _wide(results, "paper")
    worse = ranks.find_worse(ranks.collect(results, "paper"))
    others = [name for name in BASELINES if name != "HI-PMK"]
    printed = ranks.read_printed()
    here = (
        f"Nemenyi's test finds worse: {len(worse)} of {len(others)} "
        f"({', '.join(worse) or 'none'}); from the paper's own numbers "
        f"{len(ranks.find_worse(printed))} at 0.1, "
        f"{len(ranks.find_worse(printed, 0.05))} at 0.05"
    )
    ours = ranks.find_worse(ranks.collect(results, "clean", OURS))
    better = f"{OURS} without labels: {len(ours)} of {len(others)}"
    return grade(len(set(worse) & set(others)) / len(others)), here, better


def _judge_rates(results: pd.DataFrame, table: str, rates: tuple[float, ...]) -> Judged:
    """Count the rates at which the paper's method is best, with and without tuning."""
    summary = missing_rate.summarise(results)
    wide = missing_rate.pivot(summary, table).loc[list(rates)]
    others = wide[list(BASELINES)]
    labels = (BEST_BINS, PAPER, OURS)
    wins = {name: int((wide[name] > others.max(axis=1)).sum()) for name in labels}
    n, first, last = len(rates), rates[0], rates[-1]

    def tell(scores: pd.Series) -> str:
        return f"{scores[first]:.3f} and {scores[last]:.3f}"

    chance = summary[(summary["dataset"] == table) & (summary["label"] == CHANCE)]
    rivals = " and ".join(dict.fromkeys(others.loc[[first, last]].idxmax(axis=1)))
    here = (
        f"best at {wins[BEST_BINS]} of {n} rates if its bins are chosen by the "
        f"labels ({tell(wide[BEST_BINS])} at {first:.0%} and {last:.0%}), at "
        f"{wins[PAPER]} with 4 bins ({tell(wide[PAPER])}); best other "
        f"{rivals} {tell(others.max(axis=1))}; chance {chance['nmi'].mean():.3f}"
    )
    better = f"{OURS}: best at {wins[OURS]} of {n}, {tell(wide[OURS])}"
    share = (wins[BEST_BINS] + wins[PAPER]) / (2 * n)
    return grade(share), here, better


def judge_3l(results: pd.DataFrame) -> Judged:
    """Compare the methods on 3L at low and moderate rates."""
    return _judge_rates(results, "three_lines", (0.1, 0.2, 0.3, 0.4))


def judge_messidor(results: pd.DataFrame) -> Judged:
    """Compare the methods on Messidor."""
    return _judge_rates(results, "messidor", (0.1, 0.2, 0.3, 0.4, 0.5))


def judge_bins(results: pd.DataFrame) -> Judged:
    """Count the numbers of bins whose NMI lies in the range that the paper names."""
    wide = bins.pivot(bins.summarise(results))
    told, shares = [], []
    for table, (low, high) in RANGES.items():
        found = wide.loc[(table, PAPER)]
        shares.append(((found.round(2) >= low) & (found.round(2) <= high)).mean())
        said = f"(said {low:.2f} to {high:.2f})"
        told.append(f"{table} {found.min():.2f} to {found.max():.2f} {said}")
    better = f"{OURS}: no number of bins to choose"
    return grade(sum(shares) / len(shares)), "; ".join(told), better


def judge_levels(results: pd.DataFrame) -> Judged:
    """Count the tables where the intersection answers for most incomplete rows."""
    rows = levels.pivot(results)
    most = int((rows["rows"] > 0.5).sum())
    here = (
        f"so on {most} of {len(rows)} tables (4 bins); mean over tables: for "
        f"{rows['rows'].mean():.0%} of the incomplete rows, "
        f"{rows['intersection'].mean():.0%} of the missing cells"
    )
    better = "pairwise counts need no row that matches: see the kernel error below"
    return grade(most / len(rows)), here, better


def judge_slope(results: pd.DataFrame) -> Judged:
    """Fit the exponent of the time."""
    seconds = runtime.summarise(results)
    slope = runtime.fit_slope(seconds.index, seconds[PAPER])
    here = f"exponent {slope:.2f} up to {seconds.index[-1]:,} rows, with our code"
    verdict = YES if slope <= LINEAR else PARTLY if slope < 1.5 else NO
    if OURS not in seconds:
        return verdict, here, ""
    ours = runtime.fit_slope(seconds.index, seconds[OURS])
    (before, half), (rows, whole) = seconds[OURS].iloc[-2:].items()
    last = np.log(whole / half) / np.log(rows / before)
    better = f"{OURS}: {ours:.2f}; {last:.2f} over the last doubling"
    return verdict, here, better


def judge_speed(results: pd.DataFrame) -> Judged:
    """Compare the seconds at the largest size that all were run at."""
    seconds = runtime.summarise(results).dropna()
    rows, last = seconds.index[-1], seconds.iloc[-1]
    faster = int(last[PAPER] < last["HI-PMK"]) + int(last[PAPER] < last["MIWAE"])
    here = (
        f"{rows:,} rows: {last[PAPER]:.2g} s, HI-PMK {last['HI-PMK']:.2g} s, "
        f"MIWAE {last['MIWAE']:.2g} s with {runtime.EPOCHS} epochs"
    )
    better = f"{OURS}: {last[OURS]:.2g} s" if OURS in last else ""
    return grade(faster / 2), here, better


def judge_eigenvalues(results: pd.DataFrame) -> Judged:
    """Look for an eigenvalue below zero by more than rounding."""
    least = (results["smallest"] / results["largest"]).min()
    n = results["dataset"].nunique()
    here = (
        f"smallest eigenvalue {least:.0e} of the largest (rounding of 32 bits), {n} "
        "tables, 2 to 8 bins"
    )
    return YES if least > -ZERO else NO, here, "the same by construction"


def tell_fidelity(results: pd.DataFrame) -> str:
    """Say how far similarities with holes are from complete ones."""
    found = fidelity.arrange(fidelity.summarise(results))
    means, seconds = found["kernel_error"], found["fit_seconds"]
    hard, soft = means[list(fidelity.HARD)], means[list(fidelity.DISTRIBUTIONS)]
    return (
        "Cells hidden, the same bins for all: similarities deviate from those of the "
        f"complete table by {means[PAPER]:.4f} RMS with the paper's rule, by "
        f"{means[PAIRWISE]:.4f} with ours in its bins ({seconds[PAIRWISE]:.2g} s), by "
        f"{hard.min():.4f} with the best single fill ({hard.idxmin()}, "
        f"{seconds[hard.idxmin()]:.2g} s), by {soft.min():.4f} with the best other "
        f"distribution ({soft.idxmin()}, {seconds[soft.idxmin()]:.2g} s)."
    )
