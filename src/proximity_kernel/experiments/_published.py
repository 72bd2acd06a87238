"""The numbers that the paper prints, and ours beside them.

They are data, in ``published.json``. Where the paper's number is not known here, the
place stays empty: nothing is made up, and nothing of ours is shown as the paper's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ._rendering import Table

if TYPE_CHECKING:
    import pandas as pd


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


def compare(ours: pd.DataFrame, printed: Mapping[str, Mapping[str, float]]) -> Table:
    """Put ours beside the paper's, wherever the paper's is known.

    Parameters
    ----------
    ours : pandas.DataFrame of shape (n_tables, n_methods)
    printed : mapping from method to mapping from table to float
        ``"mean"`` is the mean over all tables.

    Returns
    -------
    Table
    """
    import pandas as pd

    means = ours.mean(skipna=False)
    rows = []
    for method, values in printed.items():
        for name, value in values.items():
            if method in ours and (name == "mean" or name in ours.index):
                mine = means[method] if name == "mean" else ours.loc[name, method]
                rows.append((name, method, value, mine, mine - value))
    frame = pd.DataFrame(
        rows, columns=["table", "method", "paper", "ours", "ours - paper"]
    )
    frame = frame.set_index("table")
    for column, form in (
        ("paper", "{:.3f}"),
        ("ours", "{:.3f}"),
        ("ours - paper", "{:+.3f}"),
    ):
        frame[column] = frame[column].map(form.format)
    notes = ("Only the values of the paper that are known here; see published.json.",)
    return Table("NMI beside the paper's", frame, notes=notes)
