"""Tables that are messier still: units, sheets with titles, codes for missing cells."""

import io

import numpy as np
import openpyxl
import pandas as pd
import pytest

from proximity_kernel.io import InputError, Schema, read_table


def read(path, schema=None, **options):
    return read_table(path, schema=schema, **options)


@pytest.fixture
def read_text(tmp_path):
    """Read a text as a file."""

    def write(text, schema=None, encoding="utf-8", **options):
        path = tmp_path / "t.csv"
        path.write_bytes(text.encode(encoding))
        return read(path, schema, **options)

    return write


def column(cells):
    """A column of quoted cells beside one of numbers."""
    return "x,y\n" + "".join(f'"{cell}",{i % 3}\n' for i, cell in enumerate(cells))


# ----------------------------------------------------------------- numbers and dates


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["$1,234.50", "-$5", "$0.5"], [1234.5, -5, 0.5]),
        (["1.234,50 €", "5,1 €", "7,0 €"], [1234.5, 5.1, 7]),
        (["45%", "3.5 %", "?"], [45, 3.5, np.nan]),
        (["70 kg", "81.5kg", "70 kg"], [70, 81.5, 70]),
        (["21°C", "-3°C", "0°C"], [21, -3, 0]),
        (["1 234,5", "12\u00a0000,25", "3,5"], [1234.5, 12000.25, 3.5]),
        (["1'234.5", "12'000", "3.5"], [1234.5, 12000, 3.5]),
    ],
)
def test_numbers_with_units_and_gaps(read_text, cells, expected):
    table = read_text(column(cells))
    np.testing.assert_array_equal(table.frame["x"].astype(float), expected)


def test_units_are_said_and_kept_with_a_model(read_text):
    first = read_text("price,w\n" + "".join(f"${i}.5,{i} kg\n" for i in range(30)))
    assert (
        "read as numbers, without the unit: 'price' ($) and 'w' (kg)"
        in first.assumptions
    )
    schema = Schema.from_dict(first.schema.to_dict())
    later = read_text("price,w\n$7.5,3 kg\n", schema)
    assert later.frame.iloc[0].tolist() == [7.5, 3.0]


@pytest.mark.parametrize(
    "cells",
    [["5 kg", "9 lb"], ["Q1", "Q2"], ["3/5", "4/5"], ["T1", "5"], ["2", "2a"]],
)
def test_what_is_no_number_with_one_unit_is_a_text(read_text, cells):
    assert read_text(column(cells * 3)).frame["x"].tolist() == cells * 3


@pytest.mark.parametrize(
    ("cells", "expected", "said"),
    [
        (["03.02.2020 14:30", "4.2.2020 7:05"], "2020-02-03T14:30", "day.month.year"),
        (["1/31/21 10:30 PM", "2/1/21 9:00 AM"], "2021-01-31T22:30", "1969 to 2068"),
        (["31.01.68", "01.02.70"], "2068-01-31", "1969 to 2068"),
        (["March 5, 2021", "Apr 6, 2021"], "2021-03-05", "month day, year"),
        (["5 September 2021", "6 May 2021"], "2021-09-05", "day month year"),
        (["2021-03-01 10:00:00 UTC"] * 2, "2021-03-01T10:00", "ISO, in UTC"),
        (["2021-03-01T01:00:00+02:00"] * 2, "2021-02-28T23:00", "ISO, in UTC"),
        (["2021/03/01 12:15:30.5"] * 2, "2021-03-01T12:15:30.5", "year/month/day"),
    ],
)
def test_dates_with_times_names_and_short_years(read_text, cells, expected, said):
    table = read_text(column(cells))
    assert table.frame["x"][0] == pd.Timestamp(expected)
    assert any(
        "'x' read as dates" in line and said in line for line in table.assumptions
    )


def test_what_columns_have_in_common_is_said_once(read_text):
    names = [f"q{j}" for j in range(9)]
    rows = [["prefer not to say"] * 9, *([str(i % 5)] * 9 for i in range(20))]
    table = read_text("\n".join(map(",".join, [names, *rows])))
    unmatched = [line for line in table.assumptions if "prefer" in line]
    assert len(unmatched) == 1
    assert unmatched[0].startswith("9 cells read as missing, not a number: 'prefer")
    assert unmatched[0].endswith("say' (9), in 'q0', 'q1', 'q2' and 6 more")


def test_values_without_letters_are_no_ids(read_text):
    clocks = [f"{i // 60:02d}:{i % 60:02d}" for i in range(30)]
    table = read_text(column(clocks))
    assert not len(table.ids.columns)
    assert any("confirms it): 'x' (30" in line for line in table.assumptions)


def test_numbers_that_name_rows_and_texts_that_differ_in_case(read_text):
    lines = [f"{1000 + 7 * i},{['Red', 'red', 'tan'][i % 3]}\n" for i in range(30)]
    table = read_text("case,b\n" + "".join(lines))
    assert list(table.frame) == ["case", "b"]
    assert "differ only in case or blanks, kept apart" in " ".join(table.assumptions)
    table = read_text("Fallnummer,b\n" + "".join(lines))
    assert list(table.ids) == ["Fallnummer"]


# ------------------------------------------------------------ codes of missing cells

AGES = [34, -99, 51, 28, -99, 63]


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_a_code_is_pointed_out_and_taken_as_missing_if_asked(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    frame = pd.DataFrame({"age": AGES, "b": list("xyxyxy")})
    write = {"xlsx": frame.to_excel, "csv": frame.to_csv}.get(kind, frame.to_parquet)
    write(path, index=False)
    table = read(path)
    assert table.assumptions[-1].startswith(
        "'age': -99 (2 cells) may stand for a missi"
    )
    assert "`missing=-99`" in table.assumptions[-1]
    assert table.frame["age"].tolist() == AGES
    table = read(path, missing=("-99",))
    assert np.isnan(table.frame["age"]).tolist() == [age == -99 for age in AGES]
    assert "missing: '-99'" in table.assumptions[0]
    assert len(table.assumptions) == 1
    later = read(path, table.schema)
    assert later.frame["age"].isna().sum() == 2


@pytest.mark.parametrize(
    "numbers",
    [
        [97, 98, 99, 99, 96, 95],  # the next after the others
        [-200, -99, -99, 5, 300, 10],  # within the others
        [1, 2, 3, 4, 5, -99],  # once
        [0, 0, -9, -9, 0, 0],  # nothing to compare it with
    ],
)
def test_a_code_among_the_values_is_one_of_them(read_text, numbers):
    assert not any(
        "may stand for" in line for line in read_text(column(numbers)).assumptions
    )


def test_a_marker_that_is_not_found_is_said(read_text):
    table = read_text(column([1, 2, "x", 4]), missing=("x", "bogus"))
    assert "`missing` bogus: not found in any cell" in table.assumptions
    assert "`missing` x: not found in any cell" not in table.assumptions


# ------------------------------------------------------------------- names and lines


def test_columns_of_one_name_are_told_apart(read_text, tmp_path):
    table = read_text("a,a_2,a,a\n1,2,3,4\n5,6,7,9\n")
    assert list(table.frame) == ["a", "a_2", "a_3", "a_4"]
    assert table.frame["a_4"].tolist() == [4, 9]
    assert any("several columns are called 'a'" in line for line in table.assumptions)
    frame = pd.DataFrame([["x", 1, 2], ["y", 3, 4]], columns=["k", "v", "v"])
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    assert list(read(tmp_path / "t.xlsx").frame) == ["k", "v", "v_2"]


def test_titles_above_a_text_are_left_out_and_said(read_text):
    rows = "sample,ph,site\ns1,7.1,a\ns2,6.9,b\ns3,7.0,a\n"
    table = read_text("Exported on 2023-05-01\n\nby hand,,\n" + rows)
    assert table.frame["ph"].tolist() == [7.1, 6.9, 7.0]
    assert table.layout.skipped_lines == 3  # one of them is empty
    skipped = "2 lines above the table skipped: 'Exported on 2023-05-01'"
    assert skipped in table.assumptions
    with pytest.raises(InputError, match="line 2 has 4 fields where 2"):
        read_text("a,b\n" + "1,2,3,4\n" * 9)


def test_a_sheet_with_a_title_and_empty_rows(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["Sales of the northern sites"],
        [],
        ["site", "region", "units"],
        ["a", "north", 1],
        ["b", "north", 2],
        [],
        ["c", "south", 3],
    ):
        sheet.append(row)
    sheet.merge_cells("A1:C1")
    book.save(tmp_path / "t.xlsx")
    table = read(tmp_path / "t.xlsx")
    assert table.frame["region"].tolist() == ["north", "north", "south"]
    assert table.frame["units"].tolist() == [1, 2, 3]
    title = "1 row above the table skipped: 'Sales of the northern sites'"
    assert title in table.assumptions


def test_new_rows_that_are_written_otherwise(read_text):
    text = "d;w\n" + "".join(f"{i + 1:02d}.02.2020;{i},5\n" for i in range(20))
    schema = read_text(text).schema
    table = read_text("d,w\n2021-03-04,7.25\n2021-03-05,8.5\n", schema)
    assert table.frame["w"].tolist() == [7.25, 8.5]
    assert table.frame["d"][1] == pd.Timestamp("2021-03-05")
    assert "'w' has another format than when fitted: 1.5" in table.assumptions
    with pytest.raises(InputError, match=r"'d' .* are not a date, such as '3/4/2021'"):
        read_text("d,w\n3/4/2021,7.25\n3/5/2021,8.5\n3/6/2021,1.5\n", schema)


def test_a_column_without_values_has_no_other_format(tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("age,w\n" + "".join(f"{20 + i},{i}.5\n" for i in range(9)))
    new.write_text("age,w\n33,\n40,\n")
    table = read_table(new, schema=read_table(old).schema)
    assert not [one for one in table.assumptions if "another format" in one]
    assert table.frame["w"].isna().all()


@pytest.mark.parametrize("separator", [",", ";", "|", "\t"])
@pytest.mark.parametrize("above", [["My title"], ["# x", "Ward"], ["Ward", "June"]])
def test_titles_are_skipped_whatever_separates_the_cells(separator, above):
    """A title has no separator, so it must not decide which one the table has."""
    rows = ["a;b;c", "1;2;x", "3;4;y", "5;6;x", "2;2;y"]
    text = "\n".join([*above, *(row.replace(";", separator) for row in rows)])
    table = read_table(io.StringIO(text))
    assert list(table.frame.columns) == ["a", "b", "c"]
    assert len(table.frame) == len(rows) - 1


@pytest.mark.parametrize("above", ["", "Ward\n", '"Ward\n3"\n'])
def test_a_line_break_in_the_first_name_is_no_title(above):
    rows = "".join(f"{i}.5,{i % 3},m\n" for i in range(9))
    text = f'{above}"Weight\n(kg)",Height,Sex\n{rows}'
    table = read_table(io.StringIO(text), categorical="Weight (kg)")
    assert list(table.frame) == ["Weight\n(kg)", "Height", "Sex"]
    assert len(table.frame) == 9
    assert table.schema.columns[0].kind == "categories"
