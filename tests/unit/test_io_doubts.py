"""What may be wrong with a table: reported in one line each, and not changed."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from proximity_kernel.io import InputError, read_table
from proximity_kernel.io.checks import (
    find_blocks,
    find_dependent_missing,
    find_exceptions,
    find_missing_codes,
    find_same_columns,
)


def read(text, **options):
    return read_table(io.StringIO(text), **options)


def test_a_column_that_is_empty_exactly_where_another_has_a_value():
    back = ["yes" if i % 3 == 0 else "no" for i in range(90)]
    rows = [
        f"{i % 7},{one},{i if one == 'yes' else ''}\n" for i, one in enumerate(back)
    ]
    text = "age,back,days\n" + "".join(rows)
    line = (
        "'days' is empty exactly where 'back' is 'no': that reveals 'back', and "
        "filling the missing cells invents values (`drop` leaves a column out)"
    )
    assert line in read(text).assumptions
    almost = text.replace("3,yes,3\n", "3,yes,\n")
    line = line.replace("exactly where 'back' is 'no'", "W").replace("empty W", "W")
    line = line.replace("W", "always empty where 'back' is 'no' (60 rows)")
    assert line in read(almost).assumptions
    assert not any("always" in line for line in read(text).assumptions)
    often = re.sub(r"yes,\d?[2468]\n", "yes,\n", text)  # empty in many other rows too
    assert not any("empty where" in line for line in read(often).assumptions)
    other = text.replace("4,no,\n", "4,no,5\n", 1)  # not in all of them
    line = line.replace("always empty", "empty").replace(
        ")", ") except in row 5, to be checked", 1
    )
    assert line in read(other).assumptions
    other = text.replace("4,no,\n", "4,no,5\n", 2)
    assert not any("empty where" in line for line in read(other).assumptions)


def test_a_column_that_is_observed_exactly_where_another_has_a_value():
    level = [2.0, 1.0, 0.0] * 30
    frame = pd.DataFrame({"level": level, "dose": [5.0, None, None] * 30})
    frame["when"] = pd.to_datetime(["2020-01-01", "2021-01-01", None] * 30)
    frame["why"] = ["x", "y", None] * 30
    said = find_dependent_missing(frame)
    assert said[0].startswith(
        "'dose' is observed exactly where 'level' is '2'; "
        "'when' is empty exactly where 'level' is '0'; "
        "'why' is empty exactly where 'level' is '0': that reveals 'level'"
    )
    frame.loc[3, "dose"] = None
    (line,) = find_dependent_missing(frame)
    assert line.startswith("'dose' is always empty where 'level' is not '2' (60 rows)")
    assert not find_dependent_missing(frame[["when", "why"]])  # missing together
    assert not find_dependent_missing(frame[:45])  # too few rows


def test_columns_that_go_together_where_both_are_observed():
    rng = np.random.default_rng(0)
    price = {"Rug": 119.0, "Mug": 7.5, "Chair": 89.9}
    frame = pd.DataFrame({"product": rng.choice([*price], 200), "kg": rng.random(200)})
    frame["price"] = frame["product"].map(price)
    frame["mass"], frame["other"] = frame["kg"], rng.random(200)
    frame["flag"] = (frame["kg"] > 0.99).astype(float)
    for name in ("product", "price", "mass", "other", "flag"):
        frame[name] = frame[name].mask(rng.random(200) < 0.06)
    how = "go together one to one in the rows that have both"
    assert [line.partition(":")[0] for line in find_same_columns(frame)] == [
        f"'product' and 'price' {how}",
        f"'kg' and 'mass' {how}",
    ]
    wrong = frame["price"].replace({7.5: 89.9})
    assert len(find_same_columns(frame.assign(price=wrong))) == 1
    sparse = frame.mask(rng.random(frame.shape) < 0.6)  # too few rows have both
    assert not find_same_columns(sparse)


def test_different_numbers_in_the_same_few_rows_do_not_go_together():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 8))).add_prefix("T")
    frame.loc[25:] = np.nan
    assert not find_same_columns(frame)
    levels = pd.DataFrame({f"T{j}": [j, 2.0 * j, None] * 20 for j in range(1, 9)})
    (line,) = find_same_columns(levels)
    assert all(repr(name) in line for name in levels)


def test_a_text_that_is_no_number_but_a_category_elsewhere_may_be_a_mark():
    cells = ["not done" if i % 9 == 0 else i for i in range(60)]
    falls = ["not done" if i % 7 == 0 else "NY"[i % 2] for i in range(60)]
    rows = [f"{a},{b}\n" for a, b in zip(cells, falls, strict=True)]
    text = "age,falls\n" + "".join(rows)
    line = "also a category of 'falls': 'not done'; if this means missing, "
    assert f"{line}`missing='not done'`" in read(text).assumptions
    table = read(text, missing="not done")
    assert not any("not done'" in line for line in table.assumptions[1:])


def test_dates_and_numbers_that_cannot_be_read_are_one_line():
    rows = [f"{'k' if i % 9 == 0 else i},{'lost' if i == 5 else '2020-01-05'}\n"
            for i in range(60)]  # fmt: skip
    line = (
        "8 cells read as missing, not a number or a date: 'k' (7) and 'lost' (1), "
        "in 'x' and 'day'"
    )
    assert line in read("x,day\n" + "".join(rows)).assumptions


def test_few_whole_numbers_may_be_codes():
    rows = [f"{1 + i % 3},{i % 5},{1 + i % 2},{i / 4},{i % 4}\n" for i in range(60)]
    line = (
        "'a', 'b' and 'year' have few distinct integers, compared as numbers; for "
        "codes, `categorical='a,b,year'`"
    )
    assert line in read("a,b,flag,x,year\n" + "".join(rows)).assumptions
    table = read("a,b,flag,x,year\n" + "".join(rows), categorical="a,b")  # one left
    assert not any("few distinct" in line for line in table.assumptions)
    wide = [",".join(str(1 + (i + j) % 3) for j in range(7)) + "\n" for i in range(60)]
    line = (
        "'a', 'b', 'c', 'd', 'e' and 2 more have few distinct integers, compared as "
        "numbers; for codes, `categorical`"
    )
    assert line in read("a,b,c,d,e,f,g\n" + "".join(wide)).assumptions


@pytest.mark.parametrize("name", ["Comments", "final remark", "Bemerkung"])
def test_remarks_are_free_text_however_few_there_are(name):
    cells = ["see file", "o.B.", ""]
    text = f"{name},x\n" + "".join(f"{cells[i % 3]},{i % 4}\n" for i in range(60))
    table = read(text)
    assert list(table.left_out) == [name]
    assert any(f"free text (`categorical` keeps it): '{name}'" in line
               for line in table.assumptions)  # fmt: skip
    assert name in read(text, categorical=name).frame
    assert name in read(text.replace("see file", "file")).frame
    assert "noted" in read(text.replace(name, "noted")).frame


def test_a_few_texts_that_are_not_on_the_scale_of_the_others():
    words = ["agree", "neutral", "disagree"] * 9
    text = "q1,q2,x\n" + "".join(f"{one},{one},{i}\n" for i, one in enumerate(words))
    text += "don't know,agree,30\n"
    line = (
        'not ordered: "don\'t know" is not on the scale of the others '
        "(if missing, `missing=\"don't know\"`): 'q1'"
    )
    assert line in read(text).doubts
    assert not read(text, missing="don't know").doubts[1:]  # q1 and q2 go together
    two = text + "no answer,agree,31\n"
    assert any("\"don't know\" and 'no answer' are not" in d for d in read(two).doubts)
    many = text + "don't know,agree,31\n" * 9
    assert not any("not ordered" in line for line in read(many).doubts)
    assert not any("not ordered" in d for d in read(text, categorical="q1").doubts)
    ages = "x,age\n" + "".join(
        f"{i},{one}\n"
        for i, one in enumerate(["under 18", "18-24", "25-64", "65+"] * 5 + ["unknown"])
    )
    assert any("not ordered: 'unknown'" in line for line in read(ages).doubts)


def test_values_in_the_first_row_of_each_block_only():
    region = ["R0", *[""] * 8, "R1", *[""] * 4, "R2", *[""] * 9]
    rows = [f"{one},{i % 7},{i % 3 or ''}\n" for i, one in enumerate(region)]
    line = "'region' has a value only in the first of several rows"
    said = [one for one in read("region,x,y\n" + "".join(rows)).doubts if line in one]
    assert len(said) == 1
    for changed in (
        ["R9", *region[1:]][::-1],  # at the end of blocks
        [one or "R9" if i < 2 else one for i, one in enumerate(region)],
        [one.replace("R1", "R0") for one in region],
        [one.replace("R", "2.") for one in region],  # measured seldom
    ):
        frame = pd.DataFrame({"region": changed}).replace("", None)
        if "2." in changed[0]:
            frame = frame.astype(float)
        assert not find_blocks(frame)
    years = pd.DataFrame({"year": [2020, *[None] * 9, 2021, *[None] * 9]})
    assert find_blocks(years.astype(float))


def test_one_value_or_empty_may_be_yes_or_no():
    rows = [f"{'x' if i % 3 else ''},{'b' if i % 9 else ''},{i}\n" for i in range(60)]
    line = (
        "one value or empty in 'member' ('x'): if empty means no, write it into the "
        "cells; filling would repeat the value"
    )
    assert line in read("member,seldom,v\n" + "".join(rows)).doubts


def test_rows_that_equal_an_earlier_one_are_reported():
    rows = [f"{i / 8},{i % 3},{'abcde'[i % 5]},{'xy'[i % 2]}\n" for i in range(40)]
    rows[7] = ",1,a,x\n"  # no measured number
    text = "kg,n,who,side\n"
    again = [rows[3], ",1,a,x\n"]
    table = read("id," + text + "".join(
        f"K{i},{row}" for i, row in enumerate([*rows, *again])
    ))  # fmt: skip
    where = "row 41 (id K40) equals row 4 (id K3) in all compared columns"
    line = f"{where}: it may have been entered twice"
    assert table.doubts == (line,)
    line = (
        "2 rows equal an earlier row in all compared columns (row 41 equals row 4): "
        "they may have been entered twice"
    )
    assert read(text + "".join([*rows, *again, rows[3]])).doubts == (line,)
    assert not read(text + "".join(rows)).doubts
    three = [row.rpartition(",")[0] + "\n" for row in [*rows, *again]]
    assert not read("kg,n,who\n" + "".join(three)).doubts
    often = [re.sub(r"\d+\.\d+", str(i % 9), row) for i, row in enumerate(rows * 2)]
    assert not read(text + "".join(often)).doubts  # measured, but often the same


def test_rows_without_an_observed_cell_are_named():
    rows = ["1,a\n", "?,\n", "2,b\n", "3,a\n"]
    assert "row 2 has no observed cell" in read("x,y\n" + "".join(rows)).assumptions
    more = read("x,y\n" + "".join(rows * 2)).assumptions
    assert "rows 2 and 6 have no observed cell" in more


def test_fill_down_fills_empty_cells_with_the_value_above():
    region = ["R0", *["", " "] * 6, "R1", *[""] * 9]
    text = "region,x\n" + "".join(f"{one},{i % 7}\n" for i, one in enumerate(region))
    assert "(`fill_down='region'` fills them)" in "".join(read(text).doubts)
    table = read(text, fill_down="region")
    assert table.frame["region"].tolist() == ["R0"] * 13 + ["R1"] * 10
    assert table.source["region"].tolist() == ["R0"] * 13 + ["R1"] * 10
    assert not table.missing["region"].any()
    assert "empty cells filled with the value above: 'region'" in table.assumptions
    with pytest.raises(InputError, match="`fill_down` nope"):
        read(text, fill_down="nope")


def test_an_exception_to_a_rule_is_reported():
    frame = pd.DataFrame({"ward": ["women"] * 120 + ["men"] * 80})
    frame["sex"] = ["f"] * 120 + ["m"] * 80
    assert not find_exceptions(frame)
    frame.loc[[4, 5, 6], "sex"] = "m"  # more than one in 100
    assert not find_exceptions(frame)
    frame.loc[[5, 6], "sex"] = "f"
    line = "'sex' is 'f' where 'ward' is 'women' except in row 5, to be checked"
    assert find_exceptions(frame) == [line]
    frame["sex"] = ["f"] * 199 + ["m"]  # nearly the same in all rows
    assert not find_exceptions(frame)


def test_a_code_is_reported_beside_another_wrong_number():
    weights = np.random.default_rng(0).normal(75, 12, 300).round(1)
    frame = pd.DataFrame({"kg": np.r_[weights, 629.0, 999, 999, 999]})
    assert find_missing_codes(frame)[0].startswith("'kg': 999 (3 cells) may stand for")
    frame = pd.DataFrame({"kg": np.r_[weights, 1500.0, 999, 999, 999]})
    assert find_missing_codes(frame)[0].startswith("'kg': 999 (3 cells) may stand for")
    frame = pd.DataFrame({"cents": np.r_[np.arange(900.0, 1100), 999, 999]})
    assert not find_missing_codes(frame)


def test_a_sum_with_exceptions_names_their_rows_and_is_kept(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 50, (200, 2)), columns=["a", "b"])
    frame["total"] = frame["a"] + frame["b"]
    frame["c"] = rng.normal(size=200).round(2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert "total" not in table.frame
    frame.loc[9, "total"] += 1
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert "total" in table.frame
    said = "'total' is the sum of 'a' and 'b' except in row 10, to be checked"
    assert said in table.doubts
