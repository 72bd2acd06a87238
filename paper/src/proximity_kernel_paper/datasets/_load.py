"""A table by its name, ready to use."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pandas as pd

from ._catalogue import Table, find
from ._files import Home, read_files
from ._held_out import list_held_out, read_held_out
from ._parse import LABELS, parse


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table with its classes and where it comes from.

    Attributes
    ----------
    frame : pandas.DataFrame of shape (n_samples, n_features)
        The features: floats, ordered categoricals and categoricals.
    target : pandas.Series of shape (n_samples,)
        The classes, categorical. They are for judging a result, not for making it.
    kinds : dict of str to str
        The kind of each feature: ``"numeric"``, ``"ordinal"`` or ``"nominal"``.
    description : str
        Title, source, licence, citation, and what to know before use.
    """

    frame: pd.DataFrame
    target: pd.Series
    kinds: dict[str, str]
    description: str

    def __repr__(self) -> str:
        rows, features = self.frame.shape
        title = self.description.partition("\n")[0]
        return f"<Dataset {title}: {rows} rows, {features} features>"


def load(
    name: str,
    data_home: Home = None,
    *,
    labels: str = "clean",
) -> Dataset:
    r"""Load a table of the catalogue, or a held-out one.

    Parameters
    ----------
    name : str
        One of `list_datasets` or `list_held_out`.
    data_home : path, optional
        The folder with the files, one folder in it for each table. If not given: the
        environment variable ``PROXIMITY_KERNEL_DATA``, else a folder in the user's
        cache. Files that are not there are downloaded from their publisher and kept
        there.
    labels : {"clean", "as published"}, default="clean"
        How to read the classes. ``"clean"``: the real ones. ``"as published"``: with
        the accidents of the raw files, which make 4 classes of adult's 2 (a dot after
        the labels of one half) and 3 of kidney's 2 (a tab after two labels), to rerun
        experiments that were made so. For all other tables it is the same.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If there is no such table, or if a file in the data home is another than the
        one in the catalogue.
    ImportError
        If the package that ships a held-out table is not installed.
    OSError
        If a file could not be downloaded or kept; the message says which file to put
        where.

    Examples
    --------
    >>> from proximity_kernel_paper.datasets import load
    >>> penguins = load("penguins")
    >>> penguins
    <Dataset Palmer penguins: 344 rows, 7 features>
    >>> penguins.frame.dtypes.astype(str).head(3).to_dict()
    {'island': 'category', 'bill_length_mm': 'float64', 'bill_depth_mm': 'float64'}
    >>> penguins.kinds["island"], penguins.target.cat.categories.to_list()
    ('nominal', ['Adelie', 'Chinstrap', 'Gentoo'])
    >>> load("penguin")
    Traceback (most recent call last):
    ValueError: no dataset is called 'penguin'; did you mean 'penguins'? There are ...
    """
    if labels not in LABELS:
        raise ValueError(f"labels must be one of {LABELS}, got {labels!r}.")
    if name in list_held_out():
        return _pack(*read_held_out(name))
    return read(find(name), data_home, labels)


def read(table: Table, home: Home = None, labels: str = "clean") -> Dataset:
    """Load a table by its entry in the catalogue, or by one that is made up."""
    return _pack(table, *parse(table, read_files(table, home), labels))


def _pack(table: Table, frame: pd.DataFrame, target: pd.Series) -> Dataset:
    kinds = {column.name: column.kind for column in table.features}
    return Dataset(frame, target, kinds, _describe(table, kinds))


def _describe(table: Table, kinds: dict[str, str]) -> str:
    shares = ", ".join(f"{n} {kind}" for kind, n in Counter(kinds.values()).items())
    counts = (
        f"{table.counts['rows']} rows, {len(kinds)} features ({shares}), "
        f"{table.counts['missing_cells']} missing cells, "
        f"{table.counts['classes']} classes."
    )
    lines = (
        table.title,
        counts,
        table.about,
        f"Source: {table.page}",
        f"Licence: {table.licence}",
        f"Citation: {table.citation}",
    )
    return "\n".join(line for line in lines if line)
