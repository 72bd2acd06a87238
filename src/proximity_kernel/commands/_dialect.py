"""Text in, the way it is written out: encoding, separator, header.

The separator is the one that cuts the first lines into the same number of fields. Tab,
semicolon and bar go before the comma, since decimal commas may cut evenly too.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass

from ._call import InputError, listed
from ._source import Source

SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_ORDER = "\t;|,"
ROW_NAME = "row_name"  # of a first column without a name
_SAMPLE = 200  # lines
_SAMPLE_CHARACTERS = 2**18
_EVEN = 0.9  # of the lines have the same number of fields
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)*|[.,]\d+)([eE][+-]?\d+)?%?$")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_YEAR = re.compile(r"(19|20|21)\d\d$")
_RULE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  # as Excel writes it


@dataclass(frozen=True)
class Dialect:
    """How a text is written.

    Attributes
    ----------
    text : str
        The whole of it, decoded.
    encoding : str
    separator : str
        One character; a blank stands for any number of blanks.
    names : list of str
        Of the columns.
    header : bool
        Whether the first line holds the names.
    said : tuple of str
        What was assumed.
    """

    text: str
    encoding: str
    separator: str
    names: list[str]
    header: bool
    said: tuple[str, ...]


def find_dialect(
    source: Source,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> Dialect:
    """Find out how a text is written, but for what is given.

    Parameters
    ----------
    source : Source
    separator, encoding : str, optional
    header : bool, optional

    Returns
    -------
    Dialect
    """
    text, encoding, said = _decode(source, encoding)
    rule = _RULE.match(text)
    if rule:
        text = text[rule.end() :]
        separator = separator or rule[1]
    lines = _sample(text)
    separator = separator or _guess_separator(lines)
    rows = cut(lines, separator)
    if not rows:
        raise InputError(f"{source.name}: there is no row in it.")
    if header is None:
        header = _has_header(rows)
    names, named = _name_columns(source.name, rows, header)
    return Dialect(text, encoding, separator, names, header, (*said, *named))


def _decode(source: Source, encoding: str | None) -> tuple[str, str, list[str]]:
    data = source.data
    if encoding is not None:
        try:
            return data.decode(encoding).removeprefix("\ufeff"), encoding, []
        except LookupError:
            raise InputError(
                f"--encoding {encoding}: there is no such encoding; utf-8, latin-1, "
                "cp1252 and utf-16 are common."
            ) from None
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(
                f"{source.name}: line {line} is not {encoding} "
                f"({data[error.start : error.start + 1]!r}); try --encoding latin-1."
            ) from None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), "utf-16", ["encoding UTF-16"]
    try:
        return data.decode("utf-8-sig"), "utf-8", []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        said = f"line {line} is not UTF-8, so read as Windows Latin (--encoding)"
        try:
            return data.decode("cp1252"), "cp1252", [said]
        except UnicodeDecodeError:
            return data.decode("latin-1"), "latin-1", [said.replace("Windows ", "")]


def _sample(text: str) -> list[str]:
    """Take the first lines; the last may be cut off, unless it is the end."""
    head = text[:_SAMPLE_CHARACTERS]
    lines = head.splitlines()
    if len(head) < len(text) and len(lines) > 1:
        lines.pop()
    return [line for line in lines[:_SAMPLE] if line.strip()]


def cut(lines: list[str], separator: str) -> list[list[str]]:
    """Cut lines into fields.

    >>> cut(["a;'b'", '1;"x;y"'], ";"), cut(["a   b"], " ")
    ([['a', "'b'"], ['1', 'x;y']], [['a', 'b']])
    """
    if separator == " ":
        return [line.split() for line in lines]
    return list(csv.reader(lines, delimiter=separator))


def _guess_separator(lines: list[str]) -> str:
    best, evenness = ",", 0.0
    for separator in _ORDER:
        share, n_fields = _measure(cut(lines, separator))
        if n_fields > 1 and share > evenness + 1e-9:
            best, evenness = separator, share
        if evenness >= _EVEN:
            return best
    words = cut(lines, " ")
    share, n_fields = _measure(words)
    blanks = n_fields > 1 and share >= _EVEN and len(words[0]) == n_fields
    return " " if blanks and evenness == 0 and len(lines) > 2 else best


def _measure(rows: list[list[str]]) -> tuple[float, int]:
    """Tell the share of rows with the usual number of fields, and that number.

    The first row must have it too (or one less: names of the rows are not always
    named), else the separator only occurs in the cells.
    """
    lengths = Counter(len(row) for row in rows)
    n_fields, n_rows = lengths.most_common(1)[0] if lengths else (1, 0)
    if rows and len(rows[0]) not in (n_fields, n_fields - 1):
        return 0.0, 1
    return n_rows / max(len(rows), 1), n_fields


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row has no value in it; years may be names, if they differ."""
    first = [cell.strip() for cell in rows[0]]
    values = [cell for cell in first if _NUMBER.match(cell) or _DATE.match(cell)]
    if any(cell == "?" for cell in first):
        return False
    years = all(_YEAR.match(cell) for cell in values)
    named = len(values) < len(first) and len(set(values)) == len(values)
    return not values or (years and named)


def _name_columns(
    source: str, rows: list[list[str]], header: bool
) -> tuple[list[str], list[str]]:
    if not header:
        names = [f"column_{j + 1}" for j in range(len(rows[0]))]
        if len(rows[0]) == 1:
            return names, ["no header line: the column is called column_1"]
        return names, [
            f"no header line: the columns are called column_1 to {names[-1]}"
        ]
    names, said = [name.strip() for name in rows[0]], []
    if len(rows) > 1 and all(len(row) == len(names) + 1 for row in rows[1:]):
        if all(row[-1].strip() == "" for row in rows[1:]):
            names.append("")  # a separator at the end of each line, but the header's
        else:
            names.insert(0, "")
    if not names[0] and ROW_NAME not in names:
        names[0] = ROW_NAME
        said.append(f"the first column has no name, so it is called {ROW_NAME!r}")
    names = [name or f"column_{j + 1}" for j, name in enumerate(names)]
    check_names(source, names)
    return names, said


def check_names(source: str, names: list[str]) -> None:
    """Refuse names that stand for several columns."""
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        places = [j + 1 for j, name in enumerate(names) if name == twice[0]]
        raise InputError(
            f"{source}: several columns are called {listed(twice)} (columns "
            f"{', '.join(map(str, places))}); rename them, or read with --no-header if "
            "the first line holds no names."
        )


def find_ragged_line(dialect: Dialect) -> str | None:
    """Say which line has another number of fields than the names, in words."""
    wanted = len(dialect.names)
    lines = dialect.text.splitlines(keepends=True)
    if dialect.separator == " ":
        found = ((at, len(line.split())) for at, line in enumerate(lines, 1))
    else:
        reader = csv.reader(lines, delimiter=dialect.separator)
        found = ((reader.line_num, len(row)) for row in reader)
    for line, n_fields in found:
        if n_fields not in (0, wanted) and line > dialect.header:
            fields = "1 field" if n_fields == 1 else f"{n_fields} fields"
            return (
                f"line {line} has {fields} where {wanted} are expected; mend "
                "the line (a separator in a text needs quotes), or name another "
                "separator with --sep."
            )
    return None
