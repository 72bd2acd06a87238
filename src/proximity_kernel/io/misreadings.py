"""Checks for what is easily misread: texts or a table in, what was found out.

The checks of texts (units, dates without separators, booleans, codes) change how a
column is read. Those of tables (a repeated header line, a total) drop a row or only add
a sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._shared.wording import join_names
from .schema import ParsedFile

BOOLEAN = "boolean"
"""Format of categories that are spellings of true and false."""
ANY_CASE = "any case"
"""Format of categories in which case and the number of blanks do not matter."""
_SPELLINGS = {
    **dict.fromkeys(("true", "yes", "t", "y", "1"), "true"),
    **dict.fromkeys(("false", "no", "f", "n", "0"), "false"),
}
_BOOLEAN_WORDS = {"true", "false", "yes", "no"}
_CODE_NAME = re.compile(
    r"(?i:(^|[_\s.\-])(ids?|code|zip|zipcode|postcode|plz)$)|[a-z](I[Dd]|Code|Zip)$"
)
_COMPACT_DATE = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")
# Units that can be converted to each other, each with its size.
_UNITS = (
    {"µg": "1e-6", "mg": "0.001", "g": "1", "kg": "1000", "t": "1e6"},
    {"mm": "0.001", "cm": "0.01", "m": "1", "km": "1000"},
    {"ml": "0.001", "cl": "0.01", "dl": "0.1", "l": "1"},
    {"s": "1", "min": "60", "h": "3600"},
    {"oz": "1", "lb": "16"},
    {"in": "1", "ft": "12"},
)
_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([A-Za-zµ]+)")
_DIGITS = Context(prec=15)  # of a converted number
_TOTAL = re.compile(
    r"(?i:((grand|sub)[ -]?)?totals?|sum|summe|gesamt(summe)?|mean|average|avg\.?"
    r"|mittel(wert)?|durchschnitt):?"
)
_MIN_TOTALED = 2  # rows above a total


# ------------------------------------------------------------------------------ texts


def find_mixed_units(texts: Any, n_cells: NDArray[np.int64]) -> tuple[str, ...]:
    """Find the units of numbers that have several, the most frequent unit first.

    Parameters
    ----------
    texts : iterable of str
        Distinct texts. Those without a digit are ignored.
    n_cells : ndarray of shape (n_texts,)
        Number of cells that hold each text.

    Returns
    -------
    tuple of str
        Empty if a number has no known unit, or if the units cannot be converted to each
        other.

    Examples
    --------
    >>> find_mixed_units(["3750 g", "3.8 kg", "4 kg"], np.array([1, 1, 1]))
    ('kg', 'g')
    """
    cells: Counter[str] = Counter()
    for text, n in zip(texts, n_cells, strict=True):
        if re.search(r"\d", text):
            found = _QUANTITY.fullmatch(text)
            if found is None:
                return ()
            cells[found[2]] += int(n)
    alike = any(all(unit.lower() in sizes for unit in cells) for sizes in _UNITS)
    if not alike or len(cells) < 2:
        return ()
    return tuple(unit for unit, _ in cells.most_common())


def convert_units(text: str, units: tuple[str, ...]) -> str:
    """Convert a quantity to the first unit, and remove the unit.

    >>> convert_units("3750 g", ("kg", "g")), convert_units("none", ("kg", "g"))
    ('3.75', 'none')
    """
    found = _QUANTITY.fullmatch(text)
    if found is None or found[2] not in units:
        return text
    wanted, held = units[0].lower(), found[2].lower()
    if held == wanted:
        return found[1]
    sizes = next(sizes for sizes in _UNITS if wanted in sizes)
    factor = _DIGITS.divide(Decimal(sizes[held]), Decimal(sizes[wanted]))
    return format(_DIGITS.multiply(Decimal(found[1]), factor).normalize(), "f")


def are_compact_dates(texts: Any) -> bool:
    """Whether all texts are dates without separators, such as 20240131.

    >>> are_compact_dates(["20240131", "20231224"]), are_compact_dates(["20249931"])
    (True, False)
    """
    return len(texts) > 1 and all(map(_COMPACT_DATE.fullmatch, texts))


def are_booleans(texts: Any) -> bool:
    """Whether texts are more than two spellings of true and false.

    >>> are_booleans(["TRUE", "Yes", "0"]), are_booleans(["yes", "no"])
    (True, False)
    """
    folded = {text.casefold() for text in texts}
    spelled = folded <= _SPELLINGS.keys() and folded & _BOOLEAN_WORDS
    return bool(spelled) and len(texts) > 2


def merge_spellings(form: str, texts: Any) -> Any:
    """Replace texts by the category that they spell, in a format of categories.

    >>> list(merge_spellings(BOOLEAN, pd.Index(["TRUE", "1", "no"])))
    ['true', 'true', 'false']
    """
    folded = pd.Index([" ".join(text.casefold().split()) for text in texts])
    if form == BOOLEAN:
        return pd.Index([_SPELLINGS.get(text, text) for text in folded])
    return folded


def is_code_name(name: str) -> bool:
    """Whether a column is named like one of codes, which cannot be measured.

    >>> is_code_name("shop_id"), is_code_name("zip"), is_code_name("humid")
    (True, True, False)
    """
    return _CODE_NAME.search(name) is not None


# ----------------------------------------------------------------------------- tables


def drop_repeated_headers(parsed: ParsedFile) -> ParsedFile:
    """Drop the rows that repeat the column names; an assumption says which."""
    repeats = np.ones(len(parsed.frame), dtype=bool)
    for name in parsed.frame if parsed.layout.header else ():
        repeats &= _find_text(parsed.frame[name], name)
        if not repeats.any():
            break
    if not parsed.layout.header or not repeats.any():
        return parsed
    rows = [str(row + 1) for row in np.flatnonzero(repeats)]
    what = "a repeated header line" if len(rows) == 1 else "repeated header lines"
    said = f"{what} dropped: row{'s' * (len(rows) > 1)} {join_names(rows, 3)}"
    return replace(
        parsed,
        source=parsed.source[~repeats].reset_index(drop=True),
        frame=parsed.frame[~repeats].reset_index(drop=True),
        assumptions=(*parsed.assumptions, said),
    )


def _find_text(column: Any, text: str) -> NDArray[np.bool_]:
    """Find the cells that hold a text, with or without blanks around it."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return np.zeros(len(column), dtype=bool)
    held = [str(category).strip() == text for category in column.cat.categories]
    return np.asarray(np.array([*held, False])[column.cat.codes])


def leave_total_out(parsed: ParsedFile) -> ParsedFile:
    """Leave out a last row that is named as the total or mean of the others.

    It stays in `source`, so that it is written back. A row that is named so by another
    column than the first is only reported.

    >>> from proximity_kernel.io import FileLayout
    >>> frame = pd.DataFrame({"shop": ["A", "B", "TOTAL"], "sold": [1, 2, 3]})
    >>> parsed = ParsedFile("t.csv", frame, frame, FileLayout("text"), ())
    >>> leave_total_out(parsed).assumptions
    ("row 3, the last, is left out: a total or mean ('TOTAL' in 'shop')",)
    """
    source, n_rows = parsed.source, len(parsed.source)
    found = None
    for name in source if n_rows > _MIN_TOTALED else ():
        cell = source[name].iloc[-1]
        is_total = isinstance(cell, str) and _TOTAL.fullmatch(cell.strip())
        if is_total and (source[name] == cell).sum() == 1:
            found = f"({cell.strip()!r} in {name!r})"
            break
    if found is None:
        return parsed
    frame, last = parsed.frame, f"row {n_rows:,}, the last,"
    said = f"{last} looks like a total {found}: if so, remove it"
    if name == source.columns[0] and parsed.layout.type in ("text", "excel"):
        frame, said = frame[:-1], f"{last} is left out: a total or mean {found}"
    return replace(parsed, frame=frame, assumptions=(*parsed.assumptions, said))
