"""Which differences of the main table are more than luck: mean ranks over the tables.

The paper's figure is a critical-difference diagram at alpha = 0.1: the ten methods on
their mean ranks, with bars that join those that Nemenyi's test cannot tell apart. Here
it is drawn from the results of `nmi`, for each protocol, at 0.1 and at the customary
0.05. Friedman's test (and Iman and Davenport's form of it) says whether there is any
difference at all, and Wilcoxon's test with Holm's correction judges PK against each
other method by the pair alone; see `_ranking` and `_pairs`.

Only the paper's ten methods are ranked: variants of a method beside it would push the
others down. A table on which one of them has no score cannot be ranked; it is left out,
and named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

import pandas as pd

from ..plots import draw_critical_difference
from ._pairs import wilcoxon_holm
from ._published import read_published
from ._ranking import (
    critical_difference,
    friedman,
    mean_ranks,
    nemenyi,
    nemenyi_groups,
)
from ._rendering import Rendering, Table, write_numbers
from ._scores import complete_cases
from ._trials import Experiment, Request
from .boxplot import NAMES
from .nmi import BASELINES, PAPER, PROTOCOLS, TABLES, pivot, summarise

ALPHAS = (0.1, 0.05)
OURS = PAPER
METHODS = (*BASELINES, PAPER)


@dataclass(frozen=True, eq=False)
class Scores:
    """What is ranked.

    Attributes
    ----------
    protocol : str
    nmi : pandas.DataFrame of shape (n_tables, n_methods)
        Without gaps.
    dropped : tuple of str
        Tables left out for a gap.
    printed : bool
        Whether the paper's numbers are of the same tables, methods and protocol.
    """

    protocol: str
    nmi: pd.DataFrame
    dropped: tuple[str, ...]
    printed: bool = False

    @property
    def enough(self) -> bool:
        """Whether the tests can be done: two tables, three methods, PK among them."""
        n_tables, n_methods = self.nmi.shape
        return n_tables >= 2 and n_methods >= 3 and OURS in self.nmi


def collect(results: pd.DataFrame, protocol: str) -> Scores:
    """Give the NMI of the paper's methods on the tables where all have one.

    Parameters
    ----------
    results : pandas.DataFrame
        Of the ledger of `nmi`.
    protocol : {"paper", "clean"}

    Returns
    -------
    Scores
    """
    wide = pivot(summarise(results, protocol))
    cases = complete_cases(wide[[method for method in METHODS if method in wide]])
    whole = cases.scores.shape == (len(TABLES), len(METHODS))
    dropped = tuple(map(str, cases.dropped))
    return Scores(protocol, cases.scores, dropped, whole and protocol == "paper")


def render(results: pd.DataFrame, request: Request) -> Rendering:
    """Show ranks and tests for each protocol, and a diagram for each level."""
    tables: list[Table] = []
    figures: dict[str, Callable[[], Any]] = {}
    for protocol in request.protocols or PROTOCOLS:
        if (results["protocol"] == protocol).any():
            scores = collect(results, protocol)
            if not scores.enough:
                tables.append(_render_too_few(scores))
                continue
            tables += [_render_ranks(scores), _render_tests(scores)]
            for alpha in ALPHAS:
                stem = f"ranks-{protocol}-alpha{100 * alpha:02.0f}"
                figures[stem] = partial(draw, scores, alpha)
    return Rendering(tuple(tables), figures)


def compare(scores: Scores) -> pd.DataFrame:
    """Put the mean ranks and the tests of PK against each method side by side.

    Parameters
    ----------
    scores : Scores

    Returns
    -------
    pandas.DataFrame of shape (n_methods, 6)
        Best rank first: ``mean_rank``, ``mean_difference`` (PK - method), ``wins``,
        ``losses`` (of PK, in tables), ``nemenyi`` and ``p_holm``, the p-values; NaN in
        the row of PK.
    """
    pairs = wilcoxon_holm(scores.nmi, against=OURS).set_index("method_b")
    found = pd.DataFrame(
        {
            "mean_rank": mean_ranks(scores.nmi),
            "mean_difference": pairs["mean_difference"],
            "wins": pairs["wins"],
            "losses": pairs["losses"],
            "nemenyi": nemenyi(scores.nmi)[OURS].drop(OURS),
            "p_holm": pairs["p_holm"],
        }
    )
    found.index.name = "method"
    return found.sort_values("mean_rank", kind="stable")


def _render_ranks(scores: Scores) -> Table:
    found = compare(scores)
    printed = pd.Series(read_published()["mean_ranks"]).reindex(found.index)
    columns = {"mean rank": write_numbers(found[["mean_rank"]]).iloc[:, 0]}
    if scores.printed:
        columns["paper's rank"] = write_numbers(printed.to_frame()).iloc[:, 0]
    columns |= {
        "PK - method": found["mean_difference"].map(partial(_write, form="{:+.3f}")),
        "PK wins": found["wins"].map(partial(_write, form="{:.0f}")),
        "PK loses": found["losses"].map(partial(_write, form="{:.0f}")),
        "Nemenyi p": found["nemenyi"].map(_write_p),
        "Wilcoxon-Holm p": found["p_holm"].map(_write_p),
    }
    title = f'Mean ranks of NMI, protocol "{scores.protocol}"'
    return Table(title, pd.DataFrame(columns), notes=_notes(scores))


def _write(value: float, form: str) -> str:
    return "-" if isnan(value) else form.format(value)


def _write_p(value: float) -> str:
    return "<0.001" if value < 0.001 else _write(value, "{:.3f}")


def _notes(scores: Scores) -> tuple[str, ...]:
    n_tables, n_methods = scores.nmi.shape
    what = f"{n_methods} methods on {n_tables} tables: {', '.join(scores.nmi.index)}."
    told = [what, "1 is the best rank. Both tests are of PK against the method."]
    if scores.dropped:
        told.append(
            f"Left out, a method has no score there: {', '.join(scores.dropped)}."
        )
    if scores.printed:
        told.append("A dash beside the paper's ranks: not known here.")
    return tuple(told)


def _render_tests(scores: Scores) -> Table:
    n_tables, n_methods = scores.nmi.shape
    test = friedman(scores.nmi)
    rows = {
        "Friedman's chi squared": (f"{test.statistic:.2f}", _write_p(test.p_value)),
        "Iman and Davenport's F": (f"{test.f_statistic:.2f}", _write_p(test.f_p_value)),
    }
    for alpha in ALPHAS:
        value = critical_difference(n_methods, n_tables, alpha)
        rows[f"critical difference at {alpha}"] = (f"{value:.3f}", "")
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "p"])
    frame.index.name = "test"
    if scores.printed:
        paper = read_published()["critical_difference"]
        frame["paper's"] = ""
        row = f"critical difference at {paper['alpha']}"
        frame.loc[row, "paper's"] = f"{paper['value']:.3f}"
    title = f'Tests of the ranks, protocol "{scores.protocol}"'
    return Table(title, frame, notes=tuple(_say_groups(scores, a) for a in ALPHAS))


def _say_groups(scores: Scores, alpha: float) -> str:
    _, groups, _ = _diagram(scores, alpha)
    joined = "; ".join(", ".join(group) for group in groups) or "none"
    return f"Groups that Nemenyi's test cannot tell apart at {alpha}: {joined}."


def _diagram(
    scores: Scores, alpha: float
) -> tuple[dict[str, float], list[list[str]], float]:
    """Give what a diagram shows: mean ranks, groups, critical difference."""
    n_tables, n_methods = scores.nmi.shape
    ranks = mean_ranks(scores.nmi)
    difference = critical_difference(n_methods, n_tables, alpha)
    return ranks.to_dict(), nemenyi_groups(ranks, difference), difference


def _render_too_few(scores: Scores) -> Table:
    frame = pd.DataFrame({"methods": scores.nmi.notna().sum(axis=1).astype(str)})
    frame.index.name = "table"
    told = "Too little to rank: it takes two tables, and three methods with PK."
    gaps = f"Left out, a method has no score there: {', '.join(scores.dropped)}."
    title = f'Mean ranks of NMI, protocol "{scores.protocol}"'
    return Table(title, frame, notes=(told, gaps) if scores.dropped else (told,))


def draw(scores: Scores, alpha: float) -> Any:
    """Draw the critical-difference diagram, the paper's printed ranks as rings.

    Parameters
    ----------
    scores : Scores
    alpha : float

    Returns
    -------
    matplotlib.figure.Figure
    """
    ranks, groups, difference = _diagram(scores, alpha)
    ax = draw_critical_difference(
        ranks, groups, difference, highlight=OURS, names=NAMES
    )
    title = f'protocol "{scores.protocol}", alpha {alpha}, {len(scores.nmi)} tables'
    if scores.printed:
        printed = read_published()["mean_ranks"]
        title += f"; rings: the paper's {', '.join(printed)}"
        colors = {line.get_gid(): line.get_color() for line in ax.lines}
        for name, rank in printed.items():
            ax.plot([rank], [0], "o", mfc="none", ms=11, color=colors[name], zorder=6)
    ax.figure.suptitle(title, fontsize=9)
    return ax.figure


EXPERIMENT = Experiment(
    "ranks",
    "Which differences are more than luck: mean ranks",
    render,
    source="nmi",
    choices=TABLES,  # all ten methods, always: ranks depend on who is ranked
    protocols=PROTOCOLS,
)
