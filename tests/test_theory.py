"""The claims of docs/theory.md, each with a test that fails if it is false.

Here are sections 1 and 4; `test_theory_estimates` has 2 and 3.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation import EVERYWHERE, MATCHINGS, draw_table, fit_table
from strategies import assert_same_bits, dense, fitted, mixed_table, tables

from proximity_kernel import ProximityKernel

HERE = Path(__file__).parent


@st.composite
def options(draw):
    """Every option that the kernel depends on."""
    return {
        "n_bins": draw(st.sampled_from([2, 3, 5, "auto"])),
        "matching": draw(st.sampled_from(MATCHINGS)),
        "min_support": draw(st.sampled_from([1, 3, 20])),
        "missingness": draw(st.sampled_from(["ignorable", "informative", "auto"])),
        "normalize": draw(st.booleans()),
        "dtype": draw(st.sampled_from([np.float32, np.float64])),
    }


# 1. The kernel is valid


def rounding(pk, n_columns):
    """What an entry of the kernel may be off, E of docs/theory.md."""
    return (2 * n_columns + 16) * np.finfo(pk.dtype).eps / 2


def assert_alike_to_itself(pk, frame):
    """Rows without estimates have similarity one; all rows, if it is normalized."""
    own = np.diag(pk.kernel(frame)).astype(float)
    error = rounding(pk, pk.transform(frame).shape[1])
    cells = pk.provenance(frame)
    guessed = cells["row"][pk.n_bins_[cells["feature"]] > 0]
    known = np.setdiff1d(np.arange(len(frame)), guessed)
    np.testing.assert_allclose(own[known], 1, rtol=0, atol=error)
    if pk.normalize:
        np.testing.assert_allclose(own, 1, rtol=0, atol=error)
    elif pk.n_bins != "auto":
        assert (own[known] == 1).all()


def assert_valid(pk, frame, new):
    """The kernel of old rows, new rows, and all of them is what a kernel should be."""
    z = np.concatenate([dense(pk.transform(table)) for table in (frame, new)])
    error = rounding(pk, z.shape[1])
    parts = [[pk.kernel(one, two) for two in (frame, new)] for one in (frame, new)]
    whole = np.block(parts).astype(float)
    for k in (pk.kernel(frame), pk.kernel(new)):
        assert k.tobytes() == k.T.copy().tobytes()
        assert k.min() >= 0
        assert k.max() <= 1
        assert np.linalg.eigvalsh(k.astype(float)).min() >= -len(k) * error
    np.testing.assert_allclose(whole, whole.T, rtol=0, atol=2 * error)
    lowest = np.linalg.eigvalsh((whole + whole.T) / 2).min()
    assert lowest >= -len(whole) * error
    # It is the product of an explicit map, which each table has from the fit alone.
    d = max(np.count_nonzero(pk.n_bins_), 1)
    product = z.astype(float) @ z.T.astype(float) / d
    np.testing.assert_allclose(whole, product, rtol=0, atol=error)


@settings(max_examples=40)
@given(tables(), options())
def test_the_kernel_is_valid_for_every_table(drawn, chosen):
    frame, new = drawn
    assert_valid(fitted(ProximityKernel(**chosen), frame), frame, new)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("n_bins", [4, "auto"])
@pytest.mark.parametrize("missingness", ["ignorable", "informative", "auto"])
@pytest.mark.parametrize("matching", MATCHINGS)
def test_the_kernel_is_valid_for_every_option(matching, missingness, n_bins, normalize):
    """On a table where each option makes a difference."""
    frame, new = mixed_table(150, 6, 0.1, seed=0), mixed_table(30, 6, 0.2, seed=1)
    rng = np.random.default_rng(2)
    for table in (frame, new):  # a panel that was not ordered, three columns wide
        chance = np.where(table["col0"] == 0, 0.7, 0.1)
        table.loc[rng.random(len(table)) < chance, ["col1", "col3", "col4"]] = np.nan
    pk = ProximityKernel(
        n_bins, matching=matching, missingness=missingness, normalize=normalize,
        dtype=np.float64,
    ).fit(frame)  # fmt: skip
    events = [absence.informative for absence in pk.missingness_]
    wanted = {"ignorable": [0], "informative": [6], "auto": range(1, 6)}
    assert sum(events) in wanted[missingness]
    assert frame.notna().all(axis=1).any()
    assert any(groups is not None for groups in pk.bin_groups_) == (n_bins == "auto")
    assert_valid(pk, frame, new)
    assert_alike_to_itself(pk, frame)


@settings(max_examples=30)
@given(tables(), options())
def test_a_row_without_estimates_is_alike_to_itself(drawn, chosen):
    frame, _ = drawn
    assert_alike_to_itself(fitted(ProximityKernel(**chosen), frame), frame)


def test_two_resolutions_are_a_mean_of_two_kernels():
    """0.2 for the same bin and 0.8 for the same coarse bin, counted pair by pair."""
    values = np.random.default_rng(0).lognormal(size=(60, 3))
    pk = ProximityKernel("auto", dtype=np.float64).fit(values)
    same = np.zeros((60, 60))
    for j, (centers, groups) in enumerate(
        zip(pk.bin_centers_, pk.bin_groups_, strict=True)
    ):
        assert sorted(set(groups)) == [0, 1]
        code = np.abs(values[:, [j]] - centers).argmin(axis=1)
        fine = code[:, None] == code
        coarse = groups[code][:, None] == groups[code]
        same += (0.2 * fine + 0.8 * coarse) / 3
    np.testing.assert_allclose(pk.kernel(values), same, atol=1e-14)


# 4. Exact, and always the same


@settings(max_examples=25)
@given(tables(), options(), st.randoms(use_true_random=False))
def test_order_and_company_do_not_matter_for_any_option(drawn, chosen, random):
    frame, new = drawn
    order = list(range(len(frame)))
    random.shuffle(order)
    pk = fitted(ProximityKernel(**chosen), frame)
    again = fitted(ProximityKernel(**chosen), frame.iloc[order])
    for table in (frame, new):
        z = dense(pk.transform(table))
        assert_same_bits(again.transform(table), z)
        for i in (0, len(table) - 1):
            assert_same_bits(pk.transform(table.iloc[[i]]), z[[i]])
    fresh = ProximityKernel(**chosen)
    z = dense(fitted(fresh, frame).transform(frame))
    assert_same_bits(z[order], dense(pk.transform(frame.iloc[order])))


@settings(max_examples=20)
@given(tables(), options())
def test_equal_rows_get_equal_answers(drawn, chosen):
    frame, new = drawn
    pk = fitted(ProximityKernel(**chosen), frame)
    for table in (frame, new):
        z = dense(pk.transform(table))
        first = {}
        for i, row in enumerate(table.itertuples(index=False)):
            key = tuple(None if pd.isna(cell) else cell for cell in row)
            assert z[i].tobytes() == z[first.setdefault(key, i)].tobytes()


@pytest.mark.parametrize("matching", MATCHINGS)
def test_a_row_never_answers_for_itself(matching):
    """Fit without a row that misses a cell: the estimate is the same to the bit."""
    table = draw_table(EVERYWHERE, 120, np.random.default_rng(11))
    whole = fit_table(table, matching=matching)
    z = dense(whole.transform(table))
    incomplete = np.flatnonzero(np.isnan(table).any(axis=1))[:12]
    for i in incomplete:
        without = fit_table(np.delete(table, i, axis=0), matching=matching)
        assert_same_bits(without.transform(table[[i]]), z[[i]])


def test_the_seed_does_not_matter():
    frame = mixed_table(200, 5, 0.3, seed=12)
    chosen = {"n_bins": "auto", "missingness": "auto"}
    one, two = (
        ProximityKernel(**chosen, random_state=seed).fit(frame) for seed in (0, 1)
    )
    assert_same_bits(one.transform(frame), two.transform(frame))


# The page itself


def test_every_test_that_the_page_names_is_there():
    page = (HERE.parent / "docs" / "theory.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", page))
    there = set()
    for file in HERE.glob("test_*.py"):
        there.add(file.stem)
        there |= set(re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE))
    assert len(named) > 15
    assert named <= there
    files = [file.read_text() for file in sorted(HERE.glob("test_theory*.py"))]
    assert len(files) > 1
    mine = re.findall(r"^def (test_\w+)", "\n".join(files), re.MULTILINE)
    assert set(mine) - {"test_every_test_that_the_page_names_is_there"} <= named
