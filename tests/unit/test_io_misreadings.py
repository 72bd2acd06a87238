"""Cells that are easily misread: noticed, and said in one line each."""

import io

import numpy as np
import openpyxl
import pandas as pd
import pytest

from proximity_kernel.cli.filled_cells import fill_missing
from proximity_kernel.io import InputError, Schema, read_table


def read(text, **options):
    return read_table(io.StringIO(text), **options)


def column(name, cells):
    """A text of one column beside one of numbers."""
    return f"{name},y\n" + "".join(f"{cell},{i % 3}\n" for i, cell in enumerate(cells))


def has_line(table, *parts):
    return any(all(part in line for part in parts) for line in table.assumptions)


@pytest.mark.parametrize(
    ("cells", "expected", "unit"),
    [
        (["3750 g", "3.80 kg", "4 kg", "?"], [3.75, 3.8, 4, np.nan], "kg, g"),
        (["90 min", "2 h", "1.5h"], [1.5, 2, 1.5], "h, min"),
        (["5 kg", "5 KG", "5000 g", "6 kg"], [5, 5, 5, 6], "kg, KG, g"),
    ],
)
def test_units_are_converted_to_the_most_frequent(cells, expected, unit):
    table = read(column("w", cells))
    np.testing.assert_allclose(table.frame["w"].astype(float), expected)
    assert table.schema.columns[0].unit == unit
    assert has_line(table, "converted to one unit: 'w'")


def test_new_rows_are_converted_to_the_unit_of_the_model():
    first = read(column("w", ["3750 g", "3.80 kg", "4 kg"]))
    schema = Schema.from_dict(first.schema.to_dict())
    later = read(column("w", ["500 g", "250 g"]), schema=schema)
    assert later.frame["w"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("cells", [["5 kg", "3 cm"], ["3,750 g", "4 kg"], ["1 g", "2"]])
def test_units_that_cannot_be_converted_are_left(cells):
    assert (
        read(column("w", [f'"{cell}"' for cell in cells])).schema.columns[0].unit == ""
    )


def test_some_numbers_may_lack_the_unit():
    cells = [f"{160 + i}{' cm' if i % 3 else ''}" for i in range(30)]
    table = read(column("height", [*cells, "k.A.", "unknown"]))
    assert table.frame["height"].tolist()[:30] == list(range(160, 190))
    assert table.frame["height"].isna().sum() == 2
    assert has_line(table, "without the unit: 'height' (cm, which 10 cells lack)")


@pytest.mark.parametrize(
    "cells",
    [
        ["2", "2a", "3", "3a", "1"] * 6,  # stages
        [*map(str, range(30)), "3 weeks"],  # beside days
    ],
)
def test_a_rare_or_doubtful_unit_is_not_removed(cells):
    assert read(column("w", cells)).schema.columns[0].unit == ""


def test_a_few_cells_in_another_unit_stay_unread():
    cells = [f"{60 + i / 10} kg" for i in range(98)] + ["82 lb", "64"]
    table = read(column("weight", cells))
    assert table.frame["weight"].isna().sum() == 1
    assert table.frame["weight"][99] == 64
    assert table.doubts == (
        "1 cell read as missing, not a number in kg: '82 lb' (1), in 'weight'",
    )
    filled = fill_missing(table, table.frame.ffill(), as_text=True)
    assert filled["weight"].tolist() == cells  # as written
    assert "(kg, which 1 cell lack)" in "".join(table.assumptions)
    many = [*cells, *["90 lb"] * 8]
    assert "weight" not in read(column("weight", many)).frame
    assert "weight" in read(column("weight", many), numeric="weight").frame


@pytest.mark.parametrize(
    "cells",
    [
        [*(f"{i:05} AB" for i in range(400)), *["25 CD"] * 9],
        [*(f"{i} A" for i in range(400)), *["25 B"] * 9],
        [*(f"{i} kg" for i in range(400)), *(f"note {i} lb" for i in range(9))],
    ],
    ids=["leading zeros", "letters", "notes"],
)
def test_codes_and_notes_are_not_numbers_with_a_unit(cells):
    kinds = {c.name: c.kind for c in read(column("code", cells)).schema.columns}
    assert kinds["code"] != "numbers"


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        ([*(f"{i} kg" for i in range(30)), *(f"{i} lb" for i in range(9))], "numeric"),
        ([*range(30), *"abcdefgh"], "numeric"),
        ([f"1.{i},50 ?" for i in range(100, 140)], "dates of one format"),
        (
            [f"2020-01-{i}" for i in range(10, 30)]
            + [f"{i} Mar 2020" for i in range(10, 30)]
            + [f"{i}/04/2020" for i in range(10, 30)],
            "dates of one format",
        ),
        ([f"{6 + i % 12}:{i:02d} am" for i in range(60)], "dates of one format"),
    ],
)
def test_numbers_and_dates_that_are_left_out_as_free_text_are_a_doubt(cells, advice):
    twice = cells[:9]  # so that it is no id
    text = column("x", [f'"{cell}"' for cell in [*cells, *twice]])
    (doubt,) = read(text).doubts
    assert doubt.startswith("left out, free text, but most cells")
    assert advice in doubt
    assert not read(text, drop="x").doubts
    if advice == "numeric":
        assert "x" in read(text, numeric="x").frame


def test_distinct_dates_in_several_formats_are_no_id():
    days = pd.date_range("2020-01-01", periods=40)
    forms = ["%Y-%m-%d", "%d.%m.%Y"]
    table = read(column("day", [d.strftime(forms[d.day % 2]) for d in days]))
    assert list(table.left_out) == ["day"]
    assert "look like numbers, dates or times" in table.doubts[0]


@pytest.mark.parametrize("end", ["", " EUR"])
def test_few_thousands_separators_among_plain_numbers(end):
    cells = [f"{100 + 7.25 * i:.2f}{end}" for i in range(60)]
    table = read(column("net", [*cells, f'"1,356.72{end}"', f'"2,028.98{end}"']))
    assert table.frame["net"].tolist()[59:] == [527.75, 1356.72, 2028.98]
    assert not table.doubts
    some = read(column("net", [*cells, *["?"] * 3, f'"1,356.72{end}"'] + ["none"] * 30),
                numeric="net")  # fmt: skip
    assert some.frame["net"].max() == 1356.72


def test_an_odd_cell_beside_a_unit_and_a_negative_amount_in_parentheses():
    cells = [f"{100 + i}.50 EUR" for i in range(60)]
    table = read(column("net", [*cells, "n. 350 EUR", "(350.00 EUR)"]))
    assert table.frame["net"].min() == -350
    assert has_line(table, "1 cell read as missing, not a number in EUR: 'n. 350 EUR'")
    assert read(column("choice", ["(1)", "(2)", "(3)"])).schema.columns[0].kind == (
        "categories"
    )


def test_points_before_three_digits_are_thousands_separators_beside_semicolons():
    people = ["200", "337", "885", "1.022", "8.146", "2.500.000"]
    table = read("town;people\n" + "".join(f"T;{one}\n" for one in people[:5] * 3))
    assert table.frame["people"].max() == 8146
    assert not any("three digits" in line for line in table.doubts)
    price = "".join(f"{one};{i}.5\n" for i, one in enumerate(people[:5] * 3))
    table = read(f"people;price\n{price}")  # with a decimal point elsewhere
    assert table.frame["people"].max() == 885
    assert any("if '1.022' is 1022, `decimal=','`" in one for one in table.doubts)
    assert not has_line(read(f"people;price\n{price}", decimal="."), "three digits")
    table = read(column("people", people[:5] * 3))
    assert any("if '1.022' is 1022, `decimal=','`" in one for one in table.doubts)
    for cells in (["0.125", "1.250", "2", "3"], ["1.022", "8.146", "0"], ["1.5", "2"]):
        assert not has_line(read(column("x", cells * 3)), "three digits")


def test_a_zero_before_three_digits_is_followed_by_decimals():
    table = read("x;y\n0.125;1,5\n0.250;2,5\n1.125;3,5\n")
    assert table.frame["x"].tolist() == [0.125, 0.25, 1.125]


def test_numeric_needs_only_half_of_the_cells():
    cells = [*range(30), *("abcdefghijklmno")]
    assert "x" not in read(column("x", cells)).frame  # free text
    table = read(column("x", cells), numeric="x")
    assert table.frame["x"].tolist()[:30] == list(range(30))
    assert table.frame["x"].isna().sum() == 15
    assert read(column("x", ["007", "008", "010"]), numeric="x").frame["x"][0] == 7


def test_dates_without_separators():
    table = read(column("seen", ["20240131", "20231224", "?"]))
    assert table.frame["seen"][0] == pd.Timestamp(2024, 1, 31)
    assert has_line(table, "'seen' read as dates (year, month, day")
    assert read(column("seen", ["20240131", "20249931"])).frame["seen"].dtype == float
    kept = read(column("seen", ["20240131", "20231224"]), numeric="seen")
    assert kept.frame["seen"].tolist() == [20240131, 20231224]


@pytest.mark.parametrize("name", ["zip", "zip_code", "shop_id", "shopId", "PLZ"])
def test_numbers_named_like_codes_are_categories(name):
    text = column(name, [10115, 10117, 10115, 10119] * 10)
    table = read(text)
    assert table.frame[name].dtype == "category"
    assert has_line(table, f"'{name}': numbers named like codes, read as categories")
    assert read(text, numeric=name).frame[name].dtype == float


@pytest.mark.parametrize("name", ["humid", "paid", "zips", "encoder"])
def test_other_names_stay_numbers(name):
    assert read(column(name, [1, 2, 1, 2, 1])).frame[name].dtype == float


def test_codes_of_typed_files_are_categories_too(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"shop_id": [1, 2, 1] * 9, "y": range(27)}).to_parquet(path)
    assert read_table(path).frame["shop_id"].dtype == "category"


def test_many_codes_stay_numbers_and_are_reported():
    table = read(column("zip", [*range(10000, 10060), *range(10000, 10020)]))
    assert table.frame["zip"].dtype == float
    assert has_line(table, "'zip': numbers named like codes, compared as numbers")


def test_numeric_refuses_words():
    with pytest.raises(InputError, match="`numeric` x: too few of its cells"):
        read(column("x", ["a", "b", "a"]), numeric="x")


def test_spellings_of_true_and_false_are_one_boolean():
    table = read(column("ok", ["TRUE", "Yes", "1", "no", "False", "0", "", "y"]))
    expected = ["true"] * 3 + ["false"] * 3 + [None, "true"]
    assert (
        table.frame["ok"].astype(object).where(table.frame["ok"].notna(), None).tolist()
        == expected
    )
    assert has_line(table, "'ok'", "read as true and false")
    later = read(column("ok", ["yes", "F"]), schema=table.schema)
    assert later.frame["ok"].tolist() == ["true", "false"]


@pytest.mark.parametrize("cells", [["0", "1", "2"], ["yes", "no"], ["t", "f", "n"]])
def test_other_columns_are_not_taken_for_booleans(cells):
    assert read(column("ok", cells * 2)).schema.columns[0].format != "boolean"


def test_case_can_be_ignored():
    text = column("c", ["KEY", "key", "b", "KEY"])
    assert has_line(read(text), "differ only in case or", "'c' ('KEY' and 'key')")
    merged = read(text, ignore_case=True)
    assert merged.frame["c"].tolist() == ["key", "key", "b", "key"]
    assert not has_line(merged, "differ only in case")


def test_blanks_can_be_ignored():
    text = column("c", ["Innere  Medizin", "Innere Medizin", "b"] * 9)
    assert has_line(read(text), "in case or blanks", "'c' ('Innere Medizin')")
    assert read(text, ignore_case=True).frame["c"].nunique() == 2


def test_a_repeated_header_line_is_dropped():
    table = read("a,b\n1,x\na,b\n2,y\n a,b\n3,x\n")
    assert table.frame["a"].tolist() == [1, 2, 3]
    assert len(table.source) == 3
    assert "repeated header lines dropped: rows 2 and 4" in table.assumptions


def test_a_repeated_header_line_of_a_sheet_is_dropped(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, "x"], ["a", "b"], [2.5, "y"]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").frame["a"].tolist() == [1, 2.5]


@pytest.mark.parametrize("word", ["Grand total", "SUM", "Mean", "Mittelwert:"])
def test_a_total_is_left_out_and_kept_in_the_source(word):
    table = read(f"shop,sold\nA,1\nB,2\n{word},3\n")
    line = f"left out, a total or mean: row 3 ('{word}' in 'shop') (`keep_totals`)"
    assert line in table.assumptions
    assert table.frame["sold"].tolist() == [1, 2]
    assert len(table.missing) == 2
    assert table.source["sold"].tolist() == ["1", "2", "3"]
    later = read("shop,sold\nA,1\nB,2\nTotal,3\n", schema=table.schema)
    assert len(later.frame) == 2


def test_what_only_looks_like_a_total_is_reported():
    table = read("sold,shop\n1,A\n2,B\n7,Total\n")
    doubt = "row 3 ('Total' in 'shop') looks like a total: if so, remove it"
    assert doubt in table.doubts
    assert len(table.frame) == 3
    for text in ("shop,sold\nTotal,1\nB,2\nTotal,3\n", "shop,sold\nTotal,3\nx,1\n"):
        assert not has_line(read(text), "a total")


def test_a_mean_below_numbers_of_a_sheet_is_left_out(tmp_path):
    book = openpyxl.Workbook()
    for row in (["case", "age"], [7, 31], [9, 44], [4, 52], ["Mean", None]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx")
    assert table.frame["case"].tolist() == [7, 9, 4]
    assert table.source["case"].tolist()[-1] == "Mean"


def test_a_column_named_like_an_answer_is_reported():
    rows = "".join(f"{i},{i % 2},{i * 1.5}\n" for i in range(30))
    line = "'Class' may be the target: it counts like any column (`drop` leaves it out)"
    assert line in read(f"x,Class,z\n{rows}").assumptions
    assert not has_line(read(f"class,classic,target\n{rows}"), "'classic'")
    assert not has_line(read(f"target,x,z\n{rows}"), "may be the target")  # 30 values


def test_columns_that_hold_the_same_are_reported():
    rows = "".join(f"{i % 4},{'abcd'[i % 4]},{i},{i * 7}\n" for i in range(24))
    table = read(f"level,letter,x,z\n{rows}")
    found = [line for line in table.assumptions if "counted" in line]
    how = "go together one to one: counted twice (`drop` leaves one out)"
    assert found == [f"'level' and 'letter' {how}"]
    equal = "".join(f"{'abcd'[i % 4]},{'abcd'[i % 4]}\n" for i in range(24))
    assert has_line(read(f"a,b\n{equal}"), "'a' and 'b' hold the same: counted twice")


def test_notes_of_one_kind_are_one_line():
    rows = [
        f"{('no', 'No', 'yes')[i % 3]},{('N', 'n', 'Y', 'Yes')[i % 4]},"
        f"{('-99', '31', '44', '52')[i % 4]},{('999', '1', '2', '3')[i % 4]},"
        f"{'bad' if i == 5 else i % 4},{'lost' if i == 7 else i % 5},"
        f"{'aAb'[i % 3]},{'cCd'[i % 3]}\n"
        for i in range(40)
    ]
    table = read("p,q,age,dose,r,s,t,u\n" + "".join(rows))
    for part in ("true and false", "stand for", "read as missing", "only in case"):
        assert sum(part in line for line in table.assumptions) == 1, part
    assert has_line(table, "'age': -99 (10 cells); 'dose': 999 (10 cells) may stand")
    assert has_line(
        table, "2 cells read as missing", "'bad' (1) and 'lost' (1), in 'r'"
    )


def test_a_first_row_of_repeated_texts_that_occur_below_is_no_header():
    rows = "p,p,e,p,e\ne,p,e,p,e\np,e,p,p,e\n"
    assert len(read(rows).frame) == 3
    assert has_line(read(rows), "no header line")


def test_columns_that_share_names_are_one_line():
    table = read("a,a,b,b,a,c\n1,2,3,4,5,x\n2,3,4,5,6,y\n")
    said = (
        "several columns are called 'a' and 'b': renamed the later to 'a_2', 'b_2' and"
    )
    assert has_line(table, said)
