"""Which differences of the main table are more than luck: mean ranks over the tables.

The paper's figure is a critical-difference diagram at alpha = 0.1: ten methods on their
mean ranks, with bars that join those that Nemenyi's test cannot tell apart. Here it is
drawn from the results of `nmi`, for each protocol. Wilcoxon's test with Holm's
correction judges a method by the pair alone; see `_ranking`.

Ten methods are ranked, as in the paper: its nine baselines and one proximity kernel,
the paper's or ours in its place. More variants beside each other would push the others
down. A table on which one of them has no score is left out, and named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

import pandas as pd
from scipy import stats

from ..plots import draw_critical_difference
from ._published import read_published
from ._ranking import (
    DECIMALS,
    critical_difference,
    mean_ranks,
    nemenyi,
    nemenyi_groups,
    wilcoxon_holm,
)
from ._rendering import Rendering, Table, write_numbers
from ._trials import Experiment, Request
from .nmi import BASELINES, NAMES, OURS, PAPER, PROTOCOLS, TABLES, pivot, summarise

ALPHA = 0.1  # the paper's; 0.05 is told beside it
KERNELS = (PAPER, OURS)
PRINTED = 3  # digits; methods that are printed alike share a rank


@dataclass(frozen=True, eq=False)
class Scores:
    """What is ranked.

    Attributes
    ----------
    protocol : str
    kernel : str
        Which proximity kernel is among the methods.
    nmi : pandas.DataFrame of shape (n_tables, n_methods)
        Without gaps.
    dropped : tuple of str
        Tables left out for a gap.
    """

    protocol: str
    kernel: str
    nmi: pd.DataFrame
    dropped: tuple[str, ...] = ()

    @property
    def enough(self) -> bool:
        """Whether the tests can be done: two tables, three methods, the kernel."""
        n_tables, n_methods = self.nmi.shape
        return n_tables >= 2 and n_methods >= 3 and self.kernel in self.nmi


def collect(results: pd.DataFrame, protocol: str, kernel: str = PAPER) -> Scores:
    """Give the NMI of ten methods on the tables where all have one, as it is printed.

    Parameters
    ----------
    results : pandas.DataFrame
        Of the ledger of `nmi`.
    protocol : {"paper", "clean"}
    kernel : {"PK (paper)", "PK (ours)"}, default="PK (paper)"
        Which stands beside the nine baselines.

    Returns
    -------
    Scores
    """
    wide = pivot(summarise(results, protocol))
    ranked = [method for method in (*BASELINES, kernel) if method in wide]
    gaps = wide[ranked].isna().any(axis=1)
    dropped = tuple(map(str, wide.index[gaps]))
    return Scores(protocol, kernel, wide.loc[~gaps, ranked].round(PRINTED), dropped)


def read_printed() -> Scores:
    """Give the paper's own table to rank.

    Examples
    --------
    >>> read_printed().nmi.shape
    (12, 10)
    """
    return Scores("printed", PAPER, read_published().drop(index="mean"))


def compare(scores: Scores) -> pd.DataFrame:
    """Put the mean ranks and the tests of the kernel against each method together.

    Parameters
    ----------
    scores : Scores

    Returns
    -------
    pandas.DataFrame of shape (n_methods, 5)
        Best rank first: ``rank``, ``wins``, ``losses`` (of the kernel, in tables),
        ``nemenyi`` and ``p_holm``, the p-values; NaN in the row of the kernel.
    """
    kernel = scores.kernel
    pairs = wilcoxon_holm(scores.nmi, against=kernel)
    found = pd.DataFrame(
        {
            "rank": mean_ranks(scores.nmi),
            "wins": pairs["wins"],
            "losses": pairs["losses"],
            "nemenyi": nemenyi(scores.nmi, against=kernel),
            "p_holm": pairs["p_holm"],
        }
    )
    found.index.name = "method"
    return found.sort_values("rank", kind="stable")


def find_worse(scores: Scores, alpha: float = ALPHA) -> list[str]:
    """Name the methods that Nemenyi's test finds worse than the kernel.

    Examples
    --------
    >>> len(find_worse(read_printed())), len(find_worse(read_printed(), 0.05))
    (8, 5)
    """
    n_tables, n_methods = scores.nmi.shape
    limit = critical_difference(n_methods, n_tables, alpha)
    ranks = mean_ranks(scores.nmi)
    return [str(name) for name in ranks.index[ranks - ranks[scores.kernel] > limit]]


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show ranks and tests for each protocol, and a diagram for each kernel."""
    tables: list[Table] = []
    figures: dict[str, Callable[[], Any]] = {}
    for protocol in request.protocols or PROTOCOLS:
        if (results["protocol"] == protocol).any():
            both = [collect(results, protocol, kernel) for kernel in KERNELS]
            known = [scores for scores in both if scores.enough]
            if known:
                tables.append(_render_ranks(known))
            for scores in known:
                whose = "paper" if scores.kernel == PAPER else "ours"
                figures[f"ranks-{protocol}-pk-{whose}"] = partial(draw, scores)
    return Rendering(tuple(tables), figures)


def _render_ranks(known: list[Scores]) -> Table:
    parts = []
    for scores in known:
        found = compare(scores)
        columns = {
            f"rank with {scores.kernel}": write_numbers(found[["rank"]], 2).iloc[:, 0],
            "its wins-losses": [
                "-" if isnan(row.wins) else f"{row.wins:.0f}-{row.losses:.0f}"
                for row in found.itertuples()
            ],
            "Nemenyi p": found["nemenyi"].map(write_p),
            "Wilcoxon-Holm p": found["p_holm"].map(write_p),
        }
        parts.append(pd.DataFrame(columns, index=found.index))
    # Columns of the two kernels have the same names, so not a join.
    order = list(dict.fromkeys([name for part in parts for name in part.index]))
    frame = pd.concat([part.reindex(order).fillna("") for part in parts], axis=1)
    if known[0].protocol == "paper":
        printed = write_numbers(mean_ranks(read_printed().nmi).to_frame(), 2).iloc[:, 0]
        frame.insert(0, "rank in the paper", printed.reindex(order).fillna(""))
    frame.index.name = "method"
    title = f'Mean ranks of NMI, protocol "{known[0].protocol}"'
    return Table(title, frame, notes=tuple(_notes(known)))


def write_p(value: float) -> str:
    """Write a p-value with three digits, NaN as a dash.

    >>> write_p(0.0123), write_p(1e-5)
    ('0.012', '<0.001')
    """
    if isnan(value):
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def _notes(known: list[Scores]) -> list[str]:
    scores = known[0]
    n_tables, n_methods = scores.nmi.shape
    differ = stats.friedmanchisquare(*scores.nmi.round(DECIMALS).to_numpy().T)
    limits = ", ".join(
        f"{critical_difference(n_methods, n_tables, alpha):.2f} at {alpha}"
        for alpha in (ALPHA, 0.05)
    )
    how = (
        f"{n_methods} methods on {n_tables} tables; 1 is the best rank; scores that "
        f"are equal in {PRINTED} digits share one. Both tests are of the kernel that "
        f"the column names against the method. Friedman's test with {scores.kernel}: p "
        f"{write_p(differ.pvalue)}. Critical differences: {limits}."
    )
    told = [how]
    if scores.dropped:
        told.append(f"Left out, a gap there: {', '.join(scores.dropped)}.")
    return told


def draw(scores: Scores) -> Any:
    """Draw the critical-difference diagram.

    Parameters
    ----------
    scores : Scores

    Returns
    -------
    matplotlib.figure.Figure
    """
    n_tables, n_methods = scores.nmi.shape
    ranks = mean_ranks(scores.nmi)
    difference = critical_difference(n_methods, n_tables, ALPHA)
    groups = nemenyi_groups(ranks, difference)
    ax = draw_critical_difference(
        ranks.to_dict(), groups, difference, highlight=(scores.kernel,), names=NAMES
    )
    title = f'protocol "{scores.protocol}", alpha {ALPHA}, {n_tables} tables'
    ax.figure.suptitle(title, fontsize=9)
    return ax.figure


EXPERIMENT = Experiment(
    "ranks",
    "Which differences are more than luck: mean ranks",
    render,
    source="nmi",
    choices=TABLES,  # all methods, always: ranks depend on who is ranked
    protocols=PROTOCOLS,
)
