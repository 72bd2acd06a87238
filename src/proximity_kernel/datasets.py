"""`load_penguins`: a table with missing cells, for examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._shared.extras import require

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_penguins"]


def load_penguins() -> pd.DataFrame:
    """Load the Palmer penguins table, which is part of this package.

    344 penguins: species, island, bill length and depth, flipper length, weight, sex
    and year. 19 cells are missing. Gorman, Williams and Fraser (2014), CC0; the source
    is in the README of the package's folder ``penguins``.

    Returns
    -------
    pandas.DataFrame of shape (344, 8)

    Examples
    --------
    >>> from proximity_kernel.datasets import load_penguins
    >>> penguins = load_penguins()
    >>> penguins.shape, int(penguins.isna().sum().sum())
    ((344, 8), 19)
    """
    pandas = require("pandas", extra="cli")
    return pandas.read_csv(Path(__file__).parent / "penguins" / "penguins.csv")
