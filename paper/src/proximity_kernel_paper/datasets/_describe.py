"""All tables of the catalogue in one table: what we count, and what the paper prints.

The figures of the paper (arXiv 2510.13352) are beside ours because results are compared
with its results: a difference in the data should be seen before one in the method is
believed.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd

from ._catalogue import Table, find, list_datasets
from ._files import Home, WrongFileError, absent
from ._load import read

KINDS = ("numeric", "ordinal", "nominal")
PAPER = ("rows", "features", "categorical", "numeric", "missing_percent", "classes")
OURS = ("rows", "features", *KINDS, "missing_cells", "missing_percent", "classes")


def describe(data_home: Home = None) -> pd.DataFrame:
    """Count all tables, beside the figures that the paper prints.

    The counts are made from the files, not copied from the catalogue. A table whose
    files are not in the data home has no counts, and its note says which are absent;
    so has one with a file that is not the catalogue's, and its note says so.

    Parameters
    ----------
    data_home : path, optional
        As in `load`.

    Returns
    -------
    pandas.DataFrame
        A row for each table, with the columns

        - ``rows``, ``features``; ``numeric``, ``ordinal`` and ``nominal`` of these;
          ``missing_cells``; ``classes`` (the real ones): whole numbers, NA if unknown;
        - ``missing_percent``: of all cells of the features;
        - ``paper_rows``, ``paper_features``, ``paper_categorical``,
          ``paper_numeric``, ``paper_missing_percent``, ``paper_classes``: what the
          paper prints, NA where it prints nothing;
        - ``note``: why they differ, and what is absent or wrong.

    Examples
    --------
    >>> from proximity_kernel_paper.datasets import describe
    >>> table = describe("an empty folder")
    >>> table.loc["penguins", ["rows", "features", "missing_cells"]].to_list()
    [344, 7, 19]
    >>> print(table.loc["cancer", "note"])
    Absent: breast-cancer-wisconsin.data.
    """
    records = [_record(find(name), data_home) for name in list_datasets()]
    frame = pd.DataFrame(records).set_index("dataset")
    figures = [*OURS, *(f"paper_{name}" for name in PAPER)]
    whole = [name for name in figures if not name.endswith("percent")]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _record(table: Table, home: Home) -> dict[str, Any]:
    lacking = absent(table, home)
    said = f"Absent: {', '.join(file.name for file in lacking)}." if lacking else ""
    ours: dict[str, float] = {}
    if not lacking:
        try:
            ours = _count(table, home)
        except WrongFileError as error:  # the other tables can still be counted
            said = str(error)
    return {
        "dataset": table.name,
        **{name: ours.get(name, float("nan")) for name in OURS},
        **{f"paper_{name}": table.paper.get(name, float("nan")) for name in PAPER},
        "note": " ".join(filter(None, (said, table.paper_note))),
    }


def _count(table: Table, home: Home) -> dict[str, float]:
    dataset = read(table, home)
    kinds = Counter(dataset.kinds.values())
    rows, features = dataset.frame.shape
    missing = int(dataset.frame.isna().to_numpy().sum())
    return {
        "rows": rows,
        "features": features,
        **{kind: kinds[kind] for kind in KINDS},
        "missing_cells": missing,
        "missing_percent": 100 * missing / (rows * features),
        "classes": dataset.target.nunique(),
    }
