"""Results in files: each format read back, complete or absent, never over an input."""

import csv
import json
import os
import zipfile
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from proximity_kernel.cli.program import find_format
from proximity_kernel.io import InputError
from proximity_kernel.io import write as writing
from proximity_kernel.io.write import write_frame

FRAME = pd.DataFrame(
    {
        "id": ["a", "b;,\t", "ü"],
        "n": [1, 2, 3],
        "x": [0.5, None, 2.0],
        "f": [True, False, True],
    }
)
READERS = {
    "csv": pd.read_csv,
    "tsv": lambda path: pd.read_csv(path, sep="\t"),
    "parquet": pd.read_parquet,
    "arrow": lambda path: pa.ipc.open_file(path).read_all().to_pandas(),
    "json": lambda path: pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))),
    "jsonl": lambda path: pd.read_json(path, lines=True),
    "xlsx": pd.read_excel,
}


@pytest.mark.parametrize("ending", READERS)
def test_formats_by_ending(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    write_frame(FRAME, str(path), find_format(str(path), None))
    pd.testing.assert_frame_equal(READERS[ending](path), FRAME, check_dtype=False)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_format_may_be_asked_for(tmp_path):
    path = tmp_path / "out"
    write_frame(FRAME, str(path), find_format(str(path), "tsv"))
    assert path.read_text(encoding="utf-8").splitlines()[0] == "id\tn\tx\tf"
    with pytest.raises(InputError, match="it has no ending"):
        find_format(str(path), None)


def test_ids_of_several_kinds_become_text_in_typed_files(tmp_path):
    frame = pd.DataFrame({"id": ["a", 1, None]}, dtype=object)
    write_frame(frame, str(tmp_path / "o.parquet"), "parquet")
    assert pd.read_parquet(tmp_path / "o.parquet")["id"].to_list()[:2] == ["a", "1"]


@pytest.mark.parametrize("form", READERS)
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, form):
    path = tmp_path / f"out.{form}"
    path.write_text("old")

    @contextmanager
    def fail(file):
        file.write(b"half")
        yield list
        raise OSError("no space left")

    monkeypatch.setitem(writing._WRITERS, form, fail)
    with pytest.raises(OSError, match="no space"):
        write_frame(FRAME, str(path), form)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_links_and_devices_stay_what_they_are(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    write_frame(FRAME, str(link), "csv")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8").startswith("id,n")
    write_frame(FRAME, os.devnull, "csv")
    assert not Path(os.devnull).is_file()


def test_a_sheet_holds_so_many_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "MAX_EXCEL_ROWS", 2)
    with pytest.raises(InputError, match="at most 2 rows, and there are 3"):
        write_frame(FRAME, str(tmp_path / "o.xlsx"), "xlsx")
    assert not list(tmp_path.iterdir())


def test_excel_gets_text_where_it_has_no_such_moment(tmp_path):
    path = tmp_path / "t.xlsx"
    zone = pd.to_datetime(["2021-03-01T01:00:00+02:00"]).tz_convert("Europe/Berlin")
    fine = pd.to_datetime(["2021-03-01 10:00:00.123456"])
    frame = pd.DataFrame({"zone": zone, "fine": fine, "old": [date(1850, 1, 2)]})
    write_frame(frame.assign(day=[datetime(2021, 3, 1)]), str(path), "xlsx")
    row = [cell.value for cell in openpyxl.load_workbook(path).active[2]]
    assert row == [
        "2021-03-01 00:00:00+01:00",
        "2021-03-01 10:00:00.123456",
        "1850-01-02",
        datetime(2021, 3, 1),
    ]


def test_text_is_never_a_formula_in_excel(tmp_path):
    path = tmp_path / "t.xlsx"
    texts = ["=1+1", "#N/A", "+1", "@x", "=HYPERLINK(0)"]
    frame = pd.DataFrame({"=cmd": texts, "n": range(5)})
    write_frame(frame, str(path), "xlsx")
    sheet = openpyxl.load_workbook(path).active
    assert [(cell.value, cell.data_type) for cell in sheet["A"]] == [
        (text, "s") for text in ["=cmd", *texts]
    ]
    assert b"<f>" not in zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize(
    ("frame", "form", "says"),
    [
        ({"a": ["x", "b\x07"]}, "xlsx", "'a' holds the control character '.x07'"),
        ({"a": ["x" * 32_768]}, "xlsx", "'a' has a text of 32,768 characters"),
        ({"a\x00": [1]}, "xlsx", "control character"),
        ({"a": [b"x"]}, "json", "'a' holds binary data; name the file .parquet"),
        ({"a": [b"x"]}, "jsonl", "'a' holds binary data"),
        ({"a": [float("inf")]}, "json", "'a' holds infinity"),
    ],
)
def test_what_a_format_cannot_hold_is_named(tmp_path, frame, form, says):
    path = tmp_path / f"t.{form}"
    with pytest.raises(InputError, match=says):
        write_frame(pd.DataFrame(frame), str(path), form)
    assert not list(tmp_path.iterdir())


def test_every_text_comes_back_from_csv(tmp_path):
    texts = ["", "a", '"', "a,b", "a\rb", "a\nb", " x ", '5" pipe', "\t", "é", "''"]
    for separator, form in ((",", "csv"), ("\t", "tsv")):
        path = tmp_path / f"t.{form}"
        for frame in ({"x": texts}, {"x": texts, "y": range(11)}):
            write_frame(pd.DataFrame(frame), str(path), form)
            with path.open(newline="", encoding="utf-8") as file:
                rows = list(csv.reader(file, delimiter=separator))
            assert [row[0] for row in rows[1:]] == texts
