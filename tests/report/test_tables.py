"""Tables of every make and shape in the report, large ones, and bad input."""

import re
import subprocess
import sys
from datetime import date, datetime, timedelta
from html import unescape
from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from report_pages import embedded, visible, write
from sklearn.exceptions import NotFittedError

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    read_table,
)
from proximity_kernel._shared.published import how_to_install
from proximity_kernel.kernel import code_table, fit_coded
from proximity_kernel.report import TableReport, page
from proximity_kernel.report.display_columns import (
    DisplayColumn,
    clean,
    make_display_columns,
)
from proximity_kernel.report.row_map import rank_rows

MIXED = {
    "when": [datetime(2020, 1, 1), None, datetime(2021, 5, 5, 12, 30)],
    "day": [date(2020, 1, 1), None, date(2020, 3, 1)],
    "wait": [timedelta(hours=1), None, timedelta(seconds=3)],
    "flag": [True, None, False],
    "n": [1, None, 30000],
    "x": [1.25, None, 2.0],
    "name": ["b", None, "a"],
    "none": [None, None, None],
}
WRITTEN = [
    ["2020-01-01", "2021-05-05 12:30:00"],
    ["2020-01-01", "2020-03-01"],
    ["3600 s", "3 s"],
    ["yes", "no"],
    ["1", "30,000"],
    ["1.25", "2.00"],
    ["b", "a"],
    [],
]
KINDS = ["date", "date", "duration", "yes or no", "number", "number", "category"]


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda columns: pd.DataFrame(columns).convert_dtypes(),
        lambda columns: pd.DataFrame(columns, dtype=object),
        pl.DataFrame,
        pa.table,
        lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    ],
    ids=["pandas", "nullable", "objects", "polars", "arrow", "lists"],
)
@pytest.mark.filterwarnings("ignore:.*nothing:UserWarning")
@pytest.mark.filterwarnings("ignore:.*observed:UserWarning")
def test_tables_of_any_make_are_shown_the_same(make, tmp_path):
    table = make(MIXED)
    columns = make_display_columns(fit_coded(ProximityKernel(), table).columns)
    assert [column.kind for column in columns] == [*KINDS, "empty"]
    for column, written in zip(columns, WRITTEN, strict=True):
        assert column.missing.tolist() == [not written, True, not written]
        known = column.values[~column.missing]
        assert [column.write(value) for value in known] == written
    assert "<title>3 rows, 8 columns</title>" in write(tmp_path, table)


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ([13155.2, 1446, 1933.1], ["13,155.2", "1,446.0", "1,933.1"]),
        ([2008, 2010, 1999], ["2008", "2010", "1999"]),
        ([53.85, 907.55, 9999999], ["53.85", "907.55", "9,999,999"]),
        ([1 / 3, 2 / 3, 1e-9], ["0.3333", "0.6667", "1e-09"]),
        ([0, 1e20], ["0", "1e+20"]),
    ],
)
def test_the_numbers_of_a_column_are_written_in_one_way(values, written):
    column = DisplayColumn("x", "number", np.array(values, dtype=float))
    assert [column.write(value) for value in values] == written


def test_blanks_that_a_page_hides_are_visible():
    blank = "\N{OPEN BOX}"
    assert clean("Innere  Medizin") == f"Innere{blank}{blank}Medizin"
    assert clean(" a\tb\N{NO-BREAK SPACE}c ") == f"{blank}a{blank}b{blank}c{blank}"
    assert clean("Innere Medizin") == "Innere Medizin"


def test_ordered_and_numbers_named_as_categories():
    table = pd.DataFrame(
        {
            "grade": pd.Categorical(["mid", None, "low"], ["low", "mid", "high"], True),
            "code": [7.0, 3.5, np.nan],
        }
    )
    kernel = ProximityKernel(categorical_features=["code"]).fit(table)
    grade, code = make_display_columns(code_table(kernel, table).columns)
    assert (grade.kind, grade.labels) == ("ordered", ("low", "mid", "high"))
    np.testing.assert_array_equal(grade.values, [1, np.nan, 0])
    assert (code.kind, code.labels) == ("category", ("3.5", "7"))
    np.testing.assert_array_equal(code.values, [1, 0, np.nan])


def test_arrays_plain_and_masked(tmp_path):
    array = np.array([[1, 2], [3, 4], [5, 6.0]])
    masked = np.ma.masked_array(array, [[0, 0], [0, 1], [0, 0]])
    shown = make_display_columns(fit_coded(ProximityKernel(), masked).columns)
    np.testing.assert_array_equal(shown[1].values, [2, np.nan, 6])
    assert "1 cell (17 %) is missing" in visible(write(tmp_path, masked))
    assert "No cell is missing." in visible(write(tmp_path, array))


EDGES = {
    "one row": pd.DataFrame({"a": [1.0], "b": ["x"]}),
    "one column": pd.DataFrame({"a": [1.0, 2, np.nan, 4]}),
    "nothing observed": pd.DataFrame({"a": [np.nan] * 4, "b": [None] * 4}),
    "an empty column": pd.DataFrame({"a": [1.0, 2, 3], "b": [np.nan] * 3}),
    "constant": pd.DataFrame({"a": [1.0] * 5, "b": ["x"] * 5}),
    "categories only": pd.DataFrame({"a": list("aabbc"), "b": list("xyxyz")}),
    "all rows the same": pd.DataFrame({"a": [1.0] * 9, "b": ["x"] * 9}),
    "extreme numbers": pd.DataFrame({"a": [-1.7e308, 1.7e308, 0, 5e-324]}),
    "ends are neighbours": pd.DataFrame({"a": [1.0, np.nextafter(1, 2)] * 5}),
}


@pytest.mark.parametrize("table", EDGES.values(), ids=EDGES)
def test_edges(table, tmp_path):
    before = table.copy(deep=True)
    text = write(tmp_path, table)
    data = embedded(text)
    assert data["n"] == len(data["places"]) == len(table)
    assert np.isfinite(data["places"]).all()
    assert all(len(near) == min(5, len(table) - 1) for near in data["near"])
    assert "nan" not in visible(text).lower().replace("nan,", "nan")
    pd.testing.assert_frame_equal(table, before)


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(9_000, 6)), columns=list("abcdef"))
    table["g"] = rng.choice(list("xyz"), len(table))
    return table.mask(rng.random(table.shape) < 0.1)


def test_all_rows_of_a_large_table_are_on_the_map(large, tmp_path):
    text = write(tmp_path, large)
    data, words = embedded(text), visible(text)
    assert data["n"] == 2_000
    assert len(data["places"]) == len(data["rows"]) == len(large)
    assert len(data["columns"][0]["cells"]) == data["n_cells"] < len(large)
    assert "sampled at random" not in words
    unusual = re.findall(r'class="goto" data-row="(\d+)"', text)
    assert {int(row) for row in unusual} <= set(data["rows"][:2_000])
    some = [0, 700, 1999]
    rows = [data["rows"][i] for i in some]
    near = ProximityNeighbors(n_neighbors=6).fit(large)
    distances, _ = near.kneighbors(large.iloc[rows])
    best = 1 - distances
    shown = np.array([data["similarity"][i] for i in some]) / 1000
    np.testing.assert_allclose(shown, best[:, 1:], atol=6e-4)  # the first is the row


def test_rows_that_were_not_drawn_lie_on_the_same_plane(large, tmp_path):
    table = large.iloc[:2_500].reset_index(drop=True)
    data = embedded(write(tmp_path, table))
    rows, n = data["rows"], data["n"]
    assert len(rows) > n
    kernel = ProximityNeighbors().fit(table).kernel_
    coded = code_table(kernel, table)
    columns = make_display_columns(coded.columns)
    some = coded.take(rows)
    dense = rank_rows(kernel.model_, columns, some, np.array(rows), 1).toarray()
    mean = dense[:n].mean(axis=0, dtype=np.float64)
    axes = np.linalg.svd(dense[:n] - mean, full_matrices=False)[2][:2].T
    wanted = (dense - mean) @ axes
    wanted *= np.sign((wanted * data["places"]).sum(axis=0))
    np.testing.assert_allclose(data["places"], wanted, atol=2e-3)


def test_a_page_about_a_small_table_is_small(penguins, tmp_path):
    assert len(write(tmp_path, penguins)) < 3e5


def test_the_same_seed_gives_the_same_page(large, tmp_path):
    assert write(tmp_path, large) == write(tmp_path, large)
    other = write(tmp_path, large, random_state=1)
    assert embedded(write(tmp_path, large))["rows"] != embedded(other)["rows"]


@pytest.mark.slow
def test_many_columns_stay_within_bounds(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(700, 300)))
    table = table.mask(rng.random(table.shape) < 0.1)
    table.columns = [f"column {j}" for j in range(300)]
    text = write(tmp_path, table)
    assert len(text) < 5e6
    assert embedded(text)["n"] == 100


def test_a_kernel_that_was_fitted_to_other_rows(penguins, tmp_path):
    kernel = ProximityKernel(3, sparse_output=False).fit(penguins.iloc[:150])
    kernel.set_output(transform="pandas")
    later = penguins.iloc[140:].reset_index(drop=True)  # with unseen species
    data = embedded(write(tmp_path, later, kernel=kernel))
    similarity = kernel.kernel(later)
    np.fill_diagonal(similarity, -1)
    best = -np.sort(-similarity, axis=1)[:, :5]
    np.testing.assert_allclose(np.array(data["similarity"]) / 1000, best, atol=6e-4)
    assert -2 in data["columns"][0]["bins"]
    assert not kernel.sparse_output
    assert hasattr(kernel.transform(later), "columns")  # its options are as they were


def test_ids_title_and_assumptions(penguins, tmp_path):
    ids = [f"bird {i}" for i in range(len(penguins))]
    text = write(
        tmp_path, penguins, ids=ids, title="Birds", assumptions=["'?' is missing"]
    )
    assert "<title>Birds</title>" in text
    assert "How the file was read '?' is missing" in visible(text)
    assert embedded(text)["ids"] == ids
    assert embedded(text)["clusters"] is None
    assert 'id="clusters"' not in text


def test_doubts_come_before_the_findings_and_only_once(penguins, tmp_path):
    doubt, read = "the column 'year' may be a code", "'?' is missing"
    text = write(tmp_path, penguins, assumptions=[read, doubt], doubts=[doubt])
    words = visible(text)
    assert "Check first The column 'year' may be a code " in words
    assert words.count("may be a code") == 1
    assert words.index("Check first") < words.index("of the cells are missing")
    assert "How the file was read '?' is missing The first rows" in words
    assert "Check first" not in visible(write(tmp_path, penguins, assumptions=[read]))
    text = write(tmp_path, penguins, doubts=["may be missing (if so, --na=-99)"])
    assert '<span class="whole">--na=-99</span>)' in text  # does not break in it


BAD = {
    "ids": ({"ids": ["a"]}, ValueError, "ids must have one name for each of the 344"),
    "kernel": ({"kernel": 3}, TypeError, "kernel must be a fitted ProximityKernel"),
    "clusters": ({"clusters": "3"}, TypeError, "clusters must be a fitted"),
    "not fitted": ({"kernel": ProximityKernel()}, NotFittedError, "not fitted"),
    "k not fitted": ({"clusters": ProximityKMeans()}, NotFittedError, "not fitted"),
}


@pytest.mark.parametrize(("options", "error", "said"), BAD.values(), ids=BAD)
def test_bad_options_are_named(penguins, tmp_path, options, error, said):
    with pytest.raises(error, match=said):
        TableReport(penguins, **options).write_html(tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_bad_paths_and_tables_are_named(penguins, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        TableReport(penguins).write_html(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"folder of .*none"):
        TableReport(penguins).write_html(tmp_path / "none" / "r.html")
    with pytest.raises(TypeError, match=r"Expected a data frame.*got str"):
        TableReport("penguins.csv").write_html(tmp_path / "r.html")


def test_a_failure_leaves_the_older_page(penguins, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("older")
    monkeypatch.setattr(page, "_dump", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        TableReport(penguins).write_html(path)
    assert path.read_text() == "older"
    monkeypatch.undo()
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        TableReport(penguins).write_html(path)
    assert [one.name for one in tmp_path.iterdir()] == ["r.html"]
    assert path.read_text() == "older"


def test_an_absent_package_is_named_with_its_extra():
    package = "jinja2"
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from proximity_kernel.report import TableReport\n"
        "TableReport([[1.0], [2.0]])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert f"{package} is not installed; " + how_to_install("report") in ran.stderr


def test_a_notebook_shows_the_page_in_a_frame(penguins):
    report = TableReport(penguins)
    (inside,) = re.findall(r'^<iframe srcdoc="([^"]*)"', report._repr_html_())
    assert unescape(inside) == report.html


def test_a_table_from_a_file_brings_its_name_ids_and_doubts():
    rows = "".join(f"P{i};{60 + i}\n" for i in range(40))
    table = read_table(StringIO(f"code;weight\nX;-99\nY;-99\n{rows}"), ids="code")
    page = TableReport(table).html
    assert embedded(page)["ids"][:2] == ["X", "Y"]
    assert len(table.doubts) > 0
    assert all(doubt[1:] in visible(page) for doubt in table.doubts)
    assert "<title>given</title>" in TableReport(table, title="given").html
