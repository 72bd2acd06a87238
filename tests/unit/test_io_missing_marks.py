"""Which texts mark a missing cell, and in which columns."""

import io
import re

import numpy as np
import pandas as pd
import pytest

from proximity_kernel.io import Schema, read_table
from proximity_kernel.io.checks import hide_missing_codes


def read(text, **options):
    return read_table(io.StringIO(text), **options)


def has_line(table, *parts):
    return any(all(part in line for part in parts) for line in table.assumptions)


SURVEY = "Response,q1,q2,age\n" + "".join(
    f"{i},{99 if i % 9 == 0 else i % 5},{99 if i % 7 == 0 else i % 4},{60 + i % 40}\n"
    for i in range(1, 121)
)


def test_a_mark_given_for_the_table_does_not_apply_to_an_id():
    table = read(SURVEY, missing="99")
    assert list(table.ids) == ["Response"]
    assert table.ids["Response"][98] == "99"
    assert table.frame["q1"].isna().sum() == 13


def test_marks_can_make_a_column_an_id():
    cells = ["unknown" if i % 9 == 0 else f"k{i}" for i in range(40)]
    text = "code,x\n" + "".join(f"{cell},{i % 3}\n" for i, cell in enumerate(cells))
    assert not read(text).ids.shape[1]
    assert list(read(text, missing="unknown").ids) == ["code"]


@pytest.mark.parametrize("missing", ["q1=99", {"q1": 99}, ["q1=99", "nowhere"]])
def test_a_mark_may_apply_to_one_column(missing):
    table = read(SURVEY, missing=missing)
    assert table.frame["q1"].isna().sum() == 13
    assert not table.frame[["q2", "age"]].isna().any(axis=None)
    again = Schema.from_dict(table.schema.to_dict())
    later = read("q1,q2,age\n99,99,61\n1,2,3\n", schema=again)
    assert later.frame["q1"].isna().tolist() == [True, False]
    assert not later.frame["q2"].isna().any()


def test_a_mark_may_apply_to_columns_of_a_typed_file(tmp_path):
    frame = pd.DataFrame({"a": [99, 1, 2, 3], "b": [99, 1, 2, 3]})
    frame.to_parquet(tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", missing="a=99")
    assert table.frame.isna().sum().tolist() == [1, 0]


def test_a_whole_number_marks_cells_with_zero_decimals():
    """pandas writes whole numbers beside gaps so: the advice must work."""
    lines = [f"{99 if i % 5 == 0 else i % 4}.0,{i % 3}\n" for i in range(40)]
    text = "a,b\n" + "".join(lines)
    assert has_line(read(text), "(if so, `missing=99`)")
    for missing in ("99", "a=99"):
        table = read(text, missing=missing)
        assert table.frame["a"].isna().sum() == 8
        assert not has_line(table, "not found")
        assert not has_line(table, "may stand for")
    commas = read("a;b\n99,00;1\n1,50;2\n99,5;3\n", missing="99")
    assert commas.frame["a"].isna().tolist() == [True, False, False]
    thousands = read("a;b\n1,000;1\n2,000;2\n1;3\n", missing="1", decimal=".")
    assert thousands.frame["a"].isna().tolist() == [False, False, True]


def test_marks_are_listed_as_they_were_given():
    table = read(SURVEY, missing=["q1=99", "zero"])
    assert table.assumptions[0].endswith("missing: 'q1=99'")
    table = read(SURVEY, missing=["q1, q2=99", "age=98"])
    wanted = "missing: 'age=98' or 'q1=99' or 'q2=99'"
    assert table.assumptions[0].endswith(wanted)


def test_a_mark_that_is_not_found_is_reported():
    assert has_line(read(SURVEY, missing="q1=98"), "`missing` q1=98: not found")
    assert has_line(read(SURVEY, missing="q9=99"), "`missing` q9=99: not found")
    assert not has_line(read(SURVEY, missing="q1,q2=99"), "not found")


def test_the_advice_names_columns_only_where_others_hold_the_value():
    advised = [line for line in read(SURVEY).assumptions if "may stand for" in line]
    assert advised[0].endswith("(if so, `missing='q1,q2=99'`)")
    table = read(SURVEY, missing="q1,q2=99")
    assert (table.frame["age"] == 99).sum() == 3
    lonely = SURVEY.replace("\n4,4,0,64\n", "\n4,4,0,999\n")  # far from all other ages
    assert has_line(read(re.sub(",99(?=,)", ",999", lonely)), "(if so, `missing=999`)")
    without_age = "\n".join(line.rpartition(",")[0] for line in SURVEY.splitlines())
    assert has_line(read(f"{without_age}\n"), "(if so, `missing=99`)")


def test_a_single_number_of_nines_far_from_many_others_may_be_a_code():
    ages = "".join(f"{20 + i},{i % 5}\n" for i in range(30))
    table = read(f"age,x\n{ages}999,1\n")
    line = "'age': 999 (1 cell) may stand for a missing cell (if so, `missing=999`)"
    assert line in table.doubts
    assert np.isnan(hide_missing_codes(table.frame)["age"].iloc[-1])
    assert not has_line(read(f"age,x\n{ages}77,1\n"), "may stand")
    assert not has_line(read("age,x\n20,1\n21,2\n22,3\n23,3\n999,1\n"), "may stand")


def test_a_minus_beside_a_plus_is_a_value():
    text = "test,x\n" + "".join(f"{'+-?'[i % 3]},{i % 4}\n" for i in range(60))
    table = read(text)
    assert table.frame["test"].value_counts().to_dict() == {"+": 20, "-": 20}
    assert has_line(table, "'test': '-' beside '+' is a value (`missing='test=-'`")
    assert read(text, missing="test=-").frame["test"].isna().sum() == 40
    assert read(text, missing="-").frame["test"].isna().sum() == 40
    later = read("test,x\n-,1\n-,2\n", schema=table.schema)
    assert later.frame["test"].tolist() == ["-", "-"]
    assert read("a,b\n-,1\n+5,2\n").frame["a"].isna().tolist() == [True, False]


def test_a_frequent_mark_beside_a_single_value_is_doubted():
    cells = ["-" if i % 3 == 0 else "Y" for i in range(60)]
    text = "flag,x\n" + "".join(f"{cell},{i % 4}\n" for i, cell in enumerate(cells))
    line = (
        "'flag': 20 cells '-' beside 'Y' only: read as missing "
        "(`default_missing=False` reads them as values)"
    )
    assert line in read(text).doubts
    assert read(text, default_missing=False).frame["flag"].nunique() == 2
    assert not has_line(read(text.replace("-", "")), "beside 'Y' only")


@pytest.mark.parametrize("mark", ["k.A.", "n.a.", "N.A."])
def test_abbreviations_of_no_answer_are_missing(mark):
    table = read(f"x,y\n{mark},1\na,2\nb,3\n")
    assert table.frame["x"].isna().tolist() == [True, False, False]
