"""The figures in the README are those of their sources."""

import re
import runpy
from pathlib import Path

import pandas as pd
import pytest

from proximity_kernel.datasets import load_penguins

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def errors():
    """The table of examples/hidden_cells.py."""
    example = runpy.run_path(str(ROOT / "examples" / "hidden_cells.py"))
    penguins = load_penguins().drop(columns="species").dropna(ignore_index=True)
    draws = [example["one_draw"](penguins, seed) for seed in range(10)]
    return pd.DataFrame(draws).mean()


def test_the_quality_is_what_the_example_computes(errors):
    ours, filled = re.findall(r"deviate by (\S+) RMS .*? by (\S+) after k-NN", README)[
        0
    ]
    assert float(ours) == round(errors["proximity-kernel"], 3)
    assert float(filled) == round(errors["k-NN imputation first"], 3)


def test_the_speed_is_that_of_the_benchmark():
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    measured = re.findall(r"fit_transform +1,000,000 +defaults +(\S+)", page)
    (written,) = re.findall(r"one million rows .*? takes (\S+) s on two cores", README)
    assert [written] == [f"{float(seconds):.2g}" for seconds in measured]
