"""Informative missingness in a real table."""

import numpy as np

from proximity_kernel import ProximityKernel
from proximity_kernel_paper.datasets import load


def test_kidney(home):
    """Most missing cells of the table are informative: tests that were not ordered."""
    frame = load("kidney", data_home=home).frame
    pk = ProximityKernel(4, missingness="auto").fit(frame)
    missing = np.array([cells.missing for cells in pk.missingness_])
    informative = np.array([cells.informative for cells in pk.missingness_])
    assert missing.sum() == frame.isna().sum().sum()
    assert missing[informative].sum() > 0.9 * missing.sum()
