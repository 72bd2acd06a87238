"""The first screen of the page, and the account of what was run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from . import classification, encoding, fidelity, nmi, peers, runtime, spaces
from ._claims import (
    ALPHA,
    BOTH,
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
from ._published import read_published
from ._ranking import signed_rank_p
from ._rendering import Table, write_markdown
from .binning import tell_samples
from .nmi import BASELINES, BIN0, OURS, PAIRWISE, PAPER
from .ranks import PRINTED

if TYPE_CHECKING:
    from .page import Chapter

Chapters = Mapping[str, "Chapter"]
# What the first sentence is about: the names of claims, in words.
SUBJECTS = {
    "bins": "the gain from the encoding",
    "matching": "a gain from the rule for missing cells",
    "lead": "the printed lead over HI-PMK",
}
WORDS = (
    f"NMI (0 to 1) says how well clusters agree with known classes. {PAPER} is the "
    "paper's similarity of two rows, a kernel, implemented here. HI-PMK is the best of "
    'its nine baselines, bin0 is HI-PMK as its published code computes it. "With '
    "labels\": the known classes choose each method's parameters, as the paper did. 3L "
    "is a made-up table of three lines.\n\n"
    f"Unlike the paper's text, which puts every column into percentile bins, {PAPER} "
    "gives each category a bin of its own. Which columns are categories was decided "
    "here, also in horse and tumor, which the paper lists as all numeric."
)
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
        "**Not as in the paper.** Beside the bins of categories (above): GAIN, "
        "MIRACLE, MIWAE, MissForest and EM are implemented here from their papers, "
        "where the paper took them from hyperimpute; HI-PMK too is implemented here. "
        "HI-PMK bin0 is what its published code computes, with missing cells in the "
        "first bin."
    ),
    (
        "**Two protocols.** `paper`, with labels: these choose the parameters of every "
        "method that has a grid. `clean`, without labels: one default for each method; "
        "labels only judge."
    ),
    (
        "**Verdicts.** Each claim is split into checks, listed among the details. "
        "Reproduced: all of them hold. Partly: at least half of them, or of a printed "
        "number. Not reproduced: less. Not in general: it holds on one table and not "
        "on another. All numbers here are computed by `proximity-kernel-paper page` "
        "from the files in `results`."
    ),
)
CONSTANTS = (
    f"**Developed with these classes in view**: {OURS}. The number and the weight of "
    "the coarse bins were chosen among 22 ways to make bins, compared by NMI on these "
    "tables (`docs/decisions/0007-bins-without-tuning.md`); the formula and the "
    "threshold by which a missing cell counts as a value among a dozen, on eight of "
    "them, after kidney had been seen "
    "(`docs/decisions/0024-overlap-of-missing-cells.md`); and NMI was the second "
    "criterion for the defaults (`docs/decisions/0010-defaults.md`). The rule for "
    "missing cells was developed by the error that `fidelity` measures, on the same "
    "tables (`docs/decisions/0018-pairwise.md`, "
    "`docs/decisions/0026-weights-of-pairs.md`), so only the held-out tables there "
    "test it."
)
OBJECTIONS = (
    "Most verdicts are signs of a mean over 12 tables. On 3L and Messidor the best "
    f"number of bins of {PAPER} is chosen by the labels on the seeds that judge. "
    "`fidelity` counts squared errors in the bins of PK. Cells of held-out tables are "
    "hidden completely at random, so nothing there tests missing cells that mean "
    "something. The paper itself gives its time as quadratic in the worst case."
)
MEANS = (
    "No verdict, since the paper does not say it of its own kernel: it recalls "
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
        _tell(chapters, "peers", tell_held_out),
        _tell(chapters, "runtime", tell_time),
    ]
    lines = [line for line in added if line]
    reading = [
        *READING,
        _tell(chapters, "nmi", tell_clusters),
        _tell(chapters, "spaces", tell_spaces),
        _tell(chapters, "peers", tell_chance),
        _tell(chapters, "nmi", tell_constants),
        _tell(chapters, "nmi", tell_objections),
    ]
    return [
        summarise_verdicts(verdicts),
        WORDS,
        _tabulate(verdicts),
        f"**What this library adds** ({OURS})" if lines else "",
        "\n".join(f"- {line}" for line in lines),
        "## How to read this",
        "\n".join(f"- {line}" for line in reading if line),
        "## Smaller claims",
        _tabulate(judge_claims(chapters, SMALLER)),
    ]


def list_checks() -> str:
    """Write what is counted for the verdict on each claim.

    Returns
    -------
    str
        Markdown.
    """
    rows = {claim.text: claim.checks for claim in (*MAIN, *SMALLER)}
    frame = pd.DataFrame({"counted": pd.Series(rows, dtype=object)})
    frame.index.name = "the paper's claim"
    rule = (
        "Reproduced: all checks hold. Partly: at least half of them, or of what the "
        "paper prints. Not in general: a claim about all tables that holds on one and "
        "not on another. Not reproduced: less than half."
    )
    return write_markdown(Table("", frame, notes=(rule, tell_samples(), MEANS)))


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
    parts = [
        f"{join_words(names)} {one if len(names) == 1 else many}"
        for verdict, one, many in (
            (YES, "reproduces", "reproduce"),
            (PARTLY, "reproduces in part", "reproduce in part"),
            (NO, "was not found", "were not found"),
            (UNKNOWN, "was not measured", "were not measured"),
        )
        if (names := groups.get(verdict))
    ]
    sentence = "; ".join(parts)
    paper = "[arXiv 2510.13352](https://arxiv.org/abs/2510.13352)"
    told = f"**{sentence[0].upper()}{sentence[1:]}.**"
    return f"{told} The experiments of {paper}, run again."


def join_words(names: list[str]) -> str:
    """Join words by commas, the last by "and".

    Examples
    --------
    >>> join_words(["a", "b", "c"]), join_words(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


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
    held_out = peers.split(results)[1]
    require_tables(held_out["dataset"], peers.HELD_OUT)
    here = fidelity.tabulate_held_out(held_out)
    means, seconds, one = here["kernel_error"], here["fit_seconds"], here["one"]
    forest = fidelity.FOREST
    return (
        "Closer similarities than by the paper's rule: with cells hidden they (0 to 1) "
        f"are off by {means[PAIRWISE]:.3f} on {len(peers.HELD_OUT)} tables not used "
        f"for tuning, by {means[PAPER]:.3f} with the paper's rule in the same bins. A "
        f"forest for each column is {_compare(here.loc[forest])} "
        f"({one[forest]:.3f} where ours has {one[PAIRWISE]:.3f}) and takes "
        f"{seconds[forest]:.0f} s a table, ours {seconds[PAIRWISE]:.1f} s."
    )


def _compare(other: pd.Series) -> str:
    """Say whether another method is closer than our rule, if a test shows it."""
    if other["p_value"] >= ALPHA:
        return "as good"
    return "closer" if other["losses"] > other["wins"] else "less close"


def tell_clusters(results: pd.DataFrame) -> str:
    """Compare the mean NMI without labels."""
    wide = nmi.pivot(nmi.summarise(results, "clean")).round(PRINTED)
    require_tables(wide.index)
    others = [PAPER, *BOTH]
    if wide[[OURS, *others]].isna().any(axis=None):
        raise ValueError("a number is missing.")
    means = wide.mean()
    found = [signed_rank_p(wide[OURS] - wide[name]) for name in others]
    shown = "no difference is shown, " if min(found) >= ALPHA else ""
    told = ", ".join(f"{name} {means[name]:.3f}" for name in others)
    return (
        f"**Clusters without labels**, on the tables of the paper: mean NMI of {OURS} "
        f"{means[OURS]:.3f}, {told}; {shown}Wilcoxon p "
        f"{', '.join(f'{p:.2f}' for p in found)}."
    )


def tell_held_out(results: pd.DataFrame) -> str:
    """Say where this library stands on tables on which it was not tuned."""
    held_out = peers.drop_later(peers.split(results)[1])
    require_tables(held_out["dataset"], peers.HELD_OUT)
    means = peers.tabulate(held_out).drop(peers.CHANCE)
    simple = "one-hot k-means"
    wins, losses = peers.compare(held_out).loc[simple, ["wins", "losses"]].astype(int)
    level = (
        "level with" if wins == losses else "ahead of" if wins > losses else "behind"
    )
    first = means["nmi"].idxmax() == OURS
    return (
        f"Clusters{'' if first else ' no better than those of others'}: on "
        f"{len(peers.HELD_OUT)} tables not used for tuning "
        f"{_write_rank(means['nmi'])} of {len(means)} by NMI, "
        f"{_write_rank(means['ari'])} by adjusted Rand index, {level} {simple} "
        f"({wins}-{losses})."
    )


def _write_rank(scores: pd.Series) -> str:
    """Write the place of this library's kernel.

    Examples
    --------
    >>> _write_rank(pd.Series({"PK (ours)": 0.2, "k-prototypes": 0.3}))
    '2nd'
    """
    rank = int((scores > scores[OURS]).sum()) + 1
    return f"{rank}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(rank, 'th') }"


def tell_time(results: pd.DataFrame) -> str:
    """Say how long it takes, and where others are faster."""
    seconds = runtime.summarise(results)
    ours, first = seconds[OURS], seconds.index[0]
    slower = ours > seconds[PAPER]
    faster = (
        f"; slower than {PAPER} below {seconds.index[~slower][0]:,} rows "
        f"({ours[first]:.3f} against {seconds.loc[first, PAPER]:.3f} s at {first:,}, "
        f"where HI-PMK takes {seconds.loc[first, 'HI-PMK']:.3f} s)"
        if slower[first]
        else ""
    )
    return (
        f"Time: {ours.index[-1]:,} rows in {ours.iloc[-1]:.1f} s on one thread"
        f"{faster}. The model keeps counts, no rows."
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
    """Say how much of the gain is the encoding's, and how much the cascade's."""
    require_tables(results["dataset"])
    codes, one_hot = (
        encoding.compare_codes(results, name)
        for name in (encoding.CODES, encoding.ONE_HOT)
    )
    cascade, auto = encoding.compare_cascade(results), encoding.compare_auto(results)
    fills = join_words(list(encoding.IMPUTED))
    most = codes.iloc[:, 0].nlargest(2).index
    far = cascade.iloc[:, 0].abs().idxmax()
    by_table = results.groupby(["method", "dataset"])[list(encoding.ENCODINGS)].mean()
    plain = by_table.loc[(codes.columns[0], most[0])]
    every = encoding.summarise(results)
    means = every[encoding.FOUR]
    rest = means - means[codes.columns[0]]

    def tell(values: pd.Series) -> str:
        return ", ".join(f"{value:+.3f}" for value in values)

    def tell_p(gains: pd.DataFrame) -> str:
        return ", ".join(f"{p:.2g}" for p in gains.apply(signed_rank_p))

    def tell_wins(gains: pd.DataFrame) -> str:
        signs = np.sign(gains.round(PRINTED))
        pairs = zip((signs > 0).sum(), (signs < 0).sum(), strict=True)
        return ", ".join(f"{wins}-{losses}" for wins, losses in pairs)

    lines = (
        (
            f"The encoding: mean NMI in the paper's bins, less that in integer codes, "
            f"with the same fills ({fills}): {tell(codes.mean())} (Wilcoxon p "
            f"{tell_p(codes)}; wins-losses {tell_wins(codes)}). Less that in one-hot "
            f"codes: {tell(one_hot.mean())} (p {tell_p(one_hot)}; "
            f"{tell_wins(one_hot)}). Without {' and '.join(most)}: "
            f"{tell(codes.drop(most).mean())} and {tell(one_hot.drop(most).mean())}. "
            f"On {most[0]} one-hot codes have {plain[encoding.ONE_HOT]:.3f} of the "
            f"{plain[encoding.FOUR]:.3f}."
        ),
        (
            f"The paper's rule, less these fills, in its bins: {tell(cascade.mean())} "
            f"(p {tell_p(cascade)}); without {far} {tell(cascade.drop(far).mean())}. "
            f"{far.capitalize()}: {tell(cascade.loc[far])}. Less {codes.columns[0]} "
            f"alone: the frequencies of the column {rest[encoding.PRIOR]:+.3f}, our "
            f"counts of pairs {rest['pairwise']:+.3f}, these with some missing cells "
            f"as values {rest[encoding.INFORMATIVE]:+.3f}."
        ),
        (
            "Our rule gains no NMI either: in our bins, with some missing cells as "
            f"values, {every.loc[encoding.INFORMATIVE, encoding.AUTO]:.4f} against "
            f"{every.loc[codes.columns[0], encoding.AUTO]:.4f} by {codes.columns[0]} "
            f"(p {signed_rank_p(auto):.2f})."
        ),
    )
    return "\n".join(f"- {line}" for line in lines)


def tell_leads(results: pd.DataFrame) -> str:
    """Say how far the paper's kernel is ahead of HI-PMK, and how sure that is."""
    told = []
    for protocol, words in (("paper", "with labels"), ("clean", "without")):
        wide = nmi.pivot(nmi.summarise(results, protocol))
        require_tables(wide.index)
        for hipmk in BOTH:
            lead = wide[PAPER] - wide[hipmk]
            low, high = bootstrap(lead)
            told.append(
                f"{hipmk}, {words}, {lead.mean():+.3f} [{low:+.3f}, {high:+.3f}]"
            )
    wide = nmi.pivot(nmi.summarise(results, "clean"))
    left = "; ".join(
        f"{name}: "
        + ", ".join(f"{who} {wide.loc[name, who]:.3f}" for who in (OURS, PAPER, *BOTH))
        for name in peers.LEFT_OUT
    )
    return (
        f"Lead of {PAPER} in mean NMI, in brackets 95 % of {RESAMPLES:,} draws of "
        f"twelve tables with replacement: over {'; '.join(told)}. The two tables that "
        f"`peers` leaves out, without labels: {left}."
    )


RESAMPLES = 10_000


def bootstrap(values: pd.Series) -> tuple[float, float]:
    """Give the limits between which 95 % of the means of new draws of tables lie.

    Examples
    --------
    >>> bootstrap(pd.Series([1.0, 1.0, 1.0]))
    (1.0, 1.0)
    """
    given = values.to_numpy()
    draws = np.random.default_rng(0).choice(given, (RESAMPLES, len(given)))
    low, high = np.quantile(draws.mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def tell_neighbors(results: pd.DataFrame) -> str:
    """Say what the paper's rule gives beside the frequencies of the column."""
    paper, held_out = peers.split(results)
    found = fidelity.arrange(fidelity.summarise(paper))
    prior = "prior only"
    errors, tops = found["kernel_error"], found["top10"]
    gaps = fidelity.compare(paper, fidelity.FOREST)
    told = (
        f"The rule of {PAIRWISE} was developed by this measure, on the tables of the "
        f"paper. Beside the frequencies of the column ({prior}), {PAPER} has an error "
        f"of {errors[PAPER]:.4f} against {errors[prior]:.4f} there, and a top-10 "
        f"quality of {tops[PAPER]:.4f} against {tops[prior]:.4f}. A forest for each "
        f"column is as good as our rule there: it is closer in {(gaps < 0).sum()} of "
        f"{len(gaps)} trials, ours in {(gaps > 0).sum()}."
    )
    if set(peers.HELD_OUT) <= set(held_out["dataset"]):
        here = fidelity.tabulate_held_out(held_out)
        wins, losses = here.loc[PAPER, ["wins", "losses"]].astype(int)
        told += (
            f" On the held-out tables {PAIRWISE} has {here.loc[PAIRWISE].iloc[0]:.4f}, "
            f"{PAPER} {here.loc[PAPER].iloc[0]:.4f} and {prior} "
            f"{here.loc[prior].iloc[0]:.4f}; it is closer than {PAPER} on {wins}, "
            f"farther on {losses}."
        )
    return told


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


def tell_objections(results: pd.DataFrame) -> str:
    """Say what speaks against the comparison."""
    wide = nmi.pivot(nmi.summarise(results, "paper"))
    imputers = [name for name in BASELINES if name != "HI-PMK"]
    off = wide.loc["kidney", imputers] - read_published().loc["kidney", imputers]
    return (
        "**What can be objected.** All baselines were implemented by the maintainers "
        "of a competitor. On kidney the imputers are off their printed NMI by "
        f"{off.min():+.2f} to {off.max():+.2f}, and scaling explains a part of it only "
        f"(see the details). {OBJECTIONS}"
    )


def tell_spaces(results: pd.DataFrame) -> str:
    """Say how the kernels are clustered, and what both ways give."""
    require_tables(results["dataset"])
    means = spaces.summarise(results)

    def tell(way: str) -> str:
        return ", ".join(f"{name} {score:.3f}" for name, score in means[way].items())

    return (
        "**Not clustered alike.** HI-PMK is clustered by k-means on the rows of its "
        "matrix of similarities, PK by k-means on its representation of the rows. Both "
        f"by the rows of the matrix, without labels: {tell(spaces.ROWS)}; both in "
        f"feature space: {tell(spaces.FEATURES)} (at most {spaces.MOST_ROWS:,} rows)."
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
