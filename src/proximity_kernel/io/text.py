"""Parse delimited text (CSV, TSV, ...) into columns of strings.

Encoding, separator, header and column names are inferred. The separator is the one that
splits the first lines into the same number of fields. Tab, semicolon and bar are tried
before the comma, because decimal commas may split lines evenly too.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice, takewhile
from textwrap import shorten
from typing import Any

from .._shared.extras import require
from .._shared.wording import counted
from .files import UTF16_MARKS, InputFile
from .header import is_value, read_header
from .schema import SEPARATORS, FileLayout, InputError, ParsedFile, ReadOptions

_TRIED = "\t;|,"
_SAMPLE_LINES = 200
_SAMPLE_CHARACTERS = 2**18
_MIN_SAMPLE = 5  # lines, however long they are
_BLOCK = 2**22  # bytes that are parsed at a time, if no row is longer
# Suggested if a text is not UTF-8; the last encoding can decode any bytes.
_ENCODINGS = ("utf-8", "cp1252", "cp932", "gb18030", "big5", "euc_jp", "euc_kr",
              "cp1251", "latin-1")  # fmt: skip
_COMMENTS = ("# ", "##", "#!", "%%")
_MAX_SKIPPED = 20  # lines above the table
_MIN_COLUMNS = 3  # in a table with fewer, a line with one field is no title
_MAX_SHOWN = 40  # characters of a skipped line in a message
_MIN_WORDS = 3  # mean words per cell of running text
_MAX_PROSE = 3  # lines of running text that commas may split evenly
_MIN_EVEN = 0.9  # share of lines with the same number of fields
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SEP_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  # written for Excel


def parse_text(file: InputFile, options: ReadOptions) -> ParsedFile:
    """Parse a delimited text file into columns of strings."""
    text, names, layout, said = _find_layout(file, options)
    blanks = layout.separator == " "
    # pandas would pad short lines, and pyarrow would close the quote at the end.
    suspect = blanks or text.count('"') % 2
    if suspect and (problem := _find_bad_line(text, len(names), layout)):
        raise InputError(f"{file.name}: {problem}")
    try:
        frame = (_parse_blanks if blanks else _parse_csv)(text, names, layout)
    except ValueError as error:  # the errors of pandas and pyarrow are ValueErrors too
        reason = str(error).partition("\n")[0]
        problem = _find_bad_line(text, len(names), layout) or (
            f"the file cannot be read as {layout.encoding} text in columns "
            f"({reason}); see `sep` and `encoding`."
        )
        raise InputError(f"{file.name}: {problem}") from None
    if len(names) == 1 and options.sep is None:
        layout = replace(layout, separator=None)
    return ParsedFile(file.name, frame, frame, layout, tuple(said))


def _parse_csv(text: str, names: list[str], layout: FileLayout) -> Any:
    """Parse text with a separator of one character, by pyarrow."""
    csv = require("pyarrow.csv", extra="cli")
    arrow = require("pyarrow", extra="cli")
    # pyarrow requires a newline after the names.
    data = f"{text.rstrip(chr(10) + chr(13))}\n".encode()
    reading = csv.ReadOptions(
        column_names=names, skip_rows_after_names=layout.header_rows, block_size=_BLOCK
    )
    parsing = csv.ParseOptions(
        delimiter=layout.separator,
        newlines_in_values='"' in text,
        ignore_empty_lines=len(names) > 1,
    )
    encoded = arrow.dictionary(arrow.int32(), arrow.string())
    converting = csv.ConvertOptions(column_types=dict.fromkeys(names, encoded))
    try:
        table = csv.read_csv(io.BytesIO(data), reading, parsing, converting)
    except arrow.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise
        reading.block_size = min(len(data), 2**31 - 1)  # a row longer than a block
        table = csv.read_csv(io.BytesIO(data), reading, parsing, converting)
    frame = table.unify_dictionaries().to_pandas()
    del table
    arrow.default_memory_pool().release_unused()
    return frame


def _parse_blanks(text: str, names: list[str], layout: FileLayout) -> Any:
    """Parse text whose fields are separated by whitespace; quotes have no meaning."""
    rows = [line.split() for line in _list_lines(text) if line.strip()]
    pandas = require("pandas", extra="cli")
    frame = pandas.DataFrame(rows[layout.header_rows :], columns=names)
    return frame.astype("category")


def _find_layout(
    file: InputFile, options: ReadOptions
) -> tuple[str, list[str], FileLayout, list[str]]:
    """Infer the encoding, separator and header of a text, unless the options give them.

    Titles and comments above the table are skipped. Returns the text from the first
    line of the table on, the column names, the layout, whose separator is not None, and
    what was assumed.
    """
    separator = SEPARATORS.get(options.sep or "", options.sep)
    text, encoding, assumptions = _decode(file, options.encoding)
    sep_line = _SEP_LINE.match(text)
    if sep_line:
        text = text[sep_line.end() :]
        separator = separator or sep_line[1]
    skipped = options.skip_rows or 0
    text = text[sum(map(len, islice(_list_lines(text), skipped))) :]
    lines = _sample_lines(text)
    if not lines:
        raise InputError(f"{file.name}: the file has no rows.")
    start = 0
    if options.skip_rows is None:
        start = _find_start(lines, separator, options.header_rows)
    if start:
        shown = shorten(lines[0], _MAX_SHOWN, placeholder="...")
        n_lines = counted(start, "line")
        assumptions.append(f"{n_lines} above the table skipped: {shown!r}")
    text, n_titles = _skip_lines(text, start)
    lines = lines[start:]
    separator = separator or _detect_separator(lines)
    rows = _split_lines(lines, separator)
    if options.sep is None and _is_prose(rows):
        raise InputError(
            f"{file.name}: this looks like running text, not a table; a table has a "
            "line of cells for each row (`sep` names what separates them)."
        )
    n_header, names, said = read_header(file.name, rows, options)
    skipped += n_titles + bool(sep_line)
    layout = FileLayout("text", encoding, separator, n_header, skipped)
    return text, names, layout, [*assumptions, *said]


def _find_start(lines: list[str], given: str | None, n_header: int | None) -> int:
    """Count the lines above the table that are titles or comments.

    A line with a single non-empty field is a title, unless that field is a number or
    date. With ``n_header=0``, a line with as many fields as other rows is a row.
    """
    for start, line in enumerate(lines[:_MAX_SKIPPED]):
        separator = given or _detect_separator(lines[start:])
        rows = _split_lines(lines[start:], separator)
        share, n_fields = _measure_evenness(rows)
        if line.startswith(_COMMENTS) or n_fields < _MIN_COLUMNS or share < _MIN_EVEN:
            continue
        is_row = n_header == 0 and len(rows[0]) == n_fields
        if _is_title(rows[0]) and not is_row:
            continue
        above = [one for one in lines[:start] if not one.startswith(_COMMENTS)]
        return start if all(map(_is_title, _split_lines(above, separator))) else 0
    n_comments = sum(1 for _ in takewhile(lambda one: one.startswith(_COMMENTS), lines))
    rest = lines[n_comments:]
    share, _ = _measure_evenness(_split_lines(rest, given or _detect_separator(rest)))
    return n_comments if share >= _MIN_EVEN else 0


def _is_title(row: list[str]) -> bool:
    """Whether a row has one non-empty field, and that is not a number or date."""
    fields = [cell.strip() for cell in row if cell.strip()]
    return len(fields) == 1 and not is_value(fields[0])


def _skip_lines(text: str, n_lines: int) -> tuple[str, int]:
    """Skip `n_lines` lines and the empty lines around them; also count them all."""
    at, skipped = 0, 0
    for line in _list_lines(text):
        if line.strip():
            if not n_lines:
                break
            n_lines -= 1
        at += len(line)
        skipped += 1
    return text[at:], skipped


def _decode(file: InputFile, encoding: str | None) -> tuple[str, str, list[str]]:
    """Decode a text file; return the text, its encoding, and what was assumed.

    By default, it is UTF-16 if the file has its byte order mark, else UTF-8, else
    Windows Latin. Raises InputError if the bytes cannot be decoded.
    """
    data, assumptions = file.data, list[str]()
    if file.decoded:
        encoding = "utf-8"
    elif encoding is None and data.startswith(UTF16_MARKS):
        encoding, assumptions = "utf-16", ["encoding UTF-16"]
    wanted = encoding or "utf-8"
    try:
        return data.decode(wanted).removeprefix("\ufeff"), wanted, assumptions
    except UnicodeError as error:
        at = getattr(error, "start", 0)
    line = data.count(b"\n", 0, at) + 1
    possible = [one for one in _ENCODINGS if _can_decode(data, one)]
    if encoding is None and "cp1252" in possible:
        assumed = f"line {line} is not UTF-8, so read as Windows Latin (`encoding`)"
        return data.decode("cp1252"), "cp1252", [assumed]
    # Undecodable bytes are not replaced: different strings would become equal.
    neither = "" if encoding else ", nor Windows Latin"
    possible = ["utf-8"] if "utf-8" in possible else possible
    raise InputError(
        f"{file.name}: line {line} is not {wanted} ({data[at : at + 1]!r}){neither}; "
        f"name its encoding (`encoding`), perhaps {' or '.join(possible)}."
    )


def _can_decode(data: bytes, encoding: str) -> bool:
    """Whether an encoding can decode all bytes."""
    try:
        return bool(data.decode(encoding))
    except UnicodeError:
        return False


def _sample_lines(text: str) -> list[str]:
    """Return the first non-empty lines with their line ends, fewer if they are long.

    Line ends are kept because a quoted column name may contain a line end.
    """
    lines: list[str] = []
    n_characters = 0
    for line in islice(_list_lines(text), _SAMPLE_LINES):
        if n_characters > _SAMPLE_CHARACTERS and len(lines) >= _MIN_SAMPLE:
            break
        n_characters += len(line)
        if line.strip():
            lines.append(line)
    return lines


def _list_lines(text: str) -> Iterator[str]:
    """Iterate over the lines of a text, with their line ends."""
    return (found[0] for found in _LINE.finditer(text))


def _split_lines(lines: list[str], separator: str) -> list[list[str]]:
    """Split lines into fields; ``" "`` splits at any whitespace."""
    if separator == " ":
        return [line.split() for line in lines]
    with _allow_long_cells():
        return list(csv.reader(lines, delimiter=separator))


@contextmanager
def _allow_long_cells() -> Iterator[None]:
    """Let the csv module read cells of any length, such as JSON or polygons."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _detect_separator(lines: list[str]) -> str:
    """Find the separator that splits most lines into the same number of fields."""
    best, evenness = ",", 0.0
    for separator in _TRIED:
        share, n_fields = _measure_evenness(_split_lines(lines, separator))
        if n_fields > 1 and share > evenness + 1e-9:
            best, evenness = separator, share
        if evenness >= _MIN_EVEN:
            return best
    words = _split_lines(lines, " ")
    share, n_fields = _measure_evenness(words)
    blanks = n_fields > 1 and share >= _MIN_EVEN and len(words[0]) == n_fields
    return " " if blanks and evenness == 0 and len(lines) > 2 else best


def _is_prose(rows: list[list[str]]) -> bool:
    """Whether rows are running text: many words per cell, and no numbers or dates."""
    cells = [cell.strip() for row in rows for cell in row if cell.strip()]
    n_words = sum(len(cell.split()) for cell in cells) / max(len(cells), 1)
    if max(map(len, rows)) > 1 and len(rows) > _MAX_PROSE:
        return False
    ends = all(row[-1].rstrip().endswith((".", "!", "?")) for row in rows)
    many = n_words >= (_MIN_WORDS - 1 if ends else _MIN_WORDS)
    return many and not any(map(is_value, cells))


def _measure_evenness(rows: list[list[str]]) -> tuple[float, int]:
    """Return the share of rows with the most common number of fields, and that number.

    The first row must have this number of fields, or one less if the column of row
    names has no name. Otherwise the separator only occurs inside cells, and the result
    is (0.0, 1).
    """
    lengths = Counter(len(row) for row in rows)
    n_fields, n_rows = lengths.most_common(1)[0] if lengths else (1, 0)
    if rows and len(rows[0]) not in (n_fields, n_fields - 1):
        return 0.0, 1
    return n_rows / max(len(rows), 1), n_fields


def _find_bad_line(text: str, n_columns: int, layout: FileLayout) -> str | None:
    """Describe the first line with an open quote or a wrong number of fields."""
    lines, skipped, line = _list_lines(text), layout.skipped_lines, 0
    if layout.separator == " ":
        # Quotes have no meaning there.
        lines = (" ".join(one.replace('"', "'").split()) for one in lines)
    reader = csv.reader(lines, delimiter=layout.separator or ",", strict=True)
    with _allow_long_cells(), suppress(csv.Error):
        for row in reader:
            line = reader.line_num
            if len(row) not in (0, n_columns) and line > (layout.header_rows or 0):
                return (
                    f"line {line + skipped} has {counted(len(row), 'field')} where "
                    f"{counted(n_columns, 'is', 'are')} expected; correct the line (a "
                    "separator in a text needs quotes), or choose another separator "
                    "(`sep`)."
                )
        return None
    return (
        f"the quote opened in line {line + 1 + skipped} is never closed; close or "
        "remove it."
    )
