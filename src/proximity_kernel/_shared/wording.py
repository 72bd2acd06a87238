"""Format parts of messages: names, counts, numbers, suggestions; issue warnings."""

from __future__ import annotations

import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import zip_longest
from textwrap import wrap
from typing import Any

# Control codes of terminals, unpaired surrogates, line separators other than newline,
# and marks that change the direction of writing.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LEAST_ROOM = 20  # minimum width of a folded cell, in characters
_INSIDE = (__name__.partition(".")[0], "sklearn", "joblib")


def listed(names: Sequence[Any], most: int = 5) -> str:
    """List quoted names; of more than `most`, the first names and how many follow.

    >>> listed(["a", "b"]), listed(range(8), most=2)
    ("'a' and 'b'", '0, 1 and 6 more')
    """
    return join_names([repr(name) for name in names], most)


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Join names by commas and "and"; list at most `most`, and how many follow."""
    shown = names[:most]
    more = len(names) - len(shown)
    if more:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def join_sentences(parts: Sequence[str], most: int = 3) -> str:
    """Join clauses by semicolons; list at most `most`, and how many follow.

    >>> join_sentences(["'a': 1", "'b': 2"]), join_sentences("wxyz", most=2)
    ("'a': 1; 'b': 2", 'w; x; and 2 more')
    """
    more = len(parts) - most
    return "; ".join([*parts[:most], *([f"and {more:,} more"] if more > 0 else [])])


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Format a count with its noun, or noun and verb, in the singular or plural.

    >>> counted(1, "row"), counted(2000, "row"), counted(2, "row has", "rows have")
    ('1 row', '2,000 rows', '2 rows have')
    """
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


@contextmanager
def note_about(table: str) -> Iterator[None]:
    """Add a note that names the table to a TypeError or ValueError of the block."""
    try:
        yield
    except (TypeError, ValueError) as error:
        error.add_note(f"This is about {table}.")
        raise


def number_repeats(names: Sequence[str], numbers: Iterable[int]) -> list[str]:
    """Append the row number to each name that several rows have.

    >>> number_repeats(["a", "b", "a"], [1, 2, 3])
    ['a (#1)', 'b', 'a (#3)']
    """
    counts = Counter(names)
    return [
        f"{name} (#{number})" if counts[name] > 1 else name
        for name, number in zip(names, numbers, strict=True)
    ]


def show_controls(text: str) -> str:
    r"""Replace control characters by escapes, except newlines and tabs.

    All text for a terminal passes through here, so that a table or a file name cannot
    control the terminal.

    >>> print(show_controls("red: \x1b[31m, next line: \x85"))
    red: \x1b[31m, next line: \x85
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def capitalize(sentence: str) -> str:
    """Begin a sentence with a capital letter; the rest is not changed.

    >>> capitalize("under 1 % of NaN"), capitalize("")
    ('Under 1 % of NaN', '')
    """
    return sentence[:1].upper() + sentence[1:]


def write_share(part: float) -> str:
    """Format a share in percent; only 0 and 1 become 0 % and 100 %.

    >>> [write_share(part) for part in (0, 0.0004, 0.123, 0.9999, 1)]
    ['0 %', 'under 1 %', '12 %', 'over 99 %', '100 %']
    """
    whole = round(100 * part)
    if whole == 0 and part > 0:
        return "under 1 %"
    return "over 99 %" if whole == 100 and part < 1 else f"{whole} %"


def write_plain(number: float) -> str:
    """Format a number with at most 15 digits; an exponent only if 15 are too few.

    >>> write_plain(9999999.0), write_plain(0.1 + 0.2), write_plain(1e20)
    ('9999999', '0.3', '1e+20')
    """
    return f"{number:.15g}"


def find_similar(name: str, known: Iterable[Any]) -> str | None:
    """Find the known name most similar to a misspelled name; None if none is similar.

    >>> find_similar("AGE ", ["age", "sex"])
    'age'
    """
    folded = {str(one).casefold().strip(): str(one) for one in known}
    found = get_close_matches(name.casefold().strip(), list(folded), n=1)
    return folded[found[0]] if found else None


def suggest(name: str, known: Iterable[Any]) -> str:
    """Write "did you mean ...?" to append to a message; "" if no name is similar.

    >>> suggest("agee", ["age", "sex"]), suggest("x", ["age"])
    (", did you mean 'age'?", '')
    """
    found = find_similar(name, known)
    return f", did you mean {found!r}?" if found is not None else ""


def fold_rows(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Lay out rows of texts in lines of `width`; wrap cells of the last two columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = width - sum(widths[:-2]) - 2 * (len(widths) - 1)
    half = max(room // 2, _LEAST_ROOM)
    widths[-2] = min(widths[-2], max(half, room - widths[-1]))
    widths[-1] = min(widths[-1], max(half, room - widths[-2]))
    lines = []
    for row in rows:
        parts = [[text] for text in row[:-2]]
        for text, most in zip(row[-2:], widths[-2:], strict=True):
            parts.append(wrap(text.replace(" %", "\xa0%"), most))  # "94 %" stays whole
        lines += [
            "  ".join(map(str.ljust, texts, widths)).rstrip().replace("\xa0%", " %")
            for texts in zip_longest(*parts, fillvalue="")
        ]
    return lines


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points to the user's line, from any depth of calls."""
    depth, frame = 1, sys._getframe()  # noqa: SLF001  (Python's own)
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _INSIDE:
            break
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, category, stacklevel=depth)
