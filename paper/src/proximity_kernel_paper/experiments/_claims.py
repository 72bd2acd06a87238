"""The claims of the paper, each with a verdict that the results give.

A verdict follows from numbers by a fixed rule: "reproduced" where all that a claim
counts is so here, "partly" where at least half of it is, "not reproduced" where less
is. A claim about twelve tables is judged when all twelve were run, and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from . import bins, differences, encoding, levels, missing_rate, nmi, ranks, runtime
from ._published import read_published
from .binning import make_sample
from .missing_rate import MODERATE
from .nmi import BASELINES, BEST_BINS, PAPER, TABLES

if TYPE_CHECKING:
    from .page import Chapter

Chapters = Mapping[str, "Chapter"]
YES, PARTLY, NO, UNKNOWN = "reproduced", "partly", "not reproduced", "not measured"
VERDICTS = (YES, PARTLY, NO, UNKNOWN)
LINEAR = 1.1  # the largest slope that is called linear
RANGES = {"mammo": (0.30, 0.33), "heart": (0.18, 0.20), "hepatitis": (0.17, 0.21)}
ZERO = 1e-6  # an eigenvalue of a matrix of 32 bits, as a share of the largest
NEAR_ZERO = 0.05  # an NMI that is called so
WORDS = "no figure"  # a claim in words

# What the paper prints, what was found here, and the verdict.
Judged: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    name : str
        By which the first sentence of the page finds it.
    text : str
        The claim in our words.
    source : str
        The experiment that judges it.
    judge : callable
        The results -> `Judged`.
    """

    name: str
    text: str
    source: str
    judge: Callable[[pd.DataFrame], Judged]


@dataclass(frozen=True)
class Verdict:
    """A claim, and what became of it."""

    claim: Claim
    printed: str
    here: str
    verdict: str


def grade(share: float) -> str:
    """Give the verdict on a claim of which a share holds.

    Examples
    --------
    >>> grade(1.0), grade(0.5), grade(0.1)
    ('reproduced', 'partly', 'not reproduced')
    """
    return YES if share >= 1 else PARTLY if share >= 0.5 else NO


def judge_claims(chapters: Chapters, claims: tuple[Claim, ...]) -> list[Verdict]:
    """Judge claims, those that the results suffice for.

    Parameters
    ----------
    chapters : mapping from str to Chapter
    claims : tuple of Claim

    Returns
    -------
    list of Verdict
    """
    found = []
    for claim in claims:
        shown = chapters[claim.source].shown
        try:
            if shown is None or not len(shown):
                raise LookupError
            judged = claim.judge(shown)
        except (LookupError, ValueError):
            judged = "", "", UNKNOWN
        found.append(Verdict(claim, *judged))
    return found


def require_tables(names: object, tables: tuple[str, ...] = TABLES) -> None:
    """Raise ValueError unless all tables are there, the twelve by default."""
    lacking = set(tables) - set(pd.Index(names))
    if lacking:
        raise ValueError(f"tables are missing: {', '.join(sorted(lacking))}.")


def _wide(results: pd.DataFrame, protocol: str) -> pd.DataFrame:
    wide = nmi.pivot(nmi.summarise(results, protocol))
    require_tables(wide.index)
    if wide.isna().any(axis=None):
        raise ValueError("a number is missing.")
    return wide


# ---------------------------------------------------------------- the main table


def count_top_two(wide: pd.DataFrame, label: str) -> int:
    """Count the tables on which a method is best or second beside the baselines.

    Examples
    --------
    >>> count_top_two(read_published().drop(index="mean"), "PK (paper)")
    10
    """
    places = wide[[*BASELINES, label]].rank(axis=1, ascending=False, method="min")
    return int((places[label] <= 2).sum())


def judge_top_two(results: pd.DataFrame) -> Judged:
    """Count the tables on which the paper's method is best or second."""
    paper = _wide(results, "paper").round(3)
    n = count_top_two(paper, PAPER)
    wanted = count_top_two(read_published().drop(index="mean"), PAPER)
    total = len(paper)
    return f"{wanted} of {total}", f"{n} of {total}", grade(n / wanted)


def judge_mean(results: pd.DataFrame) -> Judged:
    """Compare the mean NMI in both protocols."""
    first = 0
    for protocol in nmi.PROTOCOLS:
        means = _wide(results, protocol).mean()
        first += int(means[PAPER] > means[list(BASELINES)].max())
    means = _wide(results, "paper").mean()
    other = str(means[list(BASELINES)].idxmax())
    printed = read_published().loc["mean"]
    return (
        f"{printed[PAPER]:.4f}; {other} {printed[other]:.4f}",
        f"{means[PAPER]:.3f}; {other} {means[other]:.3f}",
        grade(first / len(nmi.PROTOCOLS)),
    )


def judge_lead(results: pd.DataFrame) -> Judged:
    """Compare the lead over HI-PMK with the printed one."""
    printed = read_published().loc["mean"]
    wanted = printed[PAPER] - printed["HI-PMK"]
    leads = [
        means[PAPER] - means["HI-PMK"]
        for means in (
            _wide(results, protocol).mean().round(3) for protocol in nmi.PROTOCOLS
        )
    ]
    here = f"{leads[0]:+.3f}; without labels {leads[1]:+.3f}"
    return f"{wanted:+.3f}", here, grade(leads[0] / wanted)


def judge_tests(results: pd.DataFrame) -> Judged:
    """Count the methods that Nemenyi's test finds worse."""
    _wide(results, "paper")
    worse = ranks.find_worse(ranks.collect(results, "paper"))
    others = [name for name in BASELINES if name != "HI-PMK"]
    n = len(set(worse) & set(others))
    printed = len(ranks.find_worse(ranks.read_printed()))
    total = len(others)
    return f"{printed} of {total}", f"{n} of {total}", grade(n / total)


def judge_median(results: pd.DataFrame) -> Judged:
    """Compare the median NMI over the tables."""
    here = _wide(results, "paper").median()[[*BASELINES, PAPER]]
    printed = read_published().drop(index="mean").median()
    others = here.drop(PAPER)
    return (
        f"{printed[PAPER]:.3f}; next {printed.drop(PAPER).max():.3f}",
        f"{here[PAPER]:.3f}; {others.idxmax()} {others.max():.3f}",
        YES if here[PAPER] > others.max() else NO,
    )


# ---------------------------------------------------------- bins and missing cells


def judge_encoding(results: pd.DataFrame) -> Judged:
    """Look for a gain of the bins over codes, with the same fills in both."""
    require_tables(results["dataset"])
    means = encoding.summarise(results).loc[next(iter(encoding.IMPUTED))]
    gain = means[encoding.FOUR] - means[encoding.CODES]
    return WORDS, f"{gain:+.3f}, same fills", YES if gain > 0 else NO


def judge_matching(results: pd.DataFrame) -> Judged:
    """Look for a gain of matching rows over single fills, in the same bins."""
    require_tables(results["dataset"])
    means = encoding.summarise(results)[encoding.FOUR]
    gain = means["cascade"] - means[next(iter(encoding.IMPUTED))]
    return WORDS, f"{gain:+.3f}, same bins", YES if gain > 0 else NO


def judge_levels(results: pd.DataFrame) -> Judged:
    """Count the tables where the intersection answers for most incomplete rows."""
    rows = levels.pivot(results)
    require_tables(rows.index)
    most = int((rows["rows"] > 0.5).sum())
    here = f"{rows['rows'].mean():.0%} of them; most on {most} tables"
    return "most", here, grade(most / len(rows))


def judge_bins(results: pd.DataFrame) -> Judged:
    """Count the numbers of bins whose NMI lies in the range that the paper names."""
    wide = bins.pivot(bins.summarise(results))
    shares = []
    for table, (low, high) in RANGES.items():
        found = wide.loc[(table, PAPER)].round(2)
        shares.append(((found >= low) & (found <= high)).mean())
    table, (low, high) = next(iter(RANGES.items()))
    found = wide.loc[(table, PAPER)]
    return (
        f"{table} {low:.2f} to {high:.2f}",
        f"{table} {found.min():.2f} to {found.max():.2f}",
        grade(sum(shares) / len(shares)),
    )


def judge_choice_of_bins(results: pd.DataFrame) -> Judged:
    """Compare the best of 3 to 6 bins with fewer and with more, over all tables."""
    summary = differences.summarise(results)
    summary = summary[summary["method"] == PAPER]
    require_tables(summary["dataset"])
    means = summary.groupby("n_bins")["nmi"].mean()
    inside = means.loc[3:6]
    coarse, fine = means[2] - inside.max(), means.loc[7:].max() - inside.max()
    here = f"two bins {coarse:+.3f}, more than six {fine:+.3f}"
    good = [means[2] < inside.min(), fine < differences.LARGE]
    return WORDS, here, grade(sum(good) / len(good))


# ----------------------------------------------------------------- hidden cells


def _judge_rates(results: pd.DataFrame, table: str, rates: tuple[float, ...]) -> Judged:
    """Count the wins with bins chosen by the labels, and with four bins."""
    wide = missing_rate.arrange(results, table).loc[list(rates)]
    best = wide[list(BASELINES)].max(axis=1)
    tuned = int((wide[BEST_BINS] > best).sum())
    four = int((wide[PAPER] > best).sum())
    here = f"{tuned} with bins chosen by labels; {four} with four bins"
    return f"all {len(rates)} rates", here, grade((tuned + four) / (2 * len(rates)))


def judge_3l(results: pd.DataFrame) -> Judged:
    """Compare the methods on 3L at low and moderate rates."""
    return _judge_rates(results, "three_lines", MODERATE)


def judge_messidor(results: pd.DataFrame) -> Judged:
    """Compare the methods on Messidor."""
    return _judge_rates(results, "messidor", (*MODERATE, 0.5))


def judge_stable(results: pd.DataFrame) -> Judged:
    """Compare what is left of the NMI on 3L from the lowest to the highest rate."""
    wide = missing_rate.arrange(results, "three_lines")
    kept = wide.loc[MODERATE[-1]] / wide.loc[MODERATE[0]]
    others = kept[list(BASELINES)]
    here = f"{kept[BEST_BINS]:.0%} left; {others.idxmax()} {others.max():.0%}"
    return "relatively stable", here, grade(float((others < kept[BEST_BINS]).mean()))


def judge_collapse(results: pd.DataFrame) -> Judged:
    """See whether two imputations have lost the clusters of 3L at 30 %."""
    found = missing_rate.arrange(results, "three_lines").loc[0.3, ["KNN", "MissForest"]]
    here = f"{found.iloc[0]:.3f} and {found.iloc[1]:.3f}"
    return "near zero", here, grade(float((found < NEAR_ZERO).mean()))


def judge_miwae(results: pd.DataFrame) -> Judged:
    """Compare MIWAE with the paper's method on 3L at 50 %."""
    found = missing_rate.arrange(results, "three_lines").loc[0.5]
    here = f"MIWAE {found['MIWAE']:.3f}, PK with best bins {found[BEST_BINS]:.3f}"
    return "slightly ahead", here, YES if found["MIWAE"] > found[BEST_BINS] else NO


# --------------------------------------------------------------- cost and validity


def judge_slope(results: pd.DataFrame) -> Judged:
    """Fit the exponent of the time on both tables."""
    slopes = runtime.list_slopes(results).loc[[runtime.TABLE, runtime.UNIFORM], PAPER]
    if slopes.isna().any():
        raise ValueError("too few sizes.")
    here = f"slope {slopes.iloc[0]:.2f}; {slopes.iloc[1]:.2f} if rows of bins differ"
    return "linear", here, YES if slopes.max() <= LINEAR else NO


def judge_speed(results: pd.DataFrame) -> Judged:
    """Compare the seconds at the largest size that all were run at."""
    seconds = runtime.summarise(results).dropna()
    last = seconds.iloc[-1]
    others = last[["HI-PMK", "MIWAE"]]
    here = f"{last[PAPER]:.2g} s; the next {others.min():.2g} s"
    return "faster", here, grade(float((last[PAPER] < others).mean()))


def judge_space(results: pd.DataFrame) -> Judged:
    """Fit the exponent of the memory."""
    memory = runtime.summarise(results, "fit_memory_mb")[PAPER]
    slope = runtime.fit_slope(memory.index, memory, runtime.FEWEST_SIZES)
    if np.isnan(slope):
        raise ValueError("too few sizes.")
    return "linear", f"slope {slope:.2f}", YES if slope <= LINEAR else NO


def judge_eigenvalues(results: pd.DataFrame) -> Judged:
    """Look for an eigenvalue below zero by more than rounding."""
    require_tables(results["dataset"])
    least = (results["smallest"] / results["largest"]).min()
    here = f"smallest eigenvalue {least:.0e} of the largest"
    return "proved", here, YES if least > -ZERO else NO


def judge_density(results: pd.DataFrame) -> Judged:  # noqa: ARG001 (a sample of its own)
    """Compare pairs equally far apart, in the dense and in the sparse part."""
    sample = make_sample()
    median, tail = np.quantile(sample.values, [0.5, 0.9])
    dense, _ = sample.share_alike(-np.inf, median)
    sparse, _ = sample.share_alike(tail, np.inf)
    here = f"in one bin: {sparse:.0%} of sparse pairs, {dense:.0%} of dense"
    return WORDS, here, YES if sparse > dense else NO


MAIN = (
    Claim(
        "bins", "the bins raise mean NMI over integer codes", "encoding", judge_encoding
    ),
    Claim(
        "matching",
        "matching rows (intersection, union) raises it over imputation",
        "encoding",
        judge_matching,
    ),
    Claim("lead", "lead over HI-PMK in mean NMI", "nmi", judge_lead),
    Claim("mean", "highest mean NMI of 10 methods", "nmi", judge_mean),
    Claim("top", "best or second on 10 of 12 tables", "nmi", judge_top_two),
    Claim("tests", "significantly better than all but HI-PMK", "nmi", judge_tests),
    Claim("3L", "best on 3L at 10 to 40 % missing", "missing-rate", judge_3l),
    Claim("messidor", "best on Messidor at all rates", "missing-rate", judge_messidor),
    Claim("stability", "NMI hardly depends on the bins (2 to 10)", "bins", judge_bins),
    Claim("levels", "intersection answers for most rows", "levels", judge_levels),
    Claim("time", "time linear in the rows", "runtime", judge_slope),
    Claim("speed", "faster than HI-PMK and MIWAE", "runtime", judge_speed),
    Claim("valid", "positive semi-definite", "levels", judge_eigenvalues),
)
SMALLER = (
    Claim("median", "highest median NMI", "nmi", judge_median),
    Claim(
        "choice", "3 to 6 bins are a good choice", "differences", judge_choice_of_bins
    ),
    Claim("stable", "stable on 3L from 10 to 40 %", "missing-rate", judge_stable),
    Claim(
        "collapse",
        "KNN and MissForest fail on 3L at 30 %",
        "missing-rate",
        judge_collapse,
    ),
    Claim("miwae", "MIWAE ahead on 3L at 50 %", "missing-rate", judge_miwae),
    Claim(
        "density", "sparse pairs more similar than dense ones", "levels", judge_density
    ),
    Claim("space", "memory linear in the rows", "runtime", judge_space),
)
