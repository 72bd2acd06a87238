"""Find the columns that are keys of an option, by their names or positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

from .._shared.options import is_number
from .._shared.wording import suggest
from .columns import ColumnType


def find_columns(
    option: str, given: Mapping[Any, Any], types: Sequence[ColumnType]
) -> dict[int, tuple[Any, Any]]:
    """Find the columns that are keys of a mapping, by their names or positions.

    Parameters
    ----------
    option : str
        The name of the option, for errors.
    given : mapping
        From names or positions of columns to values.
    types : sequence of ColumnType

    Returns
    -------
    dict
        From the position of each column to its key and its value.

    Examples
    --------
    >>> types = [ColumnType(name, "numeric", "numbers") for name in ("age", "size")]
    >>> find_columns("feature_weights", {"size": 2, 0: 3}, types)
    {1: ('size', 2), 0: (0, 3)}
    """
    names = {column.name: j for j, column in enumerate(types)}
    found: dict[int, tuple[Any, Any]] = {}
    for key, value in given.items():
        j: Any = names.get(key, key)
        if not is_number(j, Integral) or not 0 <= j < len(types):
            raise ValueError(
                f"`{option}` names {key!r}, which is not a column"
                f"{suggest(str(key), names)}; its keys must be names of columns, or "
                f"positions below {len(types)}."
            )
        if names.get(str(key), j) != j:
            raise ValueError(
                f"{option} has the key {key!r}, which is the position of "
                f"{types[j].place} and the name of another; name the column by text, "
                f"{str(key)!r} or {types[j].name!r}."
            )
        if j in found:
            raise ValueError(
                f"{option} has two values for {types[j].place}, under "
                f"{found[j][0]!r} and {key!r}; give one."
            )
        found[int(j)] = key, value
    return found
