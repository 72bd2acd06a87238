"""The matrix of which column tells about which, on the page."""

import re
from html import unescape

import numpy as np
import pandas as pd
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from proximity_kernel import ProximityKernel, TableReport
from proximity_kernel.datasets import load_penguins
from proximity_kernel.report.sections import measure_information


def find_section(page):
    found = re.search(r'<section id="evidence".*?</section>', page, re.DOTALL)
    return found[0] if found else None


def test_the_cells_are_shares_of_the_uncertainty():
    """Measured with scikit-learn on the bins of the rows that observe both columns."""
    penguins = load_penguins()
    kernel = ProximityKernel(missingness="ignorable").fit(penguins)
    section = find_section(TableReport(penguins, kernel=kernel).html)
    shown = re.findall(r'title="(\w+) about (\w+): (?:under )?(\d+) %"', section)
    names = list(dict.fromkeys(one for one, _, _ in shown))
    assert len(shown) == len(names) * (len(names) - 1) == 7 * 6
    codes = dict(zip(penguins, kernel.model_.code(penguins, 1).bins.T, strict=True))
    for a, b, value in shown:
        rows = penguins[[a, b]].notna().all(axis=1)
        own, other = codes[a][rows], codes[b][rows]
        nats = entropy(np.unique(other, return_counts=True)[1])
        # Less by leaving one row out.
        assert -4 <= int(value) - 100 * mutual_info_score(own, other) / nats <= 0.5
    first = max(shown, key=lambda one: int(one[2]))
    lead = unescape(re.sub("<[^>]*>", "", section)).split("The most: ")[1]
    assert lead.startswith(f"{first[0]} about {first[1]} ({first[2]} %)")


def test_a_column_that_determines_another_tells_all_about_it():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 40, 800)
    frame = pd.DataFrame({"town": town, "region": town // 10, "size": rng.random(800)})
    frame[["town", "region"]] = frame[["town", "region"]].astype(str)
    counts = ProximityKernel().fit(frame).model_.matcher.counts
    told = measure_information(counts)
    assert told[0, 1] == 1  # 20 rows of a town
    assert 0.3 < told[1, 0] < 0.4  # log 4 / log 40
    assert (told[:2, 2] < 0.02).all()  # by chance


def test_independent_columns_tell_nothing():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    assert "No column tells much about another" in find_section(TableReport(frame).html)


def test_a_matrix_needs_two_columns_and_the_pairwise_rule():
    penguins = load_penguins()
    assert find_section(TableReport(penguins[["sex"]]).html) is None
    kernel = ProximityKernel(matching="cascade").fit(penguins)
    assert find_section(TableReport(penguins, kernel=kernel).html) is None
