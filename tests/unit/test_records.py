"""What estimators return shows as a table in a notebook, and becomes a frame."""

import re
from html import escape
from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
    explain,
    read_table,
)
from proximity_kernel._table.records import Records

PANDAS = pd.DataFrame(
    {
        "age": [34.0, 36, 35, 71, 68, None, 33, 70] * 5,
        "blood": ["<b>A", "<b>A", "<b>A", "B", "B", "B", None, "B"] * 5,
    }
)
PANDAS.loc[3, "age"] = 34.0  # does not fit
TABLES = {"pandas": PANDAS, "polars": pl.from_pandas(PANDAS)}


def results(table):
    """Every kind of result, about a table."""
    pk = ProximityKernel().fit(table)
    near = ProximityNeighbors(2).fit(table)
    odd = ProximityOutliers().fit(table)
    return {
        "explain": explain(near, table[5:6], table[4:5]),
        "profiles": ProximityKMeans(2, random_state=0).fit(table).profiles_,
        "reasons": odd.reasons(table),
        "provenance": pk.provenance(table),
        "missingness": pk.missingness_,
        "evidence": pk.column_evidence(),
        "bins": pk.bins_,
    }


@pytest.fixture(scope="module", params=TABLES)
def library(request):
    return request.param, results(TABLES[request.param])


def read_html(text):
    """The titles and cells of an HTML table, without styles."""
    head = re.findall("<th [^>]*>(.*?)</th>", text)
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in text.split("<tr>")[2:]]
    return head, rows


@pytest.mark.parametrize("name", ["explain", "profiles", "reasons", "provenance"])
def test_a_notebook_shows_a_table(library, name):
    result = library[1][name]
    head, rows = read_html(result._repr_html_())
    assert len(head) > 4
    assert {len(row) for row in rows} == {len(head)}
    assert len(rows) == min(60, len(result.to_frame()))
    assert "<b>" not in result._repr_html_()  # a cell of a table is no markup


@pytest.mark.parametrize("name", ["explain", "reasons", "provenance"])
def test_the_frame_is_of_the_library_of_the_table(library, name):
    wanted = type(TABLES[library[0]])
    assert type(library[1][name].to_frame()) is wanted


def test_frames_hold_what_the_results_hold(library):
    found = library[1]
    why = found["explain"].to_frame()
    assert sum(why["contribution"]) == pytest.approx(found["explain"].similarity)
    cells = found["provenance"]
    frame = cells.to_frame()
    assert list(frame["feature"]) == cells["feature_name"].tolist()
    assert list(frame["columns_1"]) == cells["column_names"][:, 0].tolist()
    assert list(frame["moved_1"]) == cells["moved"][:, 0].tolist()
    assert found["profiles"].to_frame().to_dict("records") == found["profiles"]
    told = found["reasons"].to_frame()
    said = [(i, str(one)) for i, row in enumerate(found["reasons"]) for one in row]
    assert list(zip(told["row"], told["reason"], strict=True)) == said
    of_feature = found["missingness"].to_frame()
    assert of_feature["missing"].tolist() == PANDAS.isna().sum().tolist()


def test_a_field_of_provenance_is_a_plain_array():
    cells = ProximityKernel().fit(PANDAS).provenance(PANDAS)
    assert type(cells["row"]) is np.ndarray
    assert len(cells[:3].to_frame()) == 3


def test_long_results_are_cut_off():
    text = Records([{"a": k} for k in range(100)])._repr_html_()
    assert len(read_html(text)[1]) == 60
    assert "and 40 more rows" in text


def test_no_records_make_an_empty_frame():
    usual = pd.DataFrame({"a": ["x", "y"] * 9})
    reasons = ProximityOutliers().fit(usual).reasons(usual)
    assert list(reasons.to_frame())[:3] == ["row", "feature", "value"]
    assert Records().to_frame().shape == (0, 0)
    assert read_html(Records()._repr_html_()) == ([], [])


def test_a_table_from_a_file_shows_what_was_assumed():
    table = read_table(StringIO("a;b\n1,5;<i>\n2,5;?\n3;z\n"))
    shown = table._repr_html_()
    assert "<li>buffer: 3 rows, 2 columns, separator &#x27;;&#x27;" in shown
    assert "<td>2.5</td>" in shown
    assert "<i>" not in shown
    assert repr(table) == "LoadedTable('buffer', 3 rows, 2 columns)"


def test_a_notebook_shows_features_of_provenance_by_name():
    cells = ProximityKernel().fit(PANDAS).provenance(PANDAS)
    head, rows = read_html(cells._repr_html_())
    assert head[:3] == ["row", "feature", "level"]
    assert head[-2:] == ["columns_3", "moved_3"]
    assert [row[1] for row in rows] == cells["feature_name"].tolist()


def test_groups_are_shown_in_words_and_by_number():
    groups = ProximityKMeans(random_state=0).fit(PANDAS).groups_
    shown = groups._repr_html_()
    assert escape(str(groups)) in shown
    head, rows = read_html(shown)
    assert head == ["n_groups", "samples", "stability"]
    assert [int(row[0]) for row in rows] == groups.to_frame()["n_groups"].tolist()
