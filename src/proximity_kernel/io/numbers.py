"""Numbers in strings: formats, units, and the steps that read columns as numbers.

The decimal and thousands separators are in the table `NUMBER_FORMATS`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .._shared.wording import counted, listed
from .column_step import MAX_OTHERS, Column, DoesNotApply, TextColumn, only_if
from .schema import Doubt

_PLAIN = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_BLANKS = "\u00a0\u202f '\u2019"  # thousands separators of many countries
# Name -> pattern, thousands separators, decimal separator.
NUMBER_FORMATS = {
    "1.5": (_PLAIN, "", "."),
    "1,5": (
        rf"[+-]?(?:\d+|[1-9]\d{{0,2}}(?:[.{_BLANKS}]\d{{3}})+)?(?:,\d+)?(?:[eE][+-]?\d+)?",
        f".{_BLANKS}",
        ",",
    ),
    "1,234.5": (
        rf"[+-]?[1-9]\d{{0,2}}(?:[,{_BLANKS}]\d{{3}})+(?:\.\d+)?|{_PLAIN}",
        f",{_BLANKS}",
        ".",
    ),
}
_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY"
# Possessive quantifiers: no backtracking over a long cell of whitespace.
_WITH_UNIT = (
    rf"[+-]?\s*+({_CURRENCY})?\s*+[+-]?[.,]?\d[\d.,{_BLANKS}]*+\s*+"
    rf"({_CURRENCY}|[%‰]|[A-Za-zµμ°Ω][A-Za-zµμ°Ω²³/]{{0,7}})?"
)
# A negative amount; (1) may be a label.
_AMOUNT = re.compile(r"^\((\d[\d.,]*[.,]\d+)\)$")
# Units that can be converted to each other, each with its factor.
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
_SAMPLE = 50  # strings that are matched first, to reject a format quickly
_MIN_NUMERIC = 0.5  # share of numbers in a column that `numeric` names
_MIN_WITH_UNIT = 0.1  # share of cells that have the unit of the column
_MIN_ONE_UNIT = 0.95  # the same, in a column where other cells have another unit


# ------------------------------------------------------------------------------ steps


def read_stored_numbers(column: Column) -> Column:
    """Read a column as numbers if the file stores it as numbers or booleans."""
    only_if(pd.api.types.is_numeric_dtype(column.cells.dtype))
    return column.read_as("numbers")


def read_numbers(column: Column) -> Column:
    """Read a column as numbers if nearly all strings are numbers in one format.

    If some have leading zeros, as in the code 007, it is read as categories.
    """
    return _read_with_unit(column, column.get_text(), "")


def read_numbers_with_unit(column: Column) -> Column:
    """Read a column as numbers with one unit or currency, which some cells may lack."""
    text = column.get_text()
    unit = find_unit(text.values)
    has_unit = np.array([unit in one for one in text.values], bool)
    only_if(unit and text.is_mostly(has_unit, _MIN_WITH_UNIT))
    return _read_with_unit(column, text, unit)


def read_mixed_units(column: Column) -> Column:
    """Read a column as numbers with several units; convert to the most common unit."""
    text = column.get_text()
    units = find_mixed_units(text.values, text.n_cells)
    only_if(units)
    unit = ", ".join(units)
    _find_format(column, remove_unit(text, unit))
    converted = f"{' and '.join(units[1:])} to {units[0]}"
    column = column.listed_as("read as numbers, converted to one unit", converted)
    return column.read_as("numbers", "1.5", unit)


def read_numbers_mostly_with_unit(column: Column) -> Column:
    """Read a column as numbers if at least 95 % of its cells have the same unit.

    Numbers with another unit become missing. If the option `numeric` names the column,
    half of the cells are enough.
    """
    text, named = column.get_text(), "numeric" in column.named_in
    units = [_split_unit(one) for one in text.values]
    common = Counter(filter(None, units)).most_common(1)
    only_if(common)
    ((unit, _),) = common
    only_if(len(unit) > 1 or not unit.isalpha())  # codes, such as 2a and 3b
    has_unit = np.array([one == unit for one in units])
    least = _MIN_NUMERIC if named else _MIN_ONE_UNIT
    is_number = np.array([one is not None for one in units])
    only_if(text.count(has_unit) >= least * text.count(is_number))
    return _read_with_unit(column, text, unit)


def _read_with_unit(column: Column, text: TextColumn, unit: str) -> Column:
    """Read a column as numbers with a unit or "", or as categories if led by zeros."""
    form, has_zeros = _find_format(column, remove_unit(text, unit))
    if has_zeros:
        zeros = ": numbers with leading zeros, read as categories"
        return column.with_remark(zeros).read_as("categories")
    if unit:
        n_bare = text.count(np.array([_split_unit(one) == "" for one in text.values]))
        lack = f", which {counted(n_bare, 'cell')} lack" if n_bare else ""
        column = column.listed_as("read as numbers, without the unit", f"{unit}{lack}")
    return column.read_as("numbers", form, unit)


def has_numbers(column: Column) -> bool:
    """Whether a column would be read as numbers if the option `numeric` named it."""
    named = replace(column, named_in=column.named_in | {"numeric"})
    for read in (read_numbers, read_numbers_mostly_with_unit):
        with suppress(DoesNotApply):
            read(named)
            return True
    return False


def count_numbers(column: Column) -> int:
    """Count the cells that are numbers, in the possible format that matches most."""
    text = column.get_text()
    masks = (match_numbers(name, text.values) for name in _list_formats(column))
    return max(map(text.count, masks))


def _list_formats(column: Column) -> tuple[str, str]:
    """List the number formats to try, given the decimal separator of the table."""
    return ("1,5", "1.5") if column.options.decimal == "," else ("1.5", "1,234.5")


def _find_format(column: Column, text: TextColumn) -> tuple[str, bool]:
    """Find the number format of most strings; also whether any has leading zeros.

    Raises `DoesNotApply` unless nearly all cells have the format. If the option
    `numeric` names the column, half of the cells are enough, and leading zeros are
    ignored.
    """
    named = "numeric" in column.named_in
    first, second = _list_formats(column)
    masks = {first: match_numbers(first, text.values)}
    if match_numbers(second, text.values[~masks[first]]).any():
        masks[second] = match_numbers(second, text.values)
    name = max(masks, key=lambda one: text.count(masks[one]))
    if named:
        only_if(text.is_mostly(masks[name], _MIN_NUMERIC))
    else:
        only_if(text.is_mostly(masks[name]) and (~masks[name]).sum() <= MAX_OTHERS)
    has_zeros = any(re.match(r"0\d+$", one) for one in text.values)
    return name, has_zeros and not named


def detect_decimal(texts: Iterable[TextColumn], separator: str | None) -> str:
    """Infer the decimal separator of a table from its columns of strings.

    It is the comma if, in some column, more cells are numbers with a decimal comma than
    with a decimal point. With semicolons as separators it is the comma, too, if all
    points are thousands separators.
    """
    # With semicolons as separators, commas are rarely thousands separators.
    points = ("1.5",) if separator == ";" else ("1.5", "1,234.5")
    n_dotted = n_grouped = 0
    for text in texts:
        if not np.isnan(parse_numbers("1.5", text.values)).any():
            n_dotted += any("." in one for one in text.values)
            n_grouped += _have_thousands(text.values)
            continue
        bare = remove_unit(text, find_unit(text.values))
        commas = match_numbers("1,5", bare.values)
        n_points = max(bare.count(match_numbers(name, bare.values)) for name in points)
        if bare.is_mostly(commas) and bare.count(commas) > n_points:
            return ","
    return "," if separator == ";" and 0 < n_grouped == n_dotted else "."


def report_thousands(
    texts: Mapping[str, TextColumn], separator: str | None
) -> list[Doubt]:
    """Report columns whose decimal points may be thousands separators.

    >>> text = TextColumn(np.array(["212", "847", "1.022", "8.146"]), np.arange(4), ())
    >>> report_thousands({"people": text}, ",")[0].partition(":")[0]
    "three digits after each point of 'people'"
    """
    bare = separator != ";"  # there, columns without a whole number are doubted too
    found = [n for n, text in texts.items() if _have_thousands(text.values, bare=bare)]
    if not found:
        return []
    shown = next(one for one in texts[found[0]].values if "." in one)
    remedy = f"if {shown!r} is {shown.replace('.', '')}, `decimal=','`"
    where = f"three digits after each point of {listed(found, 3)}"
    return [Doubt(f"{where}: read as decimals ({remedy})")]


def _have_thousands(texts: Any, *, bare: bool = True) -> bool:
    """Whether all points of numbers seem to be thousands separators.

    There are three digits after each, and other numbers are whole and below 1000. With
    `bare`, there must be some of these.

    >>> _have_thousands(["212", "847", "1.022", "8.146"]), _have_thousands(["1.022"])
    (True, False)
    """
    grouped = [one for one in texts if "." in one]
    if not all(re.fullmatch(r"[+-]?[1-9]\d{0,2}(\.\d{3})+", one) for one in grouped):
        return False
    others = [one for one in texts if "." not in one and one != "0"]
    below = all(re.fullmatch(r"[+-]?\d{1,3}", one) for one in others)
    return below and len(grouped) > 1 and (len(others) > 1 or not bare)


# ------------------------------------------------------------------------------ texts


def match_numbers(name: str, texts: Any) -> NDArray[np.bool_]:
    """Return a mask of the strings that are numbers in the given format.

    If none of the first 50 strings is, the mask is False everywhere.

    >>> match_numbers("1,5", ["1,5", "2", "x"])
    array([ True,  True, False])
    """
    # On few strings, Python is many times as fast as pandas.
    if not any(map(re.compile(NUMBER_FORMATS[name][0]).fullmatch, texts[:_SAMPLE])):
        return np.zeros(len(texts), bool)
    return ~np.isnan(parse_numbers(name, texts))


def parse_numbers(name: str, texts: Any) -> NDArray[np.float64]:
    """Parse strings that are numbers in the given format; other strings become NaN.

    >>> parse_numbers("1,5", ["1.234,5", "x"])
    array([1234.5,    nan])
    """
    texts = np.array([*texts], object)
    values = np.array([np.nan])
    if name == "1.5":
        values = pd.to_numeric(texts, errors="coerce").astype(float)
    if not np.isfinite(values).all():
        plain = np.array(to_plain_numbers(name, texts), object)
        values = pd.to_numeric(plain, errors="coerce").astype(float)
    return np.where(np.isfinite(values), values, np.nan)


def to_plain_numbers(name: str, texts: Iterable[str]) -> list[str]:
    """Convert numbers in the given format to strings that `float` can parse.

    Strings in another format become empty, or are kept if the given format is "1.5".
    Amounts in parentheses are negative, as accountants write them.

    >>> to_plain_numbers("1,5", ["1.234,5", "\u22127", "(3,50)", "x"])
    ['1234.5', '-7', '-3.50', '']
    """
    pattern, thousands, decimal = NUMBER_FORMATS[name]
    texts = [_AMOUNT.sub(r"-\1", text.replace("\u2212", "-")) for text in texts]
    if name == "1.5":
        return texts
    fits = re.compile(pattern).fullmatch
    marks = str.maketrans(dict.fromkeys(thousands, "") | {decimal: "."})
    return [text.translate(marks) if fits(text) else "" for text in texts]


# ------------------------------------------------------------------------------ units


def find_unit(texts: Any) -> str:
    """Find the unit or currency that numbers share; empty if they have none or several.

    Strings without a digit are ignored. Some numbers may lack the unit, unless it is a
    single letter, as in 2a.

    >>> find_unit(["5 kg", "7.5 kg", "none"]), find_unit(["$1,200"])
    ('kg', '$')
    >>> find_unit(["5 kg", "9 lb"]), find_unit(["5 kg", "9"])
    ('', 'kg')
    """
    unit = ""
    for part in (texts[:_SAMPLE], texts):
        numbers = [text for text in part if re.search(r"\d", text)]
        found = [re.fullmatch(_WITH_UNIT, text) for text in numbers]
        units = {one.groups("") if one else None for one in found}
        own = units - {("", "")}
        before, after = next(iter(own), None) or ("", "")
        unit = before or after
        if len(own) != 1 or bool(before) == bool(after):
            return ""
        if len(own) < len(units) and len(unit) == 1 and unit.isalpha():
            return ""
    return unit


def _split_unit(text: str) -> str | None:
    """Return the unit or currency of a number, "" without one; None for other strings.

    >>> _split_unit("5 kg"), _split_unit("$5"), _split_unit("5"), _split_unit("$5 kg")
    ('kg', '$', '', None)
    """
    found = re.fullmatch(_WITH_UNIT, text)
    return None if found is None or all(found.groups("")) else "".join(found.groups(""))


def find_mixed_units(texts: Any, n_cells: NDArray[np.int64]) -> tuple[str, ...]:
    """Find the units of a column of numbers with several units, most frequent first.

    Each of the distinct `texts` is in `n_cells` cells. Strings without a digit are
    ignored. Empty if all numbers have the same unit, if a number has no known unit, or
    if the units cannot be converted to each other.

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


def is_unit(unit: str) -> bool:
    """Whether a text is one unit, or several that can be converted to each other."""
    units = unit.lower().split(", ")
    return len(units) == 1 or any({*units} <= sizes.keys() for sizes in _UNITS)


def remove_unit(text: TextColumn, unit: str) -> TextColumn:
    """Remove the unit from numbers; with several units ("kg, g"), convert to the first.

    >>> cells = pd.Series(["-$5", "7 $", "x"], dtype="category")
    >>> remove_unit(TextColumn.from_categories(cells, []), "$").values.tolist()
    ['-5', '7', 'x']
    """
    if not unit:
        return text
    units = tuple(unit.split(", "))
    remove = _convert_quantity if len(units) > 1 else _cut_unit
    bare = np.array([remove(one, units) for one in text.values], object)
    return TextColumn(bare, text.codes, text.marks)


def _cut_unit(text: str, units: tuple[str, ...]) -> str:
    """Remove the unit from a string; without a digit, the string is not changed.

    >>> [_cut_unit(text, ("kg",)) for text in ("- 5 kg", "(5.0 kg)", "no kg")]
    ['-5', '(5.0)', 'no kg']
    """
    if not re.search(r"\d", text):
        return text
    bare = text.replace(units[0], "").strip()
    if bare.startswith("(") and bare.endswith(")"):
        return f"({bare[1:-1].strip()})"
    return re.sub(r"^([+-])\s+", r"\1", bare)


def _convert_quantity(text: str, units: tuple[str, ...]) -> str:
    """Convert a quantity to the first unit, and remove the unit; keep other strings.

    >>> _convert_quantity("3750 g", ("kg", "g")), _convert_quantity("none", ("kg",))
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
