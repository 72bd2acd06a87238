"""Cells that another cell of the row determines."""

import numpy as np
import pandas as pd
import pytest
from oracle_pairwise import DECIDES
from strategies import dense, entries, mixed_table, plain

from proximity_kernel import ProximityImputer, ProximityKernel
from proximity_kernel import _row_summary as row_summary


def dependent_table(n=5000, n_odd=12, seed=0):
    """A detail that determines its summary, and twelve columns that tell of it too.

    In the first rows all twelve tell of another summary, and the summary is hidden.
    """
    rng = np.random.default_rng(seed)
    detail = rng.integers(9, size=n)
    summary = detail // 3
    told = np.where(np.arange(n) < n_odd, (summary + 1) % 3, summary)
    noisy = rng.random((n, 12)) < 0.1
    others = np.where(noisy, rng.integers(3, size=(n, 12)), told[:, None])
    others[:n_odd] = told[:n_odd, None]
    frame = pd.DataFrame(others, columns=[f"c{k}" for k in range(12)])
    frame["detail"], frame["summary"] = detail, summary
    frame = frame.apply(lambda column: column.name + column.astype(str))
    truth = frame["summary"][:n_odd].copy()
    frame.loc[: n_odd - 1, "summary"] = None
    return frame, truth


@pytest.mark.parametrize("codes", [2048, 0])
def test_twelve_columns_do_not_outvote_the_one_that_determines(monkeypatch, codes):
    monkeypatch.setattr(row_summary, "MOST_CODES", codes)
    frame, truth = dependent_table()
    filled = ProximityImputer().fit_transform(frame)
    assert filled["summary"][:12].tolist() == truth.tolist()
    pk = plain(dtype=np.float64).fit(frame)
    cells = pk.provenance(frame)
    assert cells["level"].tolist() == ["determined"] * 12
    assert (cells["column_names"][:, 0] == "detail").all()
    codes = frame["detail"][:12].map(frame["detail"][12:].value_counts())
    assert cells["support"].tolist() == codes.tolist()
    assert (cells["certainty"] >= 1 - 1 / (codes + 2)).all()


def test_what_has_come_once_with_another_bin_does_not_decide():
    frame, _ = dependent_table()
    exception = frame[12:13].copy()
    exception["summary"] = frame["summary"][12:][
        frame["summary"][12:] != exception["summary"].iloc[0]
    ].iloc[0]
    pk = plain().fit(pd.concat([frame, exception]))
    cells = pk.provenance(frame[:12])
    same = frame["detail"][:12] == exception["detail"].iloc[0]
    assert (cells["level"] == np.where(same, "evidence", "determined")).all()


def test_few_rows_may_be_chance():
    """A code that came with one of two equally frequent bins 20 times decides not."""
    for n, level in ((20, "evidence"), (21, "determined")):
        assert (n * np.log(2) > DECIDES) == (level == "determined")
        frame = pd.DataFrame([("a", "x"), ("b", "y")] * n, columns=["t", "u"])
        pk = plain(dtype=np.float64).fit(frame)
        new = pd.DataFrame({"t": [None], "u": ["x"]}, dtype="str")
        support = n if level == "determined" else 2 * n
        assert entries(pk.provenance(new)) == [(0, 0, level, 1, support)]
        if level == "determined":
            assert dense(pk.transform(new))[0, 0] > 1 - 1 / (n + 2)


def test_of_several_the_one_with_most_rows_decides():
    """The first feature in a tie; what it moves is what the next would say."""
    rows = [("a", "x", "k", "p"), ("b", "y", "m", "q")] * 40
    frame = pd.DataFrame(rows, columns=["t", "u", "v", "w"])
    frame.loc[:9, "u"] = None  # so that u has come with t in fewer rows
    pk = plain(dtype=np.float64).fit(frame)
    new = pd.DataFrame([[None, "x", "k", "p"]], columns=frame.columns, dtype="str")
    (cell,) = pk.provenance(new)
    assert (cell["level"], cell["support"]) == ("determined", 40)
    assert cell["column_names"][0] == "v"
    against = pd.DataFrame([[None, "y", "k", "p"]], columns=new.columns, dtype="str")
    z = dense(pk.transform(against))[0, :2]
    assert z[0] > 1 - 1 / 42  # 40 rows of "k" outweigh 35 of "y"
    assert pk.provenance(against)["moved"][0, 0] < 1 / 42  # "p" would decide the same


def test_wide_tables_decide_only_where_all_codes_are_kept(monkeypatch):
    monkeypatch.setattr(row_summary, "MOST_CODES", 0)
    rng = np.random.default_rng(0)
    hidden = rng.integers(6, size=3000)
    frame = pd.DataFrame(
        {
            "six": [f"s{k}" for k in hidden],
            "half": [f"h{k // 3}" for k in hidden],
            **{f"n{k}": rng.normal(size=3000) for k in range(3)},
        }
    )
    monkeypatch.setattr("proximity_kernel._pairwise._MOST_EVIDENCE", 1)
    pk = plain().fit(frame)
    assert pk.model_.matcher.counts.kept.shape[1] == 4
    new = frame[:200].copy()
    new.loc[:99, "six"] = None
    new.loc[100:, "half"] = None
    cells = pk.provenance(new)
    kept = pk.model_.matcher.counts.kept[0]
    known = np.isin(hidden[100:200], kept)
    assert not (cells["level"][:100] == "determined").any()
    assert 20 < known.sum() < 90
    assert (cells["level"][100:] == "determined").tolist() == known.tolist()


def skipped_question(n_odd=1):
    """Only smokers have a number of cigarettes, but for few; others are asked more."""
    rng = np.random.default_rng(0)
    smoker = np.where(rng.random(600) < 0.25, "yes", "no")
    number = np.where(smoker == "yes", rng.integers(1, 11, 600), np.nan)
    odd = np.flatnonzero(smoker == "no")[:n_odd]
    number[odd] = 5
    more = np.where(np.isnan(number), np.nan, rng.normal(size=600))
    return pd.DataFrame({"smoker": smoker, "number": number, "more": more})


@pytest.mark.parametrize("codes", [2048, 0])
@pytest.mark.parametrize("missingness", ["ignorable", "informative"])
def test_that_a_feature_is_observed_decides(monkeypatch, codes, missingness):
    monkeypatch.setattr(row_summary, "MOST_CODES", codes)
    frame = skipped_question()
    new = pd.DataFrame({"smoker": [None] * 10, "number": np.arange(1.0, 11)})
    new["more"] = np.nan
    pk = plain(
        dtype=np.float64, missingness={"number": missingness, "more": "ignorable"}
    )
    cells = pk.fit(frame).provenance(new)
    cells = cells[cells["feature"] == 0]
    assert cells["level"].tolist() == ["determined"] * 10
    assert set(cells["column_names"][:, 0]) == {"number"}
    n = int((frame["smoker"] == "yes").sum())
    assert (cells["certainty"] >= 1 - 2 / (n + 3)).all()
    assert (dense(pk.transform(new))[:, 1] > 1 - 2 / (n + 3)).all()
    cell = pk.fit(skipped_question(2)).provenance(new[4:5])[0]
    assert cell["level"] == "evidence"  # 2 exceptions are too many for 147 rows


def test_batches_and_files_decide_alike(tmp_path):
    frame, _ = dependent_table(600, 5, seed=3)
    frame = pd.concat([frame, skipped_question()], axis=1)
    frame.loc[590:, "smoker"] = None
    pk = ProximityKernel(dtype=np.float64).fit(frame)
    parts = ProximityKernel(dtype=np.float64).fit_batches([frame[:100], frame[100:]])
    pk.save(tmp_path / "m")
    for same in (parts, ProximityKernel.load(tmp_path / "m")):
        assert (
            dense(same.transform(frame)).tobytes()
            == dense(pk.transform(frame)).tobytes()
        )
    assert "determined" in pk.provenance(frame)["level"]


def test_where_nothing_decides_nothing_is_determined():
    frame = mixed_table(400, 6, 0.3, seed=1, noise=0.5)
    pk = plain().fit(frame)
    assert not pk.model_.matcher.deciders.support.any()
    assert not (pk.provenance(frame)["level"] == "determined").any()
