"""The numbers that the paper prints, and ours beside them.

They are data, in ``published.json``. Where the paper's number is not known here, the
place stays empty: nothing is made up, and nothing of ours is shown as the paper's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from ..plots import draw_bars
from ._rendering import Table

CLOSE = 0.02  # two values that differ by no more are called the same
N_TABLES = 12  # of the paper's table; a mean over fewer is not its mean


@cache
def read_published() -> Mapping[str, Any]:
    """Read the numbers of the paper.

    Returns
    -------
    mapping from str to value

    Examples
    --------
    >>> read_published()["nmi"]["PK"]["kidney"]
    0.6964
    """
    text = (files(__package__) / "published.json").read_text()
    return dict(json.loads(text))


@cache
def read_reasons() -> Mapping[str, Any]:
    """Read why numbers differ, as far as something is known about it.

    Returns
    -------
    mapping from method to mapping from table to mapping
        With the keys ``text`` and ``variants``, those of the experiment "differences"
        that measure it.
    """
    text = (files(__package__) / "reasons.json").read_text()
    return dict(json.loads(text)["nmi"])


def list_known(ours: pd.DataFrame) -> pd.DataFrame:
    """List the values of the paper that are known here, with ours.

    Parameters
    ----------
    ours : pandas.DataFrame of shape (n_tables, n_methods)
        NMI in the protocol "paper".

    Returns
    -------
    pandas.DataFrame
        Columns ``table`` (``"mean"`` is the mean over all tables), ``method``,
        ``paper``, ``ours`` (NaN where there is none) and ``difference``.
    """
    printed = read_published()["nmi"]
    known = [(name, method) for method in printed for name in printed[method]]
    index = pd.MultiIndex.from_tuples(known, names=["table", "method"])
    paper = [printed[method][name] for name, method in known]
    frame = pd.DataFrame({"paper": paper, "ours": float("nan")}, index=index)
    whole = ours.copy()
    if len(ours) == N_TABLES:
        whole.loc["mean"] = ours.mean(skipna=False)
    for name, method in known:
        if method in whole and name in whole.index:
            frame.loc[(name, method), "ours"] = whole.loc[name, method]
    frame["difference"] = frame["ours"] - frame["paper"]
    return frame.reset_index()


def compare(ours: pd.DataFrame) -> Table:
    """Put ours beside the paper's, wherever the paper's is known.

    Parameters
    ----------
    ours : pandas.DataFrame of shape (n_tables, n_methods)
        NMI in the protocol "paper".

    Returns
    -------
    Table
    """
    known = list_known(ours)
    found = known.dropna(subset="ours").set_index("table")
    frame = found[["method"]].assign(
        paper=found["paper"].map("{:.3f}".format),
        ours=found["ours"].map("{:.3f}".format),
        difference=found["difference"].map("{:+.3f}".format),
        reason=[
            _explain(method, name) if abs(gap) > CLOSE else ""
            for name, method, gap in zip(
                found.index, found["method"], found["difference"], strict=True
            )
        ],
    )
    lacking = known[known["ours"].isna()]
    pairs = zip(lacking["method"], lacking["table"], strict=True)
    only = (
        "Only the values of the paper that are known here; see published.json. The "
        f"others are not, and are not guessed. A reason where they differ by more than "
        f"{CLOSE}."
    )
    notes = [only]
    if len(lacking):
        told = ", ".join(f"{method} on {name}" for method, name in pairs)
        notes.append(f"Known of the paper, with no number of ours here: {told}.")
    return Table("NMI beside the paper's", frame.astype(object), notes=tuple(notes))


def _explain(method: str, name: str) -> str:
    found = read_reasons().get(method, {}).get(name, {})
    return str(found.get("text", "None is known."))


def draw(ours: pd.DataFrame) -> Any:
    """Draw ours and the paper's as bars, where both are known.

    Parameters
    ----------
    ours : pandas.DataFrame of shape (n_tables, n_methods)
        NMI in the protocol "paper".

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = list_known(ours).dropna(subset="ours")
    values = {
        f"{row.table}, {row.method}": {"ours": row.ours, "paper": row.paper}
        for row in found.itertuples()
    }
    return draw_bars(values, xlabel="NMI", digits=3).figure
