"""A table with missing cells, for examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._shared.extras import require

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["load_penguins"]


def load_penguins() -> pd.DataFrame:
    """Load the Palmer penguins table, which is part of this package.

    344 penguins of three species: island, bill, flippers, weight, sex and year, with
    19 missing cells. Gorman, Williams and Fraser (2014), CC0; the source is in the
    README of the package's folder ``penguins``.

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
