"""Tables with holes, to try things on."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from .._extras import require

__all__ = ["load_penguins"]


def load_penguins() -> Any:
    """Read the Palmer penguins table, which comes with this package.

    344 penguins of three species: island, bill, flippers, weight, sex and year, with
    19 cells missing. Gorman, Williams and Fraser (2014), CC0; the folder
    ``datasets/penguins`` tells more.

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
    pandas = require("pandas", extra="datasets")
    with files(__package__).joinpath("penguins/penguins.csv").open() as file:
        return pandas.read_csv(file)
