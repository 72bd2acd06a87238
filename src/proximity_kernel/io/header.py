"""Header rows of text files and sheets: how many there are, and the column names.

The upper row of a two-row header often has merged cells, of which a file stores only
the first: "2020", "", "2021", "" above "Sales", "Cost", "Sales", "Cost".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count, pairwise

from .._shared.wording import counted, listed
from .schema import Doubt, InputError, ReadOptions

_ROW_NAME = "row_name"  # name given to a first column that has none
_MIN_REPEATED = 3  # duplicate cells of a first row that may be values, not names
_MAX_HEADER_ROWS = 3  # that are inferred
_MIN_ROWS = 10  # non-missing cells of a column of categories
_MIN_VALUES = 0.8  # share of numbers or dates in a column of values
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?%?$")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_YEAR = re.compile(r"(19|20|21)\d\d$")
_MARK = re.compile(r"[?.-]+|n\.?/?a\.?n?|null|none|missing|unknown", re.IGNORECASE)


def is_value(cell: str) -> bool:
    """Whether a string is a number or date, and so neither a name nor a title."""
    return bool(_NUMBER.match(cell) or _DATE.match(cell))


def read_header(
    file: str,
    rows: Sequence[Sequence[str]],
    options: ReadOptions,
    *,
    has_header: bool = False,
) -> tuple[int, list[str], list[str]]:
    """Count header rows, and name the columns; also return what was assumed.

    `rows` are the first rows of the table, including the header, and `file` is its
    name, for messages. The option `names` replaces the names in the file. With
    `has_header`, the first row is a header even if its cells do not look like names.
    """
    n_header, doubts = options.header_rows, list[str]()
    if n_header is None:
        n_header = max(count_header_rows(rows), int(has_header))
        doubts = _doubt_header(rows, n_header)
    names, said = _take_names(rows, n_header)
    if options.names is not None:
        if len(options.names) != len(names):
            raise InputError(
                f"`names`: {counted(len(options.names), 'name')} given, and {file} has "
                f"{counted(len(names), 'column')}; give one name for each."
            )
        names, said = make_unique(list(options.names))
    return n_header, names, [*said, *doubts]


# ------------------------------------------------------------------------------- rows


def count_header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Count the header rows of a table.

    >>> rows = [["shop", "2020", ""], ["", "sold", "cost"], ["A", "5", "3"]]
    >>> count_header_rows([*rows, ["B", "7", "4"]]), count_header_rows(rows[2:])
    (2, 0)
    """
    cells = [[cell.strip() for cell in row] for row in rows]
    if not all(map(_may_be_name, cells[0])):
        return 0
    n_rows = 1
    while n_rows < _MAX_HEADER_ROWS and _is_next_header_row(cells, n_rows):
        n_rows += 1
    return n_rows if n_rows > 1 else int(_is_first_row_header(cells))


def _doubt_header(rows: Sequence[Sequence[str]], n_header: int) -> list[str]:
    """Report unnamed columns if the row below the header may be a second header row."""
    if n_header != 1 or len(rows) < 2 or len(rows[0]) != len(rows[1]):
        return []
    first, second = ([cell.strip() for cell in row] for row in rows[:2])
    pairs = zip(first[1:], second[1:], strict=True)
    unnamed = [below for above, below in pairs if below and not above]
    if not unnamed or any(map(is_value, second)):
        return []
    columns = counted(len(unnamed), "column has", "columns have")
    remedy = "if these are names, `header_rows=2` joins both rows"
    return [Doubt(f"{columns} no name above {listed(unnamed, 3)}: {remedy}")]


def _is_first_row_header(rows: list[list[str]]) -> bool:
    """Whether a first row of texts and years is a header.

    Its years must be distinct, and at least one cell must not be a year. A row with
    three or more duplicates is not a header if each of its cells occurs again in its
    column.
    """
    first = rows[0]
    if len(first) - len(set(first)) >= _MIN_REPEATED:
        below = zip(*rows[1:], strict=False)
        if all(cell in cells for cell, cells in zip(first, below, strict=False)):
            return False
    years = list(filter(is_value, first))
    return "?" not in first and len(first) > len(years) == len(set(years))


def _may_be_name(cell: str) -> bool:
    """Whether a cell may be a column name: empty, a text, or a year."""
    return not is_value(cell) or bool(_YEAR.match(cell))


def _is_next_header_row(rows: list[list[str]], at: int) -> bool:
    """Whether row `at`, below a header row, is a header row too.

    None of its cells may occur again in its column. If the row above has empty cells or
    equal neighbors, one cell that differs in type from its column is enough. Otherwise
    at least half of the columns must be numbers or dates, each below a distinct name.
    """
    if len(rows) < at + 3 or len(rows[at]) != len(rows[0]):
        return False
    above, row = rows[at - 1], rows[at]
    below = [one for one in rows[at + 1 :] if len(one) == len(row)]
    columns = list(zip(*below, strict=True))
    named = [j for j, cell in enumerate(row) if cell]
    if not columns or not named or not all(map(_may_be_name, row)):
        return False
    if any(row[j] in columns[j] or _MARK.fullmatch(row[j]) for j in named):
        return False
    kinds = [_find_kind(cells) for cells in columns]
    unlike = [j for j in named if _is_unlike(row[j], kinds[j])]
    repeated = any(a == b for a, b in pairwise(above))
    if repeated or not all(above):
        return bool(unlike)
    numeric = [j for j, kind in enumerate(kinds) if kind in ("values", "years")]
    texts = [row[j] for j in numeric if j in unlike]
    many = len(numeric) >= max(2, len(row) / 2)
    are_names = not any(re.search(r"[\d<>]", text) for text in texts)
    return many and are_names and len(texts) == len(numeric) == len(set(texts))


def _find_kind(cells: Sequence[str]) -> str:
    """Classify the cells below a header: "values", "years", "categories" or "texts".

    "values" are numbers or dates. The result is "nothing" if all cells are missing.
    """
    known = [cell for cell in cells if cell and not _MARK.fullmatch(cell)]
    if not known:
        return "nothing"
    if sum(map(is_value, known)) >= _MIN_VALUES * len(known):
        years = sum(bool(_YEAR.match(cell)) for cell in known)
        return "years" if years >= _MIN_VALUES * len(known) else "values"
    repeats = len(known) >= _MIN_ROWS and 2 * len(set(known)) <= len(known)
    return "categories" if repeats else "texts"


def _is_unlike(cell: str, kind: str) -> bool:
    """Whether a cell differs from the kind of those below, so it may be a name."""
    if is_value(cell):  # a year
        return kind == "values"
    return kind in ("values", "years", "categories")


# ------------------------------------------------------------------------------ names


def _take_names(
    rows: Sequence[Sequence[str]], n_header: int
) -> tuple[list[str], list[str]]:
    """Take the names from header rows, or number them; also return the assumptions."""
    if not n_header:
        names = [f"column_{j + 1}" for j in range(len(rows[0]))]
        return names, [f"no header line: columns are called column_1 to {names[-1]}"]
    names, said = _join_header_rows(rows[:n_header]), []
    if n_header > 1:
        example = next((name for name in names if " " in name), names[-1])
        joined = f"{n_header} header rows joined into names such as {example!r}"
        said = [f"{joined} (`header_rows`)"]
    below = rows[n_header:]
    if below and all(len(row) == len(names) + 1 for row in below):
        if all(row[-1].strip() == "" for row in below):
            names.append("")  # every line but the header ends with a separator
        else:
            names.insert(0, "")
    if not names[0] and _ROW_NAME not in names:
        names[0] = _ROW_NAME
        said.append(f"the first column has no name, now called {_ROW_NAME!r}")
    names = [name or f"column_{j + 1}" for j, name in enumerate(names)]
    names, renamed = make_unique(names)
    return names, [*said, *renamed]


def _join_header_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Join header rows into one name for each column.

    An empty cell takes the text on its left if both have a name below (merged cells).

    >>> _join_header_rows([["shop", "2020", "", "2021"], ["", "sold", "cost", "sold"]])
    ['shop', '2020 sold', '2020 cost', '2021 sold']
    """
    cells = [[cell.strip() for cell in row] for row in rows]
    width = max(map(len, cells))
    cells = [row + [""] * (width - len(row)) for row in cells]
    for below, row in pairwise(reversed(cells)):
        for j in range(1, width):
            if not row[j] and below[j] and below[j - 1]:
                row[j] = row[j - 1]
    columns = zip(*cells, strict=True)
    return [" ".join(filter(None, dict.fromkeys(own))) for own in columns]


def make_unique(names: list[str]) -> tuple[list[str], list[str]]:
    """Rename duplicate column names; return all names, and a note if some changed.

    >>> make_unique(["a", "b", "a"])
    (['a', 'b', 'a_2'], ["several columns are called 'a': renamed the later to 'a_2'"])
    """
    taken, unique = set(names), dict[str, str]()  # new name -> name
    # The numbers go on where the last column of this name stopped.
    numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))
    for name in names:
        new = name
        if name in unique:
            more = (f"{name}_{i}" for i in numbers[name])
            new = next(one for one in more if one not in taken)
        unique[new] = name
    renamed = {new: name for new, name in unique.items() if new != name}
    if not renamed:
        return names, []
    shared = listed([*dict.fromkeys(renamed.values())], 3)
    later = f"renamed the later to {listed(list(renamed), 3)}"
    return list(unique), [f"several columns are called {shared}: {later}"]
