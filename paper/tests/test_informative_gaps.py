"""Gaps that tell something, in a real table."""

import numpy as np

from proximity_kernel import ProximityKernel
from proximity_kernel_paper.datasets import load


def test_kidney(home):
    """The tests that were not ordered: most gaps of the table are events."""
    frame = load("kidney", data_home=home).frame
    pk = ProximityKernel(4, missingness="auto").fit(frame)
    missing = np.array([absence.missing for absence in pk.missingness_])
    informative = np.array([absence.informative for absence in pk.missingness_])
    assert missing.sum() == frame.isna().sum().sum()
    assert missing[informative].sum() > 0.9 * missing.sum()
