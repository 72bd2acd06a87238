"""Spreadsheets as people make them: merged headers, read-me sheets, totals, ladders.

Each is read right, or the doubt is on the first screen.
"""

import io

import numpy as np
import openpyxl
import pytest

from proximity_kernel import read_table

REGIONS = ["North", "South", "East", "West"]


def read(text, **options):
    return read_table(io.StringIO(text), **options)


def said(table, words):
    return [line for line in table.assumptions if words in line]


@pytest.fixture
def save(tmp_path):
    """Write sheets, a mapping of names to rows; return the path of the book."""

    def write(sheets, merged=()):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(row)
            for one in merged:
                sheet.merge_cells(one)
        book.save(tmp_path / "book.xlsx")
        return tmp_path / "book.xlsx"

    return write


# -------------------------------------------------------------------- header rows


def list_sales(n_rows=12):
    return [[REGIONS[i % 4], 10 * i, 7 * i, 12 * i, 8 * i] for i in range(n_rows)]


GROUPS = ["Region", 2020, None, 2021, None]
BELOW = [None, "Sales", "Cost", "Sales", "Cost"]
NAMES = ["Region", "2020 Sales", "2020 Cost", "2021 Sales", "2021 Cost"]


def test_two_header_rows_of_a_sheet_become_names(save):
    rows = [GROUPS, BELOW, *list_sales()]
    table = read_table(save({"a": rows}, ["B1:C1", "D1:E1", "A1:A2"]))
    assert list(table.frame) == NAMES
    assert len(table.frame) == 12
    assert {dtype.kind for dtype in table.frame.dtypes.iloc[1:]} == {"f"}
    assert table.layout.header_rows == 2
    line = "2 header rows joined into names such as '2020 Sales' (`header_rows`)"
    assert line in table.assumptions


def test_two_header_rows_of_text_become_names():
    lines = [[*GROUPS], [*BELOW], *list_sales()]
    text = "\n".join(
        ",".join("" if cell is None else str(cell) for cell in line) for line in lines
    )
    table = read(text)
    assert list(table.frame) == NAMES
    assert len(table.frame) == 12
    one = read(text, header_rows=1)
    assert list(one.frame)[:2] == ["Region", "2020"]
    assert len(one.frame) == 13


@pytest.mark.parametrize(
    ("head", "names"),
    [
        # The group is written above each of its columns.
        ("id,Blood,Blood\n,mean,sd", ["id", "Blood mean", "Blood sd"]),
        # Years below their group.
        (
            "land,Sales,,Cost\n,2019,2020,2019",
            ["land", "Sales 2019", "Sales 2020", "Cost 2019"],
        ),
        # Units below names.
        ("x,height,weight\nnr,cm,kg", ["x nr", "height cm", "weight kg"]),
        # Three rows.
        (
            "r,2020,,2021\n,Sales,,Sales\n,Q1,Q2,Q1",
            ["r", "2020 Sales Q1", "2020 Sales Q2", "2021 Sales Q1"],
        ),
        # A column that belongs to no group stands right of a name without a row below.
        (
            "Region,,2020,\n,City,Sales,Cost",
            ["Region", "City", "2020 Sales", "2020 Cost"],
        ),
    ],
)
def test_headers_of_several_rows(head, names):
    width = len(names)
    rows = [
        ",".join([f"k{i % 3}" if names[0] != "x nr" else str(i), *map(str, cells)])
        for i, cells in enumerate(
            np.random.default_rng(0).integers(100, 900, (12, width - 1)).tolist()
        )
    ]
    table = read("\n".join([head, *rows]), ids=[])
    assert [column.name for column in table.schema.columns] == names
    assert len(table.source) == 12


def test_two_header_rows_above_texts():
    head = "Rooms,,Food,\nclean,quiet,warm,good"
    rows = [",".join(["yn"[i % 2], "yn"[i % 3 > 0], "y", "n"]) for i in range(20)]
    table = read("\n".join([head, *rows]))
    assert list(table.frame) == ["Rooms clean", "Rooms quiet", "Food warm", "Food good"]


@pytest.mark.parametrize(
    "text",
    [
        "name,age,weight\nunknown,unknown,unknown\na,31,70\nb,44,80\nc,52,90\n",
        "name,age,weight\nAnn,?,\na,31,70\nb,44,80\nc,52,90\n",
        "name,job,age\nAnn,nurse,31\nBob,cook,44\nCat,nurse,52\n",
        "color,shape\nred,round\nblue,long\nred,long\nblue,round\n" * 3,
    ],
)
def test_a_first_row_of_texts_is_no_second_header_row(text):
    assert read(text).layout.header_rows == 1


def test_columns_without_names_above_texts_are_doubted():
    table = read("name,job,,\nA,nurse,Bern,x\nB,cook,Rome,y\nC,nurse,Oslo,x\n")
    assert table.layout.header_rows == 1
    doubt = (
        "2 columns have no name above 'Bern' and 'x': if these are names, "
        "`header_rows=2` joins both rows"
    )
    assert doubt in table.doubts


def test_rows_above_the_table_are_skipped_as_asked(save):
    rows = [["Report", "of", "May"], [None, None, 3], ["a", "b", "c"], [1, 2, 3]]
    rows += [[i, i % 3, i % 5] for i in range(5)]
    table = read_table(save({"a": rows}), skip_rows=2)
    assert list(table.frame) == ["a", "b", "c"]
    assert table.layout.skipped_lines == 2
    text = "Report,of,May\n\n1,2,3\na,b,c\n4,5,6\n7,8,9\n1,5,6\n"
    table = read(text, skip_rows=3)
    assert list(table.frame) == ["a", "b", "c"]
    assert len(table.frame) == 3


# ------------------------------------------------------------------------- sheets


def test_the_sheet_with_the_largest_table_is_read(save):
    note = [["Read me", None], *[[f"step {i}", "see below"] for i in range(6)]]
    data = [["x", "y"], *[[i, "ab"[i % 2]] for i in range(250)]]
    other = [["x", "y"], *[[i, i] for i in range(40)]]
    table = read_table(save({"Read me": note, "2020": other, "Data": data}))
    assert table.layout.sheet == "Data"
    assert len(table.source) == 250
    line = "sheet 'Data' read: no other has a larger table; not read: 'Read me' and"
    assert said(table, line)
    first = read_table(save({"Read me": note, "Data": data}), sheet="Read me")
    assert len(first.source) == 6
