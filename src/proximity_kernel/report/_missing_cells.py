"""The kernel in, how missing cells were estimated out: from which rows, how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import ProximityKernel
from ._display_columns import take_rows
from ._text import clean

MAX_ROWS = 100_000  # whose missing cells are described
LEVELS = {
    "intersection": "rows that share every known value",
    "partial": "rows that share several known values",
    "union": "rows that share any known value",
    "prior": "all rows: nobody matched",
}
_NEARLY_ALL = 0.95  # share of cells at one level, from which on no picture is drawn
_WEAK_SHARE = 0.25  # of a feature's estimates, for it to be weakly supported


@dataclass(frozen=True)
class Matching:
    """How the missing cells were estimated.

    Attributes
    ----------
    cells : int
        Number of estimated cells.
    looked : int
        Rows whose cells are counted.
    least : int
        Rows below which an estimate is weak.
    levels : list of dict
        With the keys level, text, cells, share and support (the median).
    features : list of dict
        With the keys name, cells, support, weak, weakly and shares (one per level, in
        the order of `LEVELS`), the weakest first.
    common : dict or None
        The level of nearly all cells of every feature: level, text and share (the
        lowest of a feature). None if there is none.
    empty : list of str
        Features without an observed cell; their cells are not counted.
    kept : list of dict
        Features with a bin for missing cells: name, missing and reason.
    """

    cells: int
    looked: int
    least: int
    levels: list[dict[str, Any]]
    features: list[dict[str, Any]]
    common: dict[str, Any] | None
    empty: list[str]
    kept: list[dict[str, Any]]


def describe_matching(
    table: Any, kernel: ProximityKernel, rng: np.random.Generator
) -> Matching:
    """Describe from which rows the missing cells were estimated.

    Parameters
    ----------
    table : frame, array or list of rows, of shape (n_samples, n_features)
    kernel : ProximityKernel
        Fitted.
    rng : numpy.random.Generator
        Draws `MAX_ROWS` rows of a table that has more.

    Returns
    -------
    Matching
    """
    looked = len(table)
    if looked > MAX_ROWS:
        rows = np.sort(rng.choice(looked, MAX_ROWS, replace=False))
        table, looked = take_rows(table, rows), MAX_ROWS
    cells = kernel.provenance(table)
    n_bins = np.asarray(kernel.n_bins_)
    cells = cells[n_bins[cells["feature"]] > 0]
    least = int(kernel.min_support)
    weak = (cells["level"] == "prior") | (cells["support"] < least)
    absences = kernel.missingness_
    features = [
        _describe_feature(clean(absence.feature), cells[here], weak[here])
        for j, absence in enumerate(absences)
        if (here := cells["feature"] == j).any()
    ]
    return Matching(
        cells=len(cells),
        looked=looked,
        least=least,
        levels=_describe_levels(cells),
        features=sorted(features, key=lambda one: (-one["weak"], -one["cells"])),
        common=_find_common(features),
        empty=[clean(absences[j].feature) for j in np.flatnonzero(n_bins == 0)],
        kept=[
            {
                "name": clean(absence.feature),
                "missing": absence.missing,
                "reason": clean(absence.reason, 300),
            }
            for absence in absences
            if absence.informative
        ],
    )


def _describe_levels(cells: NDArray[np.void]) -> list[dict[str, Any]]:
    out = []
    for level, text in LEVELS.items():
        support = cells["support"][cells["level"] == level]
        if len(support):
            out.append(
                {
                    "level": level,
                    "text": text,
                    "cells": len(support),
                    "share": len(support) / len(cells),
                    "support": int(np.median(support)),
                }
            )
    return out


def _find_common(features: list[dict[str, Any]]) -> dict[str, Any] | None:
    if not features:
        return None
    least = np.min([one["shares"] for one in features], axis=0)
    top = int(least.argmax())
    if least[top] < _NEARLY_ALL:
        return None
    level = list(LEVELS)[top]
    return {"level": level, "text": LEVELS[level], "share": float(least[top])}


def _describe_feature(
    name: str, cells: NDArray[np.void], weak: NDArray[np.bool_]
) -> dict[str, Any]:
    return {
        "name": name,
        "cells": len(cells),
        "support": int(np.median(cells["support"])),
        "weak": float(weak.mean()),
        "weakly": bool(weak.mean() > _WEAK_SHARE),
        "shares": [float((cells["level"] == level).mean()) for level in LEVELS],
    }
