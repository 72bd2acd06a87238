"""The matrix of which column tells about which, on the page."""

import re
from html import unescape

import numpy as np
import pandas as pd

from proximity_kernel import ProximityKernel, TableReport
from proximity_kernel.datasets import load_penguins


def find_section(page):
    found = re.search(r'<section id="evidence".*?</section>', page, re.DOTALL)
    return found[0] if found else None


def test_the_cells_are_those_of_column_evidence():
    penguins = load_penguins()
    kernel = ProximityKernel().fit(penguins)
    section = find_section(TableReport(penguins, kernel=kernel).html)
    bits = kernel.column_evidence()
    shown = re.findall(r'title="(\w+) about (\w+): ([\d.]+)"', section)
    names = list(dict.fromkeys(one for one, _, _ in shown))
    assert len(shown) == len(names) * (len(names) - 1)
    for a, b, value in shown:
        assert float(value) == round(max(bits.loc[a, b], 0), 2)
    most = np.maximum(bits.max(axis=0), bits.max(axis=1)).sort_values(ascending=False)
    assert names == [name for name in most.index if most[name] >= 0.05]
    first = bits.stack().idxmax()
    lead = unescape(re.sub("<[^>]*>", "", section)).split("The most: ")[1]
    assert lead.startswith(f"{first[0]} about {first[1]} ({bits.loc[first]:.1f})")


def test_independent_columns_tell_nothing():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    assert "No column tells much about another" in find_section(TableReport(frame).html)


def test_a_matrix_needs_two_columns_and_the_pairwise_rule():
    penguins = load_penguins()
    assert find_section(TableReport(penguins[["sex"]]).html) is None
    kernel = ProximityKernel(matching="cascade").fit(penguins)
    assert find_section(TableReport(penguins, kernel=kernel).html) is None
