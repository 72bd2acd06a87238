"""The tables of options in docs/everyday.md, beside the options that there are."""

import re
from pathlib import Path

import numpy as np

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
)

PAGE = Path(__file__).parents[2] / "docs" / "everyday.md"
TABLES = PAGE.read_text(encoding="utf-8").partition("## Options\n")[2]


def test_every_option_of_the_kernel_has_a_line_with_its_default():
    told = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", TABLES, re.MULTILINE))
    held = ProximityKernel().get_params()
    assert list(told) == list(ProximityKernel.__init__.__annotations__)[:-1]
    for name, written in told.items():
        assert eval(written, {"numpy": np}) == held[name]


def test_every_option_of_the_others_is_named():
    for estimator in (ProximityKMeans, ProximityNeighbors, ProximityOutliers):
        (line,) = re.findall(
            rf"^\| `{estimator.__name__}` \| (.*)", TABLES, re.MULTILINE
        )
        own = set(estimator().get_params(deep=False)) - {"kernel"}
        assert set(re.findall(r"`(\w+)`", line)) == own
