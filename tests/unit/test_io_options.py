"""The options of `read_table`: each is checked before the file is read."""

import io
import itertools

import numpy as np
import pandas as pd
import pytest

from proximity_kernel.io import ColumnSchema, InputError, Schema, read_table

TEXT = "code;weight;c\nP1;71,5;a\nP2;?;b\nP3;80;a\n"
LISTS = ("missing", "ids", "only", "drop", "categorical", "numeric")
FLAGS = ("default_missing", "ignore_case", "keep_totals", "day_first")
COUNTS = ("header_rows", "skip_rows")
WRONG = {
    "sep": (1, "", "ab", b";", [";"], True, np.nan, '"', "\n"),
    "decimal": (1, "x", "", True, ["."]),
    "encoding": (1, "", "nope", "hex", "a\0b", "\ud800", True, ["utf-8"]),
    "sheet": (True, "", b"x", 1.5, [1]),
    "where": (1, "", True, ["c == a"], b"c == a"),
    "schema": (1, "x", {}, [], Schema((1,), ("",)), Schema((), (1,))),
    "names": (True, {"a": 1}, [None] * 3, b"abc"),
    **{name: (-1, 1.5, "1", True, [1]) for name in COUNTS},
    **{name: (1, 0, "no", [True]) for name in FLAGS},
    **{name: (True, b"c", ["c", None], [["c"]], [True]) for name in LISTS},
}


def read(**options):
    return read_table(io.StringIO(TEXT), **options)


@pytest.mark.parametrize(
    ("option", "value"),
    [(option, value) for option, values in WRONG.items() for value in values],
)
def test_a_wrong_value_is_an_error_that_names_the_option(option, value):
    with pytest.raises(InputError, match=f"`{option}`"):
        read(**{option: value})


@pytest.mark.parametrize("name", [*LISTS[1:], "missing"])
def test_a_mapping_names_columns_only_for_missing(name):
    with pytest.raises(InputError, match=f"`{name}`.*(nope|mapping|list)"):
        read(**{name: {"nope": "x"}})


@pytest.mark.parametrize("path", [1, None, [], {}, 3.5, b"t.csv"])
def test_what_is_no_path_is_named(path):
    with pytest.raises(InputError, match="`path_or_buffer` must be a path"):
        read_table(path)


@pytest.mark.parametrize(
    "given",
    [["c"], ("c",), {"c"}, np.array(["c"]), pd.Index(["c"]), "c", iter(["c"])],
)
def test_names_of_columns_can_be_in_any_list(given):
    assert read(drop=given).schema.names("left out") == ["c"]


def test_several_marks_of_one_column():
    table = read(missing={"c": ["a", "b"], "weight": 80})
    assert table.frame["weight"].isna().tolist() == [False, True, True]
    assert "c" not in table.frame  # nothing is left of it


def test_numbers_of_numpy_are_counts_and_flags():
    whole = read(header_rows=np.int64(1), keep_totals=np.bool_(True))
    assert whole.frame.equals(read(header_rows=1, keep_totals=True).frame)


def test_a_sheet_can_be_a_number(tmp_path):
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        for name, own in (("a", [1, 2, 3]), ("b", [4, 5, 6])):
            pd.DataFrame({"x": own, "y": own}).to_excel(book, sheet_name=name)
    assert read_table(path, sheet=2, keep_totals=True).layout.sheet == "b"


WELL = ("c", "used", "categories")


@pytest.mark.parametrize(
    "column",
    [
        ColumnSchema("c", "used", "numbers", "iso"),
        ColumnSchema("c", "used", "numbers", "2,5"),
        ColumnSchema("c", "used", "dates", "d:m:y"),
        ColumnSchema("c", "used", "words"),
        ColumnSchema("c", "unused", "numbers"),
        ColumnSchema("c", "used", "numbers", "1.5", "kg, ell"),
        ColumnSchema("c", "used", "numbers", "1.5", "kg, m"),
        ColumnSchema("c", "used", "ordered", order=(1, 2)),
        ColumnSchema("c", "used", "categories", missing=(None,)),
        ColumnSchema(3, "used", "categories"),
    ],
)
def test_a_schema_that_nobody_made_is_an_error(column):
    with pytest.raises(InputError, match="`schema` is not one that read_table makes"):
        read(schema=Schema((column,), ("",)))
    with pytest.raises(InputError, match="`schema`"):
        read(schema=Schema((ColumnSchema(*WELL), ColumnSchema(*WELL)), ("",)))


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 400 + "weight > 3" + ")" * 400,
        "not " * 3000 + "weight > 3",
        "".join(itertools.repeat("not (", 2000)) + "weight > 3" + ")" * 2000,
    ],
)
def test_a_condition_that_is_nested_deeply_is_an_error(condition):
    with pytest.raises(InputError, match="nested too deeply"):
        read(where=condition)


def test_a_long_condition_is_read():
    assert len(read(where=" or ".join(["weight > 3"] * 3000)).frame) == 2
