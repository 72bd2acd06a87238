"""A column of text, each distinct text held once, with its missing cells found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A column of text, each distinct text once.

    Attributes
    ----------
    values : pandas.Index of str
        The distinct texts that are not missing, without blanks around them.
    codes : ndarray of shape (n_rows,)
        Index into `values` of each cell; -1 is missing.
    marks : tuple of str
        The missing marks found in the column; ``""`` for an empty cell.
    """

    values: Any
    codes: NDArray[np.int64]
    marks: tuple[str, ...]

    @classmethod
    def from_categories(cls, column: Any, missing: Sequence[str]) -> TextColumn:
        """Read a categorical column, in which some texts mark a missing cell.

        >>> cells = pd.Series(["a ", "?", "b", "a"], dtype="category")
        >>> column = TextColumn.from_categories(cells, ["?"])
        >>> list(column.values), column.codes.tolist(), column.marks
        (['a', 'b'], [0, -1, 1, 0], ('?',))
        """
        codes = column.cat.codes.to_numpy().astype(np.int64)
        present = np.unique(codes[codes >= 0])
        texts = column.cat.categories.take(present).astype(str).str.strip()
        stripped = pd.Index(texts)
        is_mark = stripped.isin(list(missing))
        kept, values = pd.factorize(stripped[~is_mark])
        new_codes = np.full(len(column.cat.categories) + 1, -1)
        new_codes[present[~is_mark]] = kept
        marks = tuple(dict.fromkeys(stripped[is_mark]))
        if (codes < 0).any() and "" not in marks:
            marks = (*marks, "")
        return cls(pd.Index(values), new_codes[codes], marks)

    @property
    def n_observed(self) -> int:
        """Number of cells that are not missing."""
        return int(np.count_nonzero(self.codes >= 0))

    def count(self, selected: NDArray[np.bool_]) -> int:
        """Count the cells whose text is selected by a mask of `values`."""
        return int(np.count_nonzero(selected[self.codes[self.codes >= 0]]))
