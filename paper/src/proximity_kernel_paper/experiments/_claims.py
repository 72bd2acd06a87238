"""The claims of the paper, each with a verdict that the results give.

A verdict follows from numbers by one rule: a claim is split into checks, and it is
"reproduced" where all of them hold, "partly" where at least half of them do, "not
reproduced" where fewer do. A claim about all tables that holds on one and not on
another is "not in general". `Claim.checks` says what they are, and the page of details
shows it. A claim about twelve tables is judged when all twelve were run, not before.

Three settings that the paper leaves open are checks of their own wherever a claim
depends on them: HI-PMK as defined and as its published code computes it, labels or no
labels to choose parameters, and the best number of bins or four.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from proximity_kernel import ProximityKernel
from proximity_kernel.datasets import load_penguins

from ..baselines import registry
from . import bins, differences, encoding, levels, missing_rate, nmi, ranks, runtime
from ._published import read_published
from ._ranking import signed_rank_p
from .binning import make_bell, make_sample
from .missing_rate import MODERATE
from .nmi import BASELINES, BEST_BINS, BIN0, FOUR_BINS, PAPER, TABLES

if TYPE_CHECKING:
    from .page import Chapter

Chapters = Mapping[str, "Chapter"]
YES, PARTLY, NO, UNKNOWN = "reproduced", "partly", "not reproduced", "not measured"
NOT_ALWAYS = "not in general"
VERDICTS = (YES, PARTLY, NOT_ALWAYS, NO, UNKNOWN)
LINEAR = 1.1  # the largest slope that is called linear
RANGES = {"mammo": (0.30, 0.33), "heart": (0.18, 0.20), "hepatitis": (0.17, 0.21)}
ZERO = 1e-6  # an eigenvalue of a matrix of 32 bits, as a share of the largest
NEAR_ZERO = 0.05  # an NMI that is called so
ALPHA = ranks.ALPHA  # of every test: the paper's
WORDS = "no figure"  # a claim in words
SPLIT = "(we split the paper's claim)"
BOTH = ("HI-PMK", BIN0)  # as defined, and as its published code computes it
DEEP = ("GAIN", "MIRACLE", "MIWAE")

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
    checks : str
        What is counted, with its thresholds, in words.
    """

    name: str
    text: str
    source: str
    judge: Callable[[pd.DataFrame], Judged]
    checks: str


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


def grade_checks(checks: Iterable[bool]) -> str:
    """Give the verdict on a claim by its checks.

    Examples
    --------
    >>> grade_checks([True, False])
    'partly'
    """
    return grade(float(np.mean(list(checks))))


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


def list_rivals(hipmk: str) -> list[str]:
    """Name the nine baselines, HI-PMK in one of its two variants.

    Examples
    --------
    >>> list_rivals("HI-PMK bin0")[-2:]
    ['MIWAE', 'HI-PMK bin0']
    """
    return [hipmk if name == "HI-PMK" else name for name in BASELINES]


def count_top_two(wide: pd.DataFrame, label: str, hipmk: str = "HI-PMK") -> int:
    """Count the tables on which a method is best or second beside the baselines.

    Examples
    --------
    >>> count_top_two(read_published().drop(index="mean"), "PK (paper)")
    10
    """
    ranked = wide[[*list_rivals(hipmk), label]]
    places = ranked.rank(axis=1, ascending=False, method="min")
    return int((places[label] <= 2).sum())


def judge_top_two(results: pd.DataFrame) -> Judged:
    """Count the tables on which the paper's method is best or second."""
    paper = _wide(results, "paper").round(3)
    counts = [count_top_two(paper, PAPER, hipmk) for hipmk in BOTH]
    wanted = count_top_two(read_published().drop(index="mean"), PAPER)
    total = len(paper)
    told = f"{counts[0]} of {total}"
    if counts[0] != counts[1]:
        told += f"; {counts[1]} of {total} beside bin0"
    return f"{wanted} of {total}", told, grade(sum(counts) / (len(counts) * wanted))


def judge_mean(results: pd.DataFrame) -> Judged:
    """Compare the mean NMI with that of the baselines."""
    means = {protocol: _wide(results, protocol).mean() for protocol in nmi.PROTOCOLS}
    places = {
        (protocol, hipmk): int((mean[list_rivals(hipmk)] > mean[PAPER]).sum()) + 1
        for protocol, mean in means.items()
        for hipmk in BOTH
    }
    mean = means["paper"]
    other = str(mean[list(BASELINES)].idxmax())
    printed = read_published().loc["mean"]
    first, second = (
        _ORDINALS[places[protocol, "HI-PMK"] - 1] for protocol in nmi.PROTOCOLS
    )
    return (
        f"{printed[PAPER]:.4f}; {other} {printed[other]:.4f}",
        (
            f"{mean[PAPER]:.3f}; {other} {mean[other]:.3f}; {first} with labels (the "
            f"paper's way), {second} without"
        ),
        grade_checks(place == 1 for place in places.values()),
    )


_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth",
    "ninth", "tenth",
)  # fmt: skip


def judge_lead(results: pd.DataFrame) -> Judged:
    """Compare the lead over HI-PMK with the printed one."""
    printed = read_published().loc["mean"]
    wanted = printed[PAPER] - printed["HI-PMK"]
    means = _wide(results, "paper").mean()
    leads = means[PAPER] - means[list(BOTH)]
    here = f"{leads.iloc[0]:+.3f}; over bin0 {leads.iloc[1]:+.3f}"
    return f"{wanted:+.3f}", here, grade(leads.mean() / wanted)


def judge_tests(results: pd.DataFrame) -> Judged:
    """Count the methods that Nemenyi's test finds worse."""
    wide = _wide(results, "paper").round(ranks.PRINTED)
    others = [name for name in BASELINES if name != "HI-PMK"]
    counts = []
    for hipmk in BOTH:
        scores = ranks.Scores("paper", PAPER, wide[[*list_rivals(hipmk), PAPER]])
        counts.append(len({*ranks.find_worse(scores)} & {*others}))
    printed = len(ranks.find_worse(ranks.read_printed()))
    total = len(others)
    share = sum(counts) / (len(counts) * total)
    return f"{printed} of {total}", f"{counts[0]} of {total}", grade(share)


def judge_median(results: pd.DataFrame) -> Judged:
    """Compare the median NMI over the tables with both variants of HI-PMK."""
    here = _wide(results, "paper").median()
    printed = read_published().drop(index="mean").median()
    checks = [here[PAPER] > here[list_rivals(hipmk)].max() for hipmk in BOTH]
    others = here[[*BASELINES, BIN0]]
    return (
        f"{printed[PAPER]:.3f}; next {printed.drop(PAPER).max():.3f}",
        f"{here[PAPER]:.3f}; {others.idxmax()} {others.max():.3f}",
        grade_checks(checks),
    )


def judge_deep(results: pd.DataFrame) -> Judged:
    """Find the deep method with the highest mean NMI."""
    means = _wide(results, "paper").mean()[list(DEEP)]
    printed = read_published().loc["mean", list(DEEP)]

    def tell(found: pd.Series) -> str:
        best = found.nlargest(2)
        return ", ".join(f"{name} {score:.3f}" for name, score in best.items())

    best = means.idxmax() == printed.idxmax()
    return tell(printed), tell(means), grade(float(best))


def judge_tuning(results: pd.DataFrame) -> Judged:
    """Say that nothing of HI-PMK was varied, so nothing is known about its tuning."""
    require_tables(results["dataset"])
    assert not registry["HI-PMK"].grid
    return WORDS, "as implemented here it has no parameter", UNKNOWN


# ---------------------------------------------------------- bins and missing cells


def judge_encoding(results: pd.DataFrame, codes: str = encoding.CODES) -> Judged:
    """Look for a gain of the bins over codes, with the same fills in both."""
    require_tables(results["dataset"])
    gains = encoding.compare_codes(results, codes)
    gain = gains[next(iter(encoding.IMPUTED))]
    most = gain.nlargest(2).index
    rest = gain.drop(most).mean()
    here = f"{gain.mean():+.3f}; {rest:+.3f} without {' and '.join(most)}"
    return WORDS, here, grade(_count_gains(gains))


def judge_matching(results: pd.DataFrame) -> Judged:
    """Look for a gain of matching rows over single fills, in the same bins."""
    require_tables(results["dataset"])
    gains = encoding.compare_cascade(results)
    fill = next(iter(encoding.IMPUTED))
    gain = gains[fill]
    farthest = gain.abs().idxmax()
    rest = gain.drop(farthest).mean()
    here = f"{gain.mean():+.3f} over {fill}; {rest:+.3f} without {farthest}"
    return WORDS, here, grade(_count_gains(gains))


def _count_gains(gains: pd.DataFrame) -> float:
    """Give the share of checks that hold: for each fill the sign, and the test."""
    means = gains.mean()
    found = (means > 0) & (gains.apply(signed_rank_p) < ALPHA)
    return float(((means > 0).mean() + found.mean()) / 2)


def judge_levels(results: pd.DataFrame) -> Judged:
    """Count the tables where the intersection answers for most incomplete rows."""
    most = levels.count_most(results)
    best, four = int(most.idxmax()), most[FOUR_BINS["n_bins"]]
    here = (
        f"on {most[best]} of the tables with {_write_count(best)} bins, on {four} with "
        "four"
    )
    return "most", here, grade((most[best] + four) / (2 * len(TABLES)))


def _write_count(n: int) -> str:
    return {2: "two", 3: "three", 4: "four", 6: "six", 8: "eight"}[n]


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
    """Compare each of 3 to 6 bins with fewer and with more, over all tables."""
    means = differences.average_bins(results)
    inside, above = means.loc[3:6], means.loc[7:].max()
    checks = [*(inside > means[2]), *(inside > above - differences.LARGE)]
    gaps = f"{inside.max() - means[2]:+.3f} over two bins"
    here = f"the best of them {gaps}, {inside.max() - above:+.3f} over more than six"
    return WORDS, here.replace("-0.000", "0.000"), grade_checks(checks)


# ----------------------------------------------------------------- hidden cells


def _judge_rates(results: pd.DataFrame, table: str, rates: tuple[float, ...]) -> Judged:
    """Count the wins with bins chosen by the labels, and with four bins."""
    wide = missing_rate.arrange(results, table).loc[list(rates)]
    best = wide[list(BASELINES)].max(axis=1)
    tuned = int((wide[BEST_BINS] > best).sum())
    wins = missing_rate.count_wins(results, table, rates)
    four, n = wins[FOUR_BINS["n_bins"]], len(rates)
    always = [_write_count(n_bins) for n_bins, count in wins.items() if count == n]
    here = (
        f"all rates with {' or '.join(always)} bins"
        if always
        else f"{tuned} rates with the best bins at each"
    )
    here += f", {four or 'none'} with four"
    return f"all {n} rates", here, grade((tuned + four) / (2 * n))


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
    best, four = kept[BEST_BINS], kept[PAPER]
    here = (
        f"keeps more than {(others < best).sum()} of the nine with the best bins, than "
        f"{(others < four).sum()} with four"
    )
    shares = [(others < left).mean() for left in (best, four)]
    return "relatively stable", here, grade(float(np.mean(shares)))


def judge_collapse(results: pd.DataFrame) -> Judged:
    """See whether two imputations have lost the clusters of 3L at 30 %."""
    found = missing_rate.arrange(results, "three_lines").loc[0.3, ["KNN", "MissForest"]]
    here = f"{found.iloc[0]:.3f} and {found.iloc[1]:.3f}"
    return "near zero", here, grade(float((found < NEAR_ZERO).mean()))


def judge_miwae(results: pd.DataFrame) -> Judged:
    """Compare MIWAE with the paper's method on 3L at 50 %."""
    found = missing_rate.arrange(results, "three_lines").loc[0.5]
    ours = found[[BEST_BINS, PAPER]]
    best = "more" if ours[BEST_BINS] > found["MIWAE"] else "less"
    here = (
        f"MIWAE {found['MIWAE']:.3f}; PK {ours[PAPER]:.3f} with four bins, {best} with "
        "the best"
    )
    return "slightly ahead", here, grade(float((found["MIWAE"] > ours).mean()))


# --------------------------------------------------------------- cost and validity


def judge_slope(results: pd.DataFrame) -> Judged:
    """Fit the exponent of the time on both tables.

    That of the second one rises with the rows, so the last doubling is told.
    """
    slopes = runtime.list_slopes(results).loc[[runtime.TABLE, runtime.UNIFORM], PAPER]
    if slopes.isna().any():
        raise ValueError("too few sizes.")
    last = runtime.list_local_slopes(results, runtime.UNIFORM)[PAPER].iloc[-1]
    here = (
        f"rows^{slopes.iloc[0]:.2f}; about rows^{last:.1f} where no two rows are alike"
    )
    holds = slopes <= LINEAR
    mixed = holds.any() and not holds.all()
    return "linear", here, NOT_ALWAYS if mixed else grade(float(holds.mean()))


def judge_speed(results: pd.DataFrame) -> Judged:
    """Compare the seconds at the largest size that all were run at."""
    seconds = runtime.summarise(results).dropna()
    last = seconds.iloc[-1]
    others = last[["HI-PMK", "MIWAE"]]
    here = f"{last[PAPER]:.2g} s; {others.idxmin()} {others.min():.2g} s"
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


def judge_density(results: pd.DataFrame) -> Judged:  # noqa: ARG001 (own samples)
    """Compare pairs equally far apart, in the dense and in the sparse part."""
    skewed, bell = make_sample().compare_parts(), make_bell().compare_parts()
    checks = [sparse > dense for sparse, dense in (skewed, bell)]
    first, second = ("yes" if check else "no" for check in checks)
    here = (
        f"skewed sample: {first}; bell-shaped: {second}, {100 * bell[0]:.0f} % of the "
        f"sparse and {100 * bell[1]:.0f} % of the dense ones share a bin"
    )
    return WORDS, here, grade_checks(checks)


def judge_range(results: pd.DataFrame) -> Judged:  # noqa: ARG001 (a table of its own)
    """Look at the entries of the kernel of an incomplete table, and at its diagonal."""
    table = load_penguins()
    matrix = ProximityKernel(**FOUR_BINS).fit(table).kernel(table)
    holds = bool(matrix.min() >= 0 and matrix.max() <= 1)
    least = matrix.diagonal().min()
    here = f"penguins: yes; an incomplete row has {least:.2f} with itself at the least"
    return "proved", here if holds else "penguins: no", grade(float(holds))


HIPMK_TWICE = "Counted beside HI-PMK as defined and bin0"
MAIN = (
    Claim(
        "mean", '"superior performance": highest mean NMI of 10 methods', "nmi",
        judge_mean, f"First of ten; with labels and without. {HIPMK_TWICE}.",
    ),
    Claim(
        "lead", "lead over HI-PMK in mean NMI", "nmi", judge_lead,
        "Share of the printed lead, with labels: mean over HI-PMK as defined and bin0.",
    ),
    Claim(
        "top", "best or second on 10 of 12 tables", "nmi", judge_top_two,
        f"Share of the printed number, with labels. {HIPMK_TWICE}.",
    ),
    Claim(
        "tests", "significantly better than all but HI-PMK", "nmi", judge_tests,
        f"Share of the eight, by Nemenyi's test at the paper's {ALPHA}. {HIPMK_TWICE}.",
    ),
    Claim(
        "bins", f"bins raise mean NMI over integer codes {SPLIT}", "encoding",
        judge_encoding,
        "For each of three fills: the mean is higher; Wilcoxon's test of the tables "
        f"finds it so at {ALPHA}.",
    ),
    Claim(
        "one-hot", f"bins raise mean NMI over one-hot codes {SPLIT}", "encoding",
        partial(judge_encoding, codes=encoding.ONE_HOT), "As for integer codes.",
    ),
    Claim(
        "matching", f"matching rows raise mean NMI over imputation {SPLIT}",
        "encoding", judge_matching, "As for integer codes, in the paper's four bins.",
    ),
    Claim(
        "levels", "most incomplete rows have a row that matches in all known cells",
        "levels", judge_levels,
        "Share of the tables on which more than half do; with the best number of bins, "
        "and with four.",
    ),
    Claim(
        "3L", "best on 3L at 10 to 40 % missing", "missing-rate", judge_3l,
        "Share of the rates; with the best number of bins at each, and with four.",
    ),
    Claim(
        "messidor", "best on Messidor at all rates", "missing-rate", judge_messidor,
        "As for 3L.",
    ),
    Claim(
        "stability", "NMI hardly depends on the bins (2 to 10)", "bins", judge_bins,
        "Share of the numbers of bins whose NMI, in two digits, lies in the range that "
        "the paper names; mean over its three tables.",
    ),
    Claim(
        "time", "time linear in the rows", "runtime", judge_slope,
        f"Slope of log seconds at most {LINEAR}; on each of two made-up tables. If "
        "on one only: not in general.",
    ),
    Claim(
        "speed", "faster than HI-PMK and MIWAE", "runtime",
        judge_speed,
        "Fewer seconds at the largest size that all three were run at; than each.",
    ),
    Claim(
        "valid", "positive semi-definite", "levels", judge_eigenvalues,
        f"No eigenvalue below -{ZERO:.0e} of the largest.",
    ),
)  # fmt: skip
SMALLER = (
    Claim(
        "median", "highest median NMI", "nmi", judge_median,
        f"Highest of ten, with labels. {HIPMK_TWICE}.",
    ),
    Claim(
        "deep", "MIWAE is the best deep method", "nmi", judge_deep,
        "Highest mean NMI of the three, with labels.",
    ),
    Claim(
        "tuning", "HI-PMK requires careful tuning", "nmi", judge_tuning,
        "Not measured. As implemented here it has no parameter; its number of bins, "
        "which follows from the rows, was not varied.",
    ),
    Claim(
        "choice", "3 to 6 bins are a good choice", "differences", judge_choice_of_bins,
        "For 3, 4 and 6: better than two bins; at most "
        f"{differences.LARGE} below the best of 8 and 10.",
    ),
    Claim(
        "stable", "stable on 3L from 10 to 40 %", "missing-rate", judge_stable,
        "Share of the nine baselines that keep less of their NMI; with the best number "
        "of bins, and with four.",
    ),
    Claim(
        "collapse", "KNN and MissForest fail on 3L at 30 %", "missing-rate",
        judge_collapse, f"NMI below {NEAR_ZERO}; of each of the two.",
    ),
    Claim(
        "miwae", "MIWAE ahead on 3L at 50 %", "missing-rate", judge_miwae,
        "Of PK (paper) with the best number of bins, and with four.",
    ),
    Claim(
        "density", "sparse pairs more similar than dense ones", "levels",
        judge_density,
        "Of pairs equally far apart, more sparse than dense ones are in one bin; in "
        "each of two samples.",
    ),
    Claim(
        "range", "similarities are in [0, 1]", "levels", judge_range,
        "All entries are, on the library's penguins with four bins.",
    ),
    Claim(
        "space", "memory linear in the rows", "runtime", judge_space,
        f"Slope of log megabytes at most {LINEAR}; on the first table.",
    ),
)  # fmt: skip
