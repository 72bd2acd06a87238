"""What `impute` writes: observed cells as the file held them, gaps in their form."""

import csv
import datetime as dt
import json
import re
from decimal import Decimal

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from command_line import run_inside

N_ROWS = 40
GAPS = [i for i in range(N_ROWS) if i % 7 == 3]
HALF = [i % 2 for i in range(N_ROWS)]

# Column of text -> its cells, and the pattern of filled ones.
TEXTS = {
    "id": ([str(2**60 + 2 * i + 1) for i in range(N_ROWS)], None),
    "huge": ([str(10**25 + 7 * x) for x in HALF], r"1\d{25}"),
    "price": ([f"${1000 * x + i:,.2f}" for i, x in enumerate(HALF)], r"\$[\d,]+\.\d\d"),
    "debt": ([f"-${1000 + x}" for x in HALF], r"-\$1\d{3}"),
    "weight": ([f"{60 + 9 * x}.50 kg" for x in HALF], r"6\d\.\d\d kg"),
    "height": ([f"{160 + 9 * x}{' cm' if i % 3 else ''}" for i, x in enumerate(HALF)],
               r"16\d( cm)?"),
    "share": ([f"{10 + 30 * x}%" for x in HALF], r"\d\d%"),
    "flag": ([("true", "false")[x] for x in HALF], "true|false"),
    "blanks": ([(" a", " b")[x] for x in HALF], " a| b"),
    "score": ([str(17 * x) for x in HALF], r"\d+"),
    "day": ([f"{1 + i % 28}.{1 + 6 * x}.2020" for i, x in enumerate(HALF)],
            r"[1-9]\d?\.[1-9]\d?\.2020"),
    "when": ([f"2020-0{1 + x}-1{i % 9}T10:{i:02}:00+02:00" for i, x in enumerate(HALF)],
             r"2020-0\d-\d\dT\d\d:\d\d:00\+02:00"),
    "clock": ([f"{3 + x}/1{3 + i % 5}/2020 {1 + i % 12}:30 PM"
               for i, x in enumerate(HALF)], r"\d/\d+/2020 \d+:\d\d [AP]M"),
    "month": ([f"{5 + x} {('March', 'September')[x]} 2021" for x in HALF],
              r"\d\d? [A-Z][a-z]+ 2021"),
    "limit": (["<0.5" if i % 13 == 0 else f"{1 + x}.25" for i, x in enumerate(HALF)],
              r"\d\.\d\d"),
    "mass": ([f"{3750 + x} g" if i % 5 == 0 else f"3.{70 + x} kg"
              for i, x in enumerate(HALF)], r"3\.7\d\d? kg"),
    "stamp": ([f"2020{1 + 5 * x:02}{10 + i % 19}" for i, x in enumerate(HALF)],
              r"20200\d\d\d"),
    "zip": ([f"101{15 + 2 * x}" for x in HALF], "10115|10117"),
    "sure": ([("TRUE", "Yes", "1", "no", "False", "0")[3 * x + i % 3]
              for i, x in enumerate(HALF)], "TRUE|Yes|1|no|False|0"),
}  # fmt: skip


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The cells of the table above with gaps, and as impute writes them as CSV."""
    place = tmp_path_factory.mktemp("texts")
    columns = {name: list(cells) for name, (cells, _) in TEXTS.items()}
    for name, cells in columns.items():
        for i in GAPS if name != "id" else ():
            cells[i] = ("", "?")[i % 2]
    path = place / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    assert run_inside("impute", path, "-o", place / "o.csv", "--decimal", ".") == 0
    with (place / "o.csv").open(newline="") as file:
        names, *rows = csv.reader(file)
    filled = dict(zip(names, zip(*rows, strict=True), strict=True))
    return path, columns, filled


@pytest.mark.parametrize("name", TEXTS)
def test_text_comes_back_to_the_byte_and_gaps_have_its_form(written, name):
    _, cells, filled = written
    known = [i for i, cell in enumerate(cells[name]) if cell not in ("", "?")]
    assert [filled[name][i] for i in known] == [cells[name][i] for i in known]
    for i in range(N_ROWS):
        if i not in known:
            assert re.fullmatch(TEXTS[name][1], filled[name][i]), filled[name][i]


def test_decimal_commas_are_filled_with_commas(tmp_path):
    lines = [f"{'' if i in GAPS else f'{1 + x},50'};{x}" for i, x in enumerate(HALF)]
    (tmp_path / "t.csv").write_text("\n".join(["a;b", *lines, ""]))
    assert run_inside("impute", tmp_path / "t.csv", "-o", tmp_path / "o.tsv") == 0
    rows = (tmp_path / "o.tsv").read_text().splitlines()[1:]
    filled = [row.split("\t")[0] for row in rows]
    assert all(re.fullmatch(r"[12],\d\d", cell) for cell in filled)
    assert {cell for i, cell in enumerate(filled) if i not in GAPS} == {"1,50", "2,50"}


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet", "arrow", "xlsx"])
def test_text_in_typed_files_is_typed_only_where_nothing_is_lost(
    written, tmp_path, ending
):
    path, cells, _ = written
    out = tmp_path / f"o.{ending}"
    assert run_inside("impute", path, "-o", out, "--quiet") == 0
    rows = read_rows(out)
    assert len(rows) == N_ROWS
    for i, row in enumerate(rows):
        assert row["id"] == cells["id"][i]
        assert type(row["score"]) is int
        if i not in GAPS:
            for name in ("huge", "price", "weight", "when", "limit", "flag"):
                assert row[name] == cells[name][i]


TYPES = {
    "id": (pa.int64(), [2**60 + 2 * i + 1 for i in range(N_ROWS)]),
    "whole": (pa.int16(), [7 * x for x in HALF]),
    "unsigned": (pa.uint64(), [2**63 + x for x in HALF]),
    "decimal": (pa.decimal128(10, 2), [Decimal("1.50") + x for x in HALF]),
    "day": (pa.date32(), [dt.date(2020, 1 + x, 5) for x in HALF]),
    "zone": (pa.timestamp("ms", "Europe/Berlin"),
             [dt.datetime(2020, 1 + x, 5, 10, tzinfo=dt.UTC) for x in HALF]),
    "flag": (pa.bool_(), [x == 1 for x in HALF]),
    "list": (pa.list_(pa.int64()), [[x, 2] for x in HALF]),
    "record": (pa.struct({"a": pa.int64()}), [{"a": x} for x in HALF]),
    "kind": (pa.dictionary(pa.int8(), pa.string()), ["ab"[x] for x in HALF]),
    "single": (pa.float32(), [x + 0.5 for x in HALF]),
    "long": (pa.float64(), [x + 0.1234567890123456 for x in HALF]),
    "time": (pa.time32("s"), [dt.time(10 + x) for x in HALF]),
    "span": (pa.duration("s"), [dt.timedelta(hours=x) for x in HALF]),
    "text": (pa.large_string(), [f"{x}.50 kg" for x in HALF]),
}  # fmt: skip


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """A file of many types, with gaps in all columns but the id."""
    columns = {
        name: pa.array(
            [None if i in GAPS and name != "id" else c for i, c in enumerate(cells)],
            kind,
        )
        for name, (kind, cells) in TYPES.items()
    }
    path = tmp_path_factory.mktemp("typed") / "t.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def read_rows(path):
    """The rows of a file, by the reader of its format."""
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line, parse_float=Decimal) for line in lines]
    if path.suffix == ".xlsx":
        names, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
        return [dict(zip(names, row, strict=True)) for row in rows]
    if path.suffix == ".arrow":
        return ipc.open_file(path).read_all().to_pylist()
    return pq.read_table(path).to_pylist()


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_types_and_values_come_back(typed, tmp_path, ending):
    out = tmp_path / f"o.{ending}"
    assert run_inside("impute", typed, "-o", out, "--quiet") == 0
    before = pq.read_table(typed)
    after = pq.read_table(out) if ending == "parquet" else ipc.open_file(out).read_all()
    assert after.schema.remove_metadata() == before.schema.remove_metadata()
    for name in TYPES:
        old, new = before[name].to_pylist(), after[name].to_pylist()
        assert [b for a, b in zip(old, new, strict=True) if a is not None] == [
            a for a in old if a is not None
        ]
        assert name in ("list", "record") or None not in new
    assert set(after["flag"].to_pylist()) == {True, False}
    assert set(after["time"].to_pylist()) == {dt.time(10), dt.time(11)}


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_json_has_every_digit(typed, tmp_path, ending):
    out = tmp_path / f"o.{ending}"
    assert run_inside("impute", typed, "-o", out, "--quiet") == 0
    row, later = read_rows(out)[:2]
    assert row["id"] == 2**60 + 1
    assert str(row["decimal"]) == "1.50"
    assert float(later["long"]) == 1.1234567890123456
    assert row["day"] == "2020-01-05"
    assert row["zone"] == "2020-01-05T11:00:00+01:00"
    assert row["flag"] is False
    assert row["list"] == [0, 2]
    assert row["record"] == {"a": 0}


def test_excel_keeps_types_and_digits(typed, tmp_path):
    first, second = tmp_path / "a.xlsx", tmp_path / "b.xlsx"
    assert run_inside("impute", typed, "-o", first, "--quiet") == 0
    row, later = read_rows(first)[:2]
    assert row["id"] == 2**60 + 1
    assert later["long"] == 1.1234567890123456
    assert row["flag"] is False
    assert row["zone"] == "2020-01-05 11:00:00+01:00"
    assert run_inside("impute", first, "-o", second, "--quiet") == 0
    for old, new in zip(read_rows(first), read_rows(second), strict=True):
        kept = {name: cell for name, cell in old.items() if cell is not None}
        assert {name: new[name] for name in kept} == kept
        assert [type(new[name]) for name in kept] == list(map(type, kept.values()))


def test_ids_keep_their_type_in_every_result(typed, tmp_path):
    out = tmp_path / "c.parquet"
    for command, names in (
        (("cluster", "-k", "2"), ["id"]),
        (("neighbors", "-k", "1"), ["id", "neighbor_id"]),
    ):
        assert run_inside(command[0], typed, *command[1:], "-o", out, "--quiet") == 0
        table = pq.read_table(out)
        for name in names:
            assert table.schema.field(name).type == pa.int64()
            assert set(table[name].to_pylist()) <= set(TYPES["id"][1])


def test_a_model_may_know_categories_that_the_table_lacks(tmp_path):
    rows = [f"{x},{'ab'[x]}\n" for x in HALF]
    (tmp_path / "old.csv").write_text("x,kind\n" + "".join(rows))
    (tmp_path / "new.csv").write_text("x,kind\n0,\n1,b\n")
    pq.write_table(pa.table({"x": [0, 1], "kind": ["", "b"]}), tmp_path / "new.parquet")
    model = tmp_path / "m.pk"
    options = ("-o", tmp_path / "o.csv", "--quiet")
    run_inside("impute", tmp_path / "old.csv", "--save-model", model, *options)
    for new in ("new.csv", "new.parquet"):
        assert run_inside("impute", tmp_path / new, "--model", model, *options) == 0
        assert (tmp_path / "o.csv").read_text() == "x,kind\n0,a\n1,b\n"


def test_what_cannot_be_read_is_counted_and_left(tmp_path, capsys):
    rows = [f"{'' if i in GAPS else 'lost' if i == 5 else x},{x}\n"
            for i, x in enumerate(HALF)]  # fmt: skip
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(rows))
    assert run_inside("impute", tmp_path / "t.csv", "-o", tmp_path / "o.csv") == 0
    assert (
        f"{len(GAPS)} missing cells filled; 1 unreadable cell is left as "
        "written (--na=TEXT marks TEXT as missing)" in capsys.readouterr().err
    )
    assert (tmp_path / "o.csv").read_text().splitlines()[6] == "lost,1"


def test_suspected_codes_are_not_averaged_into_estimates(tmp_path):
    cells = ["" if i in GAPS else "99" if i % 5 == 0 else str(1 + i % 4)
             for i in range(N_ROWS)]  # fmt: skip
    rows = [f"{cell},{x}\n" for cell, x in zip(cells, HALF, strict=True)]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(rows))
    out, doubts = tmp_path / "o.csv", tmp_path / "u.csv"
    options = ("-o", out, "--uncertainty", doubts)
    assert run_inside("impute", tmp_path / "t.csv", *options) == 0
    filled = [line.split(",")[0] for line in out.read_text().splitlines()[1:]]
    assert {filled[i] for i in GAPS} <= set("1234")
    assert [filled[i] for i in range(N_ROWS) if i not in GAPS] == [
        c for c in cells if c
    ]
    written = [line.split(",")[1] for line in doubts.read_text().splitlines()[1:]]
    assert all((float(written[i]) > 0) == (i in GAPS) for i in range(N_ROWS))


def test_a_total_is_written_back_and_not_used(tmp_path):
    rows = [f"c{i},{'' if i in GAPS else 3 + x},{x}" for i, x in enumerate(HALF)]
    (tmp_path / "t.csv").write_text("\n".join(["id,a,b", *rows, "TOTAL,9999,", ""]))
    for ending in ("csv", "parquet"):
        out = tmp_path / f"o.{ending}"
        assert run_inside("impute", tmp_path / "t.csv", "-o", out) == 0
    lines = (tmp_path / "o.csv").read_text().splitlines()[1:]
    assert lines[-1] == "TOTAL,9999,"
    assert len(lines) == N_ROWS + 1
    assert {line.split(",")[1] for line in lines[:-1]} <= {"3", "4"}
    assert read_rows(out)[-1]["a"] == 9999


@pytest.mark.parametrize("ending", ["parquet", "json", "xlsx"])
def test_an_empty_total_does_not_make_its_column_text(tmp_path, ending):
    rows = [f"c{i},{'' if i in GAPS else 3 + x},2020-0{1 + x}-11,{x}.5"
            for i, x in enumerate(HALF)]  # fmt: skip
    (tmp_path / "t.csv").write_text("\n".join(["id,a,day,b", *rows, "TOTAL,,,20", ""]))
    out = tmp_path / f"o.{ending}"
    assert run_inside("impute", tmp_path / "t.csv", "-o", out) == 0
    *others, total = read_rows(out)
    assert total == {"id": "TOTAL", "a": None, "day": None, "b": 20}
    assert len(others) == N_ROWS
    assert {type(row["a"]) for row in others} == {int}
    assert [row["a"] for i, row in enumerate(others) if i not in GAPS] == [
        3 + x for i, x in enumerate(HALF) if i not in GAPS
    ]
    if ending == "parquet":
        assert {type(row["day"]) for row in others} == {dt.datetime}


@pytest.mark.parametrize("kind", ["date32", "timestamp[s]", "timestamp[us]", "date64"])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "jsonl", "xlsx"])
def test_days_beyond_the_year_9999(tmp_path, kind, ending):
    days = np.array([f"{12_000 + i}-03-01" for i in range(20)] + ["NaT"], "M8[D]")
    held = pa.array(days.astype("M8[s]")).cast(kind)
    table = pa.table({"d": held, "c": list("ab") * 10 + ["a"]})
    pq.write_table(table, tmp_path / "in.parquet")
    written = pq.read_table(tmp_path / "in.parquet")["d"]
    target = tmp_path / f"out.{ending}"
    assert run_inside("impute", tmp_path / "in.parquet", "-o", target) == 0
    if ending == "parquet":
        filled = pq.read_table(target)["d"]
        assert filled[:-1].equals(written[:-1])
        assert filled.null_count == 0
    if ending == "csv":
        assert "12019-03-01" in target.read_text().splitlines()[20]
