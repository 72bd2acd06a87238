"""From the bytes of raw files to typed columns.

The files have no header and few habits in common. Each is first split into rows of
fields, by the reader for its format; then each column becomes what its kind says:

- numeric: floats, NaN where missing;
- ordinal: an ordered categorical, in the order that the catalogue gives;
- nominal: a categorical without order.

Blanks around a field mean nothing, and a cell is missing only where it holds the
catalogue's marker, alone: an empty or a zero cell is a value. Labels get one look more.
Some end in an accident (a dot in one half of adult, a tab in kidney), which makes more
classes of them than there are; published experiments have used those, so both ways of
reading a label can be asked for.
"""

from __future__ import annotations

import io
import string
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from ._catalogue import Column, RawFile, Table

LABELS = ("clean", "as published")

Rows = list[list[str]]


def parse(
    table: Table, contents: Iterable[bytes], labels: str = "clean"
) -> tuple[pd.DataFrame, pd.Series]:
    """Make a frame of the features and a series of the classes.

    Parameters
    ----------
    table : Table
    contents : iterable of bytes
        The raw files, in the order of ``table.files``.
    labels : {"clean", "as published"}

    Returns
    -------
    frame : pandas.DataFrame of shape (n_samples, n_features)
    target : pandas.Series of shape (n_samples,)
    """
    read = READERS[table.format]
    rows: Rows = []
    for file, content in zip(table.files, contents, strict=True):
        rows += read(table, file, content)
    check_widths(table, rows)
    columns = zip(*rows, strict=True)
    raw = dict(zip((column.name for column in table.columns), columns, strict=True))
    frame = pd.DataFrame(
        {
            column.name: _typed(table, column, raw[column.name])
            for column in table.features
        }
    )
    written = raw[table.target.name]
    label_of = {field: read_label(field, table, labels) for field in set(written)}
    classes = pd.Categorical(
        [label_of[field] for field in written], categories=sorted({*label_of.values()})
    )
    target = pd.Series(classes, name=table.target.name)
    return frame, target


def read_delimited(table: Table, file: RawFile, content: bytes) -> Rows:
    """Split lines at the delimiter; empty lines are no rows."""
    lines = content.decode("utf-8").splitlines()[file.skip_lines :]
    rows = [line.split(table.delimiter) for line in lines if line.strip()]
    if table.drop_empty_fields:
        rows = [[field for field in row if field.strip()] for row in rows]
    return rows


def read_arff(table: Table, file: RawFile, content: bytes) -> Rows:
    """Split the lines after ``@data``.

    Not by an ARFF reader: kidney breaks the rules of that format, and the header tells
    nothing that the catalogue does not.
    """
    head, mark, data = content.partition(b"@data")
    if not mark:
        raise ValueError(f"{file.name} has no line @data after {len(head)} bytes.")
    return read_delimited(table, file, data)


def read_mat(table: Table, file: RawFile, content: bytes) -> Rows:  # noqa: ARG001 (a reader's signature)
    """Take the two variables of a MATLAB file: the features, the target."""
    from scipy.io import loadmat  # here: it takes long to import

    found = loadmat(io.BytesIO(content), variable_names=table.variables)
    features, target = (found[name] for name in table.variables)
    # repr and float are each other's inverse: no digit is lost on this detour.
    return [
        [*map(repr, row), str(label)]
        for row, label in zip(features.tolist(), target.ravel().tolist(), strict=True)
    ]


READERS: dict[str, Callable[[Table, RawFile, bytes], Rows]] = {
    "arff": read_arff,
    "delimited": read_delimited,
    "mat": read_mat,
}


def check_widths(table: Table, rows: Rows) -> None:
    """Refuse a row with more or fewer fields than the catalogue has columns."""
    wanted = len(table.columns)
    for i, row in enumerate(rows):
        if len(row) != wanted:
            raise ValueError(
                f"{table.name}: row {i} has {len(row)} fields, the catalogue {wanted} "
                "columns."
            )


def read_label(field: str, table: Table, labels: str = "clean") -> str:
    r"""Read a label with or without the accident at its end.

    >>> from proximity_kernel_paper.datasets._catalogue import find
    >>> [read_label(field, find("adult")) for field in (" <=50K", " <=50K.")]
    ['<=50K', '<=50K']
    >>> read_label(" <=50K.", find("adult"), labels="as published")
    '<=50K.'
    >>> read_label("ckd\t", find("kidney"), labels="as published")
    'ckd\t'
    """
    blanks = "".join(set(string.whitespace) - set(table.label_tail))
    published = field.strip(blanks)
    if labels == "as published":
        return published
    return published.rstrip(table.label_tail + string.whitespace).lstrip()


def _typed(table: Table, column: Column, fields: Iterable[str]) -> Any:
    values = pd.Series(map(str.strip, fields), dtype=object)
    values = values.mask(values == table.missing)
    if column.kind == "numeric":
        return values.astype(float)
    seen = set(values.dropna())
    categories = sorted(seen) if column.order is None else list(column.order)
    strange = seen - set(categories)
    if strange:
        raise ValueError(
            f"{table.name}: {column.name} holds {sorted(strange)}, which the "
            "catalogue's order of its values does not have."
        )
    ordered = column.order is not None
    return pd.Categorical(values, categories=categories, ordered=ordered)
