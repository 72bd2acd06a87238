"""Results that a notebook shows as a table, and `to_frame` makes a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from html import escape
from math import isnan
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .._shared.extras import require

_MOST_ROWS = 60  # rows that a notebook shows
# Field of names -> field of feature numbers, which the names replace in a data frame.
_NAMED = {"feature_name": "feature", "column_names": "columns"}
_Item = TypeVar("_Item")


def find_library(table: Any) -> str:
    """Return the name of a data frame's library; "pandas" for other tables.

    >>> find_library([[1.0, "a"]])
    'pandas'
    """
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    is_frame = isinstance(frame, nw.DataFrame)
    return str(frame.implementation.value) if is_frame else "pandas"


class Tabular:
    """Base class of results that a notebook shows as a table, with `to_frame`.

    `library` is that of the input table if it was a data frame, else pandas.
    """

    library = "pandas"

    def _list_columns(self) -> dict[str, list[Any]]:
        """List the cells of each column of the result, by its name."""
        raise NotImplementedError

    def _show(self) -> tuple[str, dict[str, list[Any]]]:
        """Return a title, and the columns that a notebook shows."""
        return "", self._list_columns()

    def to_frame(self) -> Any:
        """Convert the result to a data frame of `library`."""
        columns = self._list_columns()
        if self.library == "pandas":
            require("pandas", extra="cli")
        else:  # other libraries need one type per column
            columns = {name: unify_types(cells) for name, cells in columns.items()}
        backend: Any = self.library
        return nw.from_dict(columns, backend=backend).to_native()

    def _repr_html_(self) -> str:
        """Show the first rows of the result as a table in a notebook."""
        title, columns = self._show()
        rows = list(zip(*columns.values(), strict=True))
        left = '<th style="text-align: left">'
        head = "".join(f"{left}{escape(name)}</th>" for name in columns)
        body = "".join(
            f"<tr>{''.join(_write_cell(cell) for cell in row)}</tr>\n"
            for row in rows[:_MOST_ROWS]
        )
        more = len(rows) - _MOST_ROWS
        note = f"<p>and {more:,} more rows</p>" if more > 0 else ""
        top = f"<p>{escape(title)}</p>" if title else ""
        return (
            f"{top}<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n"
            f"</table>{note}"
        )


class Records(Tabular, list[_Item]):
    """A list of mappings or dataclasses, or one such list for each row of a table.

    `names` are those of the columns if there are no records. `text` is the name of an
    extra column with each record as text, which a notebook shows in place of most
    fields; "" for no such column.

    >>> found = Records([{"size": 4, "value": "a"}, {"size": 3, "value": "b"}])
    >>> found.to_frame()
       size value
    0     4     a
    1     3     b
    >>> found == [{"size": 4, "value": "a"}, {"size": 3, "value": "b"}]
    True
    """

    def __init__(
        self,
        items: Any = (),
        library: str = "pandas",
        names: Iterable[str] = (),
        text: str = "",
    ) -> None:
        super().__init__(items)
        self.library, self._names, self._text = library, tuple(names), text

    def _list_columns(self) -> dict[str, list[Any]]:
        """List the values of each field of the records."""
        records = list(self._list_records())
        names = records[0] if records else self._names
        return {name: [one[name] for one in records] for name in names}

    def _show(self) -> tuple[str, dict[str, list[Any]]]:
        """Return no title, and the columns that a notebook shows."""
        columns = self._list_columns()
        shown = ("row", "feature", "value", "score", self._text)
        return "", {name: columns[name] for name in shown} if self._text else columns

    def _list_records(self) -> Iterator[Mapping[str, Any]]:
        """Flatten each record to a mapping from columns to cells."""
        for row, item in enumerate(self):
            if isinstance(item, list):
                for one in item:
                    text = {self._text: str(one)} if self._text else {}
                    yield {"row": row, **_flatten(one), **text}
            else:
                yield _flatten(item)


class CellRecords(Tabular, np.ndarray[Any, Any]):
    """A structured array with the method `to_frame`; a single field is a plain array.

    Examples
    --------
    >>> cells = np.array([(2, [0.5, 0.25])], [("row", "i8"), ("moved", "f8", 2)])
    >>> cells.view(CellRecords).to_frame()
       row  moved_1  moved_2
    0    2      0.5     0.25
    >>> type(cells.view(CellRecords)["row"]).__name__
    'ndarray'
    """

    def __array_finalize__(self, made_from: NDArray[Any] | None) -> None:
        """Copy the name of the dataframe library to a view or slice of the records."""
        self.library = getattr(made_from, "library", "pandas")

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        is_plain = isinstance(found, np.ndarray) and found.dtype.names is None
        return found.view(np.ndarray) if is_plain else found

    def _list_columns(self) -> dict[str, list[Any]]:
        """List the columns of the frame; names of features replace their numbers."""
        fields = {_NAMED.get(name, name): self[name] for name in self.dtype.names or ()}
        columns = {name: own.tolist() for name, own in fields.items() if own.ndim == 1}
        several = {name: own.T for name, own in fields.items() if own.ndim == 2}
        for k, parts in enumerate(zip(*several.values(), strict=True), 1):
            named = zip(several, parts, strict=True)
            columns |= {f"{name}_{k}": part.tolist() for name, part in named}
        return columns


def _flatten(record: Any) -> Mapping[str, Any]:
    """Convert a mapping or dataclass to a mapping; join tuples of texts by "and"."""
    if is_dataclass(record):
        record = {one.name: getattr(record, one.name) for one in fields(record)}
    return {
        name: " and ".join(cell) if isinstance(cell, tuple) else cell
        for name, cell in record.items()
    }


def unify_types(cells: list[Any]) -> list[Any]:
    """Convert the cells of a column to text if their types differ."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) < 2:
        return cells
    return [None if cell is None else str(cell) for cell in cells]


def _write_cell(cell: Any) -> str:
    """Format a cell of an HTML table: numbers on the right, with few digits.

    >>> _write_cell(4087.5)
    '<td style="text-align: right">4087.5</td>'
    >>> _write_cell(1 / 3)
    '<td style="text-align: right">0.333</td>'
    """
    if cell is None or (isinstance(cell, float) and isnan(cell)):
        return "<td></td>"
    if isinstance(cell, float):
        # All digits before the point and one after it, but at least three.
        digits = max(3, len(f"{abs(cell):.0f}") + 1)
        return f'<td style="text-align: right">{cell:.{digits}g}</td>'
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f'<td style="text-align: right">{cell}</td>'
    return f'<td style="text-align: left">{escape(str(cell))}</td>'
