"""Answers stay what they are: digests of a few, rounded so that machines agree."""

import hashlib
import json
from pathlib import Path

import numpy as np

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
)
from proximity_kernel.datasets import load_penguins

KEPT = Path(__file__).with_name("reference_outputs.json")
DIGITS = 4  # of numbers: another processor may add in another order


def digest(*answers):
    """Digest rounded numbers and texts; a change of this file's answers shows."""
    found = hashlib.sha256()
    for answer in answers:
        values = np.asarray(answer)
        if values.dtype.kind == "f":
            values = np.round(values.astype(np.float64), DIGITS) + 0.0  # no -0
        found.update(repr(values.tolist()).encode())
    return found.hexdigest()[:16]


def answer_all():
    penguins = load_penguins()
    out = {}
    for matching in ("pairwise", "cascade"):
        for missingness in ("ignorable", "informative", "auto"):
            pk = ProximityKernel(matching=matching, missingness=missingness)
            rows = pk.fit_transform(penguins).toarray()
            out[f"{matching}, {missingness}"] = digest(rows, pk.kernel(penguins[:20]))
    filled = ProximityImputer().fit_transform(penguins)
    out["impute"] = digest(*(filled[name] for name in filled))
    km = ProximityKMeans(3, random_state=0).fit(penguins)
    out["clusters"] = digest(km.labels_, km.inertia_ / len(penguins))
    distances, _ = ProximityNeighbors(5).fit(penguins).kneighbors(penguins)
    out["neighbors"] = digest(distances)
    out["outliers"] = digest(ProximityOutliers().fit(penguins).score_samples(penguins))
    return out


def test_the_answers_are_those_kept():
    """If one is meant to change, run this file: it writes them anew."""
    assert answer_all() == json.loads(KEPT.read_text())


if __name__ == "__main__":
    KEPT.write_text(json.dumps(answer_all(), indent=1) + "\n")
