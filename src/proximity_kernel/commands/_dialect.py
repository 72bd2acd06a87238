"""Text in, the way it is written out: encoding, separator, header.

The separator is the one that cuts the first lines into the same number of fields. Tab,
semicolon and bar go before the comma, since decimal commas may cut evenly too.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from itertools import count

from ._call import InputError, counted, listed
from ._source import Source, find_wide

SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_ORDER = "\t;|,"
ROW_NAME = "row_name"  # of a first column without a name
_SAMPLE = 200  # lines
_SAMPLE_CHARACTERS = 2**18
_COMMENTS = ("# ", "##", "#!", "%%")
_ABOVE = 20  # lines that may be above the table
_WIDE = 3  # columns: then a line with one field is no row
_SHOWN = 40  # characters of what is left out
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
    skipped : int, default=0
        Lines above `text`.
    """

    text: str
    encoding: str
    separator: str
    names: list[str]
    header: bool
    said: tuple[str, ...]
    skipped: int = 0


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
    if not lines:
        raise InputError(f"{source.name}: there is no row in it.")
    start = _find_start(lines, separator)
    if start:
        said.append(_say_skipped(lines[:start]))
    text, skipped = _cut_off(text, start)
    lines = lines[start:]
    separator = separator or _guess_separator(lines)
    rows = cut(lines, separator)
    if header is None:
        header = _has_header(rows)
    names, named = _name_columns(rows, header)
    said += named
    return Dialect(
        text, encoding, separator, names, header, tuple(said), skipped + bool(rule)
    )


def _find_start(lines: list[str], given: str | None) -> int:
    """Find how many lines are above the table: titles and comments."""
    for start, line in enumerate(lines[:_ABOVE]):
        separator = given or _guess_separator(lines[start:])
        share, n_fields = _measure(cut(lines[start:], separator))
        filled = sum(bool(cell.strip()) for cell in cut([line], separator)[0])
        if line.startswith(_COMMENTS):
            continue
        if n_fields >= _WIDE and share >= _EVEN and filled > 1:
            return start
        if n_fields < _WIDE and share >= _EVEN:
            only = all(one.startswith(_COMMENTS) for one in lines[:start])
            return start if only else 0
        if filled > 1:
            return 0
    return 0


def _say_skipped(lines: list[str]) -> str:
    first = " ".join(lines[0].split())
    shown = repr(first if len(first) <= _SHOWN else f"{first[:_SHOWN]}...")
    what = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return f"{what} above the table left out: {shown}"


def _cut_off(text: str, n_lines: int) -> tuple[str, int]:
    """Take lines off the start of a text, and empty ones; tell how many these were."""
    at, skipped = 0, 0
    for line in io.StringIO(text, newline=""):
        if line.strip():
            if not n_lines:
                break
            n_lines -= 1
        at += len(line)
        skipped += 1
    return text[at:], skipped


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
    wide = find_wide(data)
    if wide:
        return data.decode(wide, "replace"), wide, ["encoding UTF-16"]
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


def _name_columns(rows: list[list[str]], header: bool) -> tuple[list[str], list[str]]:
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
    names, twice = name_apart(names)
    return names, [*said, *twice]


def name_apart(names: list[str]) -> tuple[list[str], list[str]]:
    """Give each column a name of its own, and say it.

    >>> name_apart(["a", "b", "a"])
    (['a', 'b', 'a_2'], ["several columns are called 'a': the later ones now 'a_2'"])
    """
    taken, apart, said = set(names), [], []
    for name, n in Counter(names).items():
        if n > 1:
            new = (f"{name}_{i}" for i in count(2))
            later = [next(one for one in new if one not in taken) for _ in range(n - 1)]
            said.append(
                f"several columns are called {name!r}: the later ones now "
                f"{listed(later, 3)}"
            )
            apart.append((name, iter([name, *later])))
            taken.update(later)
    own = dict(apart)
    return [next(own[name]) if name in own else name for name in names], said


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
            expected = "1 is" if wanted == 1 else f"{wanted} are"
            return (
                f"line {line + dialect.skipped} has {counted(n_fields, 'field')} where "
                f"{expected} expected; mend "
                "the line (a separator in a text needs quotes), or name another "
                "separator with --sep."
            )
    return None


def find_open_quote(dialect: Dialect) -> str | None:
    """Say where a quote is opened that is not closed, in words."""
    if dialect.separator == " " or not dialect.text.count('"') % 2:
        return None
    lines = io.StringIO(dialect.text, newline="")
    reader = csv.reader(lines, delimiter=dialect.separator, strict=True)
    line = 0
    try:
        for _ in reader:
            line = reader.line_num
    except csv.Error as error:
        if "unexpected end" in str(error):
            return (
                f"a quote is opened in line {line + 1 + dialect.skipped}, and not "
                "closed to the end of the file; close it, or take it away."
            )
    return None
