"""What an estimate rests on, against the estimates of tables with one cell less."""

import numpy as np
import pandas as pd
import pytest
from strategies import dense, entries, mixed_table, plain

from proximity_kernel import _provenance as provenance
from proximity_kernel import _row_summary as row_summary


def block_of(pk, frame, j):
    """The shares of feature j's bins, row by row."""
    end = int(np.cumsum(pk.n_bins_)[j])
    return dense(pk.transform(frame))[:, end - pk.n_bins_[j] : end]


@pytest.fixture(scope="module")
def frame():
    return mixed_table(300, 6, 0.3, seed=4, noise=0.4)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["all pairs", "few sources"])
def test_moved_is_how_far_the_estimate_goes_without_the_cell(monkeypatch, frame, way):
    """Each observed cell is taken out of the table in turn."""
    if way == "few sources":
        monkeypatch.setattr(row_summary, "MOST_CODES", 0)
    pk = plain(dtype=np.float64).fit(frame)
    asked = mixed_table(25, 6, 0.4, seed=5)
    cells = pk.provenance(asked)
    moves = np.zeros((len(cells), 6))
    for i, name in enumerate(asked.columns):
        without = asked.assign(**{name: pd.Series(None, dtype=asked[name].dtype)})
        for at, (row, j) in enumerate(cells[["row", "feature"]].tolist()):
            if i != j:
                one = slice(row, row + 1)
                left, right = (block_of(pk, t[one], j) for t in (asked, without))
                moves[at, i] = np.abs(left - right).sum() / 2
    assert (cells["level"] == "evidence").mean() > 0.8
    for cell, moved in zip(cells, moves, strict=True):
        most = np.sort(moved)[::-1][:3]
        np.testing.assert_allclose(cell["moved"], most, rtol=1e-6, atol=1e-12)
        named = cell["columns"][cell["columns"] >= 0]
        np.testing.assert_allclose(moved[named], most[: len(named)], rtol=1e-6)
        assert (cell["columns"] >= 0).tolist() == (cell["moved"] > 0).tolist()
        assert cell["level"] == ("evidence" if most[0] > 0 else "prior")
        block = block_of(pk, asked[cell["row"] : cell["row"] + 1], cell["feature"])
        assert cell["certainty"] == pytest.approx(block.max())
        assert cell["observed"] == asked.notna().sum(axis=1)[cell["row"]]
        assert cell["support"] == frame.notna().sum().iloc[cell["feature"]]


def test_the_cascade_names_no_column(frame):
    pk = plain(matching="cascade", dtype=np.float64).fit(frame)
    cells = pk.provenance(frame)
    assert set(cells["level"]) <= {"intersection", "union", "prior"}
    assert (cells["columns"] == -1).all()
    assert (cells["moved"] == 0).all()
    for cell in cells[:40]:
        block = block_of(pk, frame[cell["row"] : cell["row"] + 1], cell["feature"])
        assert cell["certainty"] == pytest.approx(block.max())


def test_cells_are_taken_in_parts(monkeypatch, frame):
    pk = plain().fit(frame)
    whole = pk.provenance(frame)
    monkeypatch.setattr(provenance, "_ROOM", 1)
    assert pk.provenance(frame).tobytes() == whole.tobytes()
    some = np.isin(whole["row"], [7, 8])
    assert pk.provenance(frame[7:9])["moved"].tolist() == whole["moved"][some].tolist()


@pytest.mark.parametrize("n_labels", [3, 5])
def test_a_cell_that_tells_nothing_is_no_evidence(n_labels):
    """Column v goes with t as often as by chance; a rounding is no evidence."""
    labels = "abcde"[:n_labels]
    rows = [(t, t.upper(), v) for t in labels for v in labels] * 10
    pk = plain().fit(pd.DataFrame(rows, columns=["t", "u", "v"]))
    assert pk.model_.matcher.weights[0] > 0
    new = pd.DataFrame({"t": [None], "u": [None], "v": ["a"]}, dtype="str")
    cells = pk.provenance(new)
    assert [entry[2] for entry in entries(cells)] == ["prior"] * 2
    assert (cells["moved"] == 0).all()
