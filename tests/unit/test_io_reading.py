"""Tables as people write them: what is read, and what is assumed."""

import gzip
import io
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import make_table

from proximity_kernel.io import FileLayout, InputError, Schema, read_table

NAN = float("nan")


def read(path, **options):
    return read_table(path, **options)


def plain(frame):
    """The cells as Python has them, missing ones as None."""
    frame = frame.astype(object)
    return frame.where(frame.notna(), None).to_dict("list")


# -------------------------------------------------------------------- a whole table


def test_a_table_is_read_without_a_flag(put):
    values, text = make_table(500)
    table = read(put("patients.csv", text))
    read_back = table.frame.astype({"sex": object, "ward": object})
    pd.testing.assert_frame_equal(
        read_back, values, check_dtype=False, check_column_type=False
    )
    assert table.ids["patient_id"].tolist()[:2] == ["P00000", "P00001"]


def test_what_was_assumed_of_it_is_said(put):
    path = put("patients.csv", make_table(500)[1])
    size = f"{path}: 500 rows, 9 columns, separator ';'"
    assert read(path).assumptions == (
        f"{size}, decimal comma, missing: '?' or empty",
        "taken as id, not compared: 'patient_id'",
        "left out, all empty: 'notes'",
        "left out, free text (`categorical` keeps it): 'remark' (500 distinct texts)",
        "'visit' read as dates (day.month.year)",
        "10 cells read as missing, not a number: 'unknown' (10), in 'score'",
    )


def test_what_was_assumed_as_data(put):
    table = read(put("patients.csv", "\n" + make_table(500)[1]))
    assert table.layout == FileLayout("text", "utf-8", ";", True, skipped_lines=1)
    columns = {c.name: (c.role, c.kind, c.format) for c in table.schema.columns}
    assert columns["patient_id"][0] == "id"
    assert columns["notes"][0] == columns["remark"][0] == "left out"
    assert columns["weight"] == ("used", "numbers", "1,5")
    assert columns["visit"] == ("used", "dates", "d.m.y")
    assert columns["sex"] == ("used", "categories", "")
    assert list(table.left_out) == ["notes", "remark"]


def test_buffers_of_bytes_and_of_text_are_read_like_files(put, tmp_path):
    text = make_table(100)[1]
    path = put("patients.csv", text)
    with path.open("rb") as file:
        tables = [read(file), read(io.BytesIO(text.encode())), read(io.StringIO(text))]
    for table, name in zip(tables, (str(path), "buffer", "buffer"), strict=True):
        pd.testing.assert_frame_equal(table.frame, read(path).frame)
        assert table.assumptions[0].startswith(f"{name}: 100 rows")
    frame = pd.DataFrame({"x": [1.5, None], "y": ["a", "b"]})
    frame.to_parquet(tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    assert read(io.BytesIO(data)).layout.type == "parquet"
    accents = io.StringIO("a,b\né,1\nü,2\n")
    assert plain(read(accents, encoding="latin-1").frame)["a"] == ["é", "ü"]
    with pytest.raises(InputError, match="buffer: the file is empty"):
        read(io.BytesIO())


def test_one_name_or_several(put):
    path = put("t.csv", "a,b,c\n1,2,-99\n3,4,5\n5,6,7\n")
    table = read(path, ids="a", drop=["b"], missing=-99)
    assert list(table.ids) == ["a"]
    assert list(table.frame) == ["c"]
    assert table.frame["c"].isna().tolist() == [True, False, False]


# ---------------------------------------------------------------------- text files

WRITTEN = {
    "comma": "a,b\n1,x\n2,y\n",
    "tab": "a\tb\n1\tx\n2\ty\n",
    "semicolon": "a;b\n1;x\n2;y\n",
    "bar": "a|b\n1|x\n2|y\n",
    "quotes": '"a","b"\n"1","x"\n"2","y"\n',
    "blanks around": "a , b\n 1, x \n2 ,y\n",
    "windows lines": "a,b\r\n1,x\r\n2,y\r\n",
    "empty lines": "a,b\n\n1,x\n\n2,y\n\n",
    "no last newline": "a,b\n1,x\n2,y",
    "byte order mark": "\ufeffa,b\n1,x\n2,y\n",
    "excel's rule": "sep=;\na;b\n1;x\n2;y\n",
    "utf-16": "a;b\n1;x\n2;y\n".encode("utf-16"),
    "utf-16, big end first": "\ufeffa;b\n1;x\n2;y\n".encode("utf-16-be"),
    "empty lines above": "\n \na,b\n1,x\n2,y\n",
    "comments above": "# by a program\n# in mm, kg\na,b\n1,x\n2,y\n",
    "gzip": gzip.compress(b"a,b\n1,x\n2,y\n"),
    "blanks": "a    b\n1 x\n2  y\n",
}


@pytest.mark.parametrize("content", WRITTEN.values(), ids=WRITTEN)
def test_the_same_table_written_otherwise(put, content):
    table = read(put("t.csv", content))
    assert plain(table.frame) == {"a": [1.0, 2.0], "b": ["x", "y"]}


def test_separators_inside_quotes_are_text(put):
    table = read(put("t.csv", 'a,b\n1,"x, ""y""\nz"\n2,u\n'))
    assert plain(table.frame)["b"] == ['x, "y"\nz', "u"]


def test_decimal_commas_without_a_header(put):
    table = read(put("t.csv", "1,5;2,5;a\n2,5;1.000,25;b\n"))
    assert plain(table.frame) == {
        "column_1": [1.5, 2.5], "column_2": [2.5, 1000.25], "column_3": ["a", "b"],
    }  # fmt: skip
    assert not table.layout.header_rows


@pytest.mark.parametrize(("decimal", "value"), [(None, 1234.0), (",", 1.234)])
def test_a_comma_between_thousands_unless_it_is_said_to_be_decimal(put, decimal, value):
    table = read(put("t.csv", 'x,y\n"1,234",a\n"2,500",b\n'), decimal=decimal)
    assert plain(table.frame)["x"][0] == value


def test_years_may_name_columns_and_numbers_may_not(put):
    table = read(put("t.csv", "land,2019,2020\nfr,1,2\nde,3,4\n"))
    assert list(table.frame) == ["land", "2019", "2020"]
    table = read(put("t.csv", "fr,1,2\nde,3,4\n"))
    assert len(table.frame) == 2
    table = read(put("t.csv", "fr,1,2\nde,3,4\n"), header_rows=1)
    assert list(table.frame) == ["fr", "1", "2"]


def test_another_encoding_is_said(put):
    table = read(put("t.csv", "größe,x\n1,é\n2,a\n".encode("latin-1")))
    assert list(table.frame) == ["größe", "x"]
    assert any("line 1 is not UTF-8" in line for line in table.assumptions)


def test_the_names_that_r_and_pandas_leave_out(put):
    table = read(put("t.csv", '"x"\n"r1",3\n"r2",4\n"r3",5\n'), sep=",")
    assert list(table.frame) == ["x"]
    assert table.ids["row_name"].tolist() == ["r1", "r2", "r3"]
    table = read(put("t.csv", ",x\n0,3\n1,3\n2,5\n"))
    assert list(table.ids) == ["row_name"]


# ------------------------------------------------------------- what columns hold


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["2020-01-31", "2021-02-01"], ["2020-01-31", "2021-02-01"]),
        (["2020-01-31T10:30:00Z", ""], ["2020-01-31T10:30", None]),
        (["31/01/2020", "02/03/2020"], ["2020-01-31", "2020-03-02"]),
        (["01/31/2020", "02/03/2020"], ["2020-01-31", "2020-02-03"]),
        (["03.02.2020", "04.02.2020"], ["2020-02-03", "2020-02-04"]),
        (["3 Feb 2020", "14 Mar 2021"], ["2020-02-03", "2021-03-14"]),
    ],
)
def test_dates(put, cells, expected):
    table = read(put("t.csv", "d,x\n" + "".join(f"{cell},1\n" for cell in cells)))
    expected = pd.Series(pd.to_datetime(expected, format="ISO8601"))
    pd.testing.assert_series_equal(
        table.frame["d"], expected, check_names=False, check_dtype=False
    )


def test_dates_that_can_be_read_in_two_ways_are_left_text_and_it_is_said(put):
    path = put("t.csv", "d,x\n01/02/2020,1\n03/04/2020,2\n")
    table = read(path)
    assert plain(table.frame)["d"] == ["01/02/2020", "03/04/2020"]
    assert any("day or the month first" in line for line in table.assumptions)
    assert read(path, day_first=True).frame["d"][0] == pd.Timestamp("2020-02-01")
    assert read(path, day_first=False).frame["d"][0] == pd.Timestamp("2020-01-02")


def test_codes_with_leading_zeros_are_categories(put):
    table = read(put("t.csv", "zip,x\n01234,1\n99999,2\n"))
    assert plain(table.frame)["zip"] == ["01234", "99999"]
    assert any("leading zeros" in line for line in table.assumptions)


def test_many_categories_are_said(put):
    lines = [f"place {i % 300},{i % 7}\n" for i in range(900)]
    table = read(put("t.csv", "a,b\n" + "".join(lines)))
    assert list(table.frame) == ["a", "b"]
    assert (
        "the rarest share one bin (`drop` leaves a column out): 'a' (300)"
        in table.assumptions[1]
    )


def test_infinity_is_no_number(put):
    table = read(put("t.csv", "x,y\n" + "1,a\n" * 9 + "inf,b\n"))
    assert np.isnan(table.frame["x"].iloc[-1])
    assert any("not a number: 'inf'" in line for line in table.assumptions)


def test_missing_markers_are_added_or_taken_away(put):
    path = put("t.csv", "x,y\n1,a\n2,none\n3,NA\n4,?\n")
    assert plain(read(path).frame)["y"] == ["a", "none", None, None]
    assert plain(read(path, missing=("none",)).frame)["y"] == ["a", None, None, None]
    only = read(path, missing=("?",), default_missing=False)
    assert plain(only.frame)["y"] == ["a", "none", "NA", None]


def test_columns_chosen_by_the_user(put):
    path = put("t.csv", 'a,"b,c",d,e\n1,2,3,7\n2,3,4,8\n')
    table = read(path, ids=("a",), drop=("b,c",), categorical=("d",))
    assert plain(table.frame) == {"d": ["3", "4"], "e": [7.0, 8.0]}
    assert table.ids["a"].tolist() == ["1", "2"]
    assert list(read(path, drop=("a, d",)).frame) == ["b,c", "e"]


# ------------------------------------------------------------------- typed files


@pytest.fixture
def typed():
    return pd.DataFrame(
        {
            "number": [1.5, None, 3.0],
            "text": ["x", "?", "y"],
            "written": ["1", "2", None],
            "when": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
            "flag": [True, False, True],
        }
    )


def _check_typed(table):
    assert plain(table.frame.drop(columns="when")) == {
        "number": [1.5, None, 3.0],
        "text": ["x", None, "y"],
        "written": [1.0, 2.0, None],
        "flag": [1.0, 0.0, 1.0],
    }
    assert table.frame["when"][2] == pd.Timestamp("2021-01-01")


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream", "xlsx"])
def test_typed_files(tmp_path, typed, kind):
    path = tmp_path / f"t.{kind}"
    if kind == "stream":
        held = pa.Table.from_pandas(typed)
        with pa.ipc.new_stream(path, held.schema) as writer:
            writer.write_table(held)
    else:
        write = {"xlsx": "excel"}.get(kind, kind)
        options = {"index": False} if kind == "xlsx" else {}
        getattr(typed, f"to_{write}")(path, **options)
    _check_typed(read(path))


def test_typed_bytes_on_standard_input(monkeypatch, typed):
    data = io.BytesIO()
    typed.to_parquet(data)
    data.seek(0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))
    _check_typed(read(sys.stdin.buffer))


def test_ordered_categories_keep_their_order(tmp_path):
    order = pd.CategoricalDtype(["low", "high"], ordered=True)
    frame = pd.DataFrame({"a": pd.Series(["high", "low", None], dtype=order)})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").frame["a"].dtype == order


def test_a_sheet_by_name_and_by_number(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as writer:
        for name, value in (("one", 1), ("two", 2)):
            pd.DataFrame({"a": [value, value]}).to_excel(writer, sheet_name=name)
    table = read(tmp_path / "t.xlsx")
    assert plain(table.frame)["a"] == [1, 1]
    assert table.layout.sheet == "one"
    assert any(one.startswith("sheet 'one' read: no") for one in table.assumptions)
    for sheet in ("two", "2"):
        assert plain(read(tmp_path / "t.xlsx", sheet=sheet).frame)["a"] == [
            2,
            2,
        ]


def test_names_for_a_table_without_a_header(put, tmp_path):
    path = put("t.csv", "x,red\ny,tan\nx,red\n")
    table = read(path, names=["letter", "color"])
    assert plain(table.frame)["letter"] == ["x", "y", "x"]
    renamed = read(path, names=["letter", "color"], header_rows=1)
    assert plain(renamed.frame)["color"] == ["tan", "red"]
    with pytest.raises(
        InputError, match=r"`names`: 1 name given, and .* has 2 columns"
    ):
        read(path, names=["letter"])
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"`names`: .* is parquet, and the option"):
        read(tmp_path / "t.parquet", names=["a"])
    pd.DataFrame([[1, "u"], [2, "v"]]).to_excel(
        tmp_path / "t.xlsx", header=False, index=False
    )
    assert list(read(tmp_path / "t.xlsx", names=["n", "c"]).frame) == ["n", "c"]


# -------------------------------------------------------------------- later tables


def test_later_rows_are_read_as_the_first(put):
    first = read(put("a.csv", make_table(400)[1]))
    schema = Schema.from_dict(first.schema.to_dict())
    values, text = make_table(3, seed=1)
    table = read(put("b.csv", text), schema=schema)
    pd.testing.assert_frame_equal(
        table.frame.astype({"sex": object, "ward": object}), values, check_dtype=False
    )
    assert list(table.frame) == list(first.frame)


def test_later_rows_may_lack_an_id_and_have_more_columns(put):
    schema = read(
        put("a.csv", "id,x,y\n" + "".join(f"p{i},{i},a\n" for i in range(9)))
    ).schema
    table = read(put("b.csv", "y,new,x\nb,1,2\n"), schema=schema)
    assert plain(table.frame) == {"x": [2.0], "y": ["b"]}
    assert "unknown to the model, left out: 'new'" in table.assumptions
    with pytest.raises(
        InputError, match="fitted with the column 'x', which is not in this table"
    ):
        read(put("c.csv", "y,z\nb,1\n"), schema=schema)
    for names, said in (
        ("X,y", "column 'x', which is not in this table, did you mean 'X' for 'x'"),
        ("X,Y", "not in this table, did you mean 'X' for 'x', 'Y' for 'y'"),
    ):
        with pytest.raises(InputError, match=said):
            read(put("r.csv", f"{names}\n1,a\n"), schema=schema)
    with pytest.raises(InputError, match=r"'x'.*not a number, such as 'old'"):
        read(put("d.csv", "x,y\nold,1\nnew,1\n"), schema=schema)


# ------------------------------------------------------------------- no row is lost


@pytest.mark.parametrize("first", ["7,,", ",7,", "2020-01-05,,", "-1.5,,"])
def test_a_first_row_with_one_value_is_a_row(put, first):
    path = put("t.csv", f"{first}\n1,2,3\n4,,6\n")
    for options in ({}, {"header_rows": 0}, {"names": ["a", "b", "c"]}):
        table = read(path, **options)
        assert table.layout.skipped_lines == 0
        assert len(table.source) == 3


@pytest.mark.parametrize("first", ["x,,", ",,", "?,,"])
def test_a_first_row_of_one_text_is_a_row_if_there_is_no_header(put, first):
    path = put("t.csv", f"{first}\n1,2,3\n4,,6\n")
    assert len(read(path, header_rows=0).source) == 3
    assert len(read(path, names="abc").source) == 3
    titled = put("u.csv", "All of them\n,,\n1,2,3\n4,,6\n")
    assert len(read(titled, header_rows=0).source) == 3


def test_a_first_row_of_a_sheet_is_a_row(tmp_path):
    frame = pd.DataFrame([[7, None, None], [1, 2, 3], [4, None, 6]], dtype=object)
    frame.to_excel(tmp_path / "t.xlsx", index=False, header=False)
    assert len(read(tmp_path / "t.xlsx").source) == 3
    assert len(read(tmp_path / "t.xlsx", header_rows=0).source) == 3
    frame.iloc[0, 0] = "x"
    frame.to_excel(tmp_path / "u.xlsx", index=False, header=False)
    assert len(read(tmp_path / "u.xlsx", names="abc").source) == 3


# ------------------------------------------------------- no text is decoded with loss

TEXTS = {
    "shift_jis": "名前,値\n東京,1\n大阪,2\nソ連,3\n",
    "gb18030": "城市,值\n北京,1\n上海,2\n丏,3\n",
    "cp1251": "город,x\nМосква,1\nЏ,2\nђ,3\n",  # noqa: RUF001  (it is Cyrillic)
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_bytes_without_a_meaning_are_an_error_that_names_encodings(put, encoding):
    path = put("t.csv", TEXTS[encoding].encode(encoding))
    with pytest.raises(InputError, match=r"t.csv: line \d is not utf-8") as caught:
        read(path)
    named = {"shift_jis": "cp932"}.get(encoding, encoding)
    assert f" {named} or " in str(caught.value)
    table = read(path, encoding=encoding)
    assert table.source.iloc[:, 0].tolist() == [
        line.partition(",")[0] for line in TEXTS[encoding].split()[1:]
    ]


@pytest.mark.parametrize("byte", [0x81, 0x8D, 0x8F, 0x90, 0x9D])
def test_no_byte_is_replaced(put, byte):
    path = put("t.csv", b"a,b\nx" + bytes([byte]) + b",1\nxy,2\n")
    with pytest.raises(InputError, match=r"line 2 is not utf-8 .*, nor Windows Latin"):
        read(path)
    assert read(path, encoding="latin-1").frame["a"][0] == "x" + chr(byte)


def test_utf_16_that_is_cut_off_is_an_error(put):
    path = put("t.csv", "a;b\n1;x\n2;y\n".encode("utf-16")[:-1])
    with pytest.raises(InputError, match="is not utf-16"):
        read(path)


def test_half_of_a_surrogate_pair_is_an_error():
    with pytest.raises(InputError, match="surrogates not allowed; decode the text"):
        read(io.StringIO("a,b\n\ud800,1\nx,2\n"))
