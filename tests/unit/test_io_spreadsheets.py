"""Spreadsheets as people make them: merged headers, read-me sheets, totals, ladders.

Each is read right, or the doubt is on the first screen.
"""

import io

import numpy as np
import openpyxl
import pandas as pd
import pytest
from command_line import run_inside

from proximity_kernel import ProximityImputer, read_table
from proximity_kernel.io import InputError

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
        "name,crp,sugar\nAnn,<5,n.d.\na,31,70\nb,44,80\nc,52,90\n",
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


# ------------------------------------------------------------------------- totals


SALES = """region,city,sold,cost
North,Bern,10,7
North,Rome,20,15
,North Total,30,22
South,Oslo,5,4
South,Lima,8,6
,South Total,13,10
,Grand Total,43,32
"""


def test_totals_in_any_row_and_column_are_left_out():
    table = read(SALES)
    assert table.frame["sold"].tolist() == [10, 20, 5, 8]
    assert table.frame.index.tolist() == [0, 1, 3, 4]
    line = "left out, a total or mean: row 3 ('North Total' in 'city'), row 6 ("
    assert said(table, line)
    assert len(read(SALES, keep_totals=True).frame) == 7


@pytest.mark.parametrize("last", ["Total,150,", "Total,150,EUR"])
def test_a_total_is_left_out_beside_a_column_of_one_text(last):
    rows = [f"{item},{10 * i},EUR" for i, item in enumerate("abcde", 1)]
    table = read("\n".join(["item,amount,currency", *rows, last]))
    assert len(table.frame) == 5


def test_rows_keep_their_numbers_beside_totals(tmp_path):
    (tmp_path / "t.csv").write_text(SALES)
    run_inside("neighbors", tmp_path / "t.csv", "-k", 1, "-o", tmp_path / "n.csv")
    assert pd.read_csv(tmp_path / "n.csv")["row"].tolist() == [1, 2, 4, 5]
    assert run_inside("explain", tmp_path / "t.csv", 1, 5, "--quiet") == 0
    assert run_inside("explain", tmp_path / "t.csv", 1, 3, "--quiet") == 2


def test_totals_are_written_back(tmp_path):
    (tmp_path / "t.csv").write_text(SALES.replace("Oslo,5", "Oslo,"))
    run_inside("impute", tmp_path / "t.csv", "-o", tmp_path / "f.csv")
    filled = pd.read_csv(tmp_path / "f.csv", keep_default_na=False)
    assert filled["city"].tolist() == pd.read_csv(io.StringIO(SALES))["city"].tolist()
    assert filled["region"].tolist()[2] == ""
    assert (filled["sold"] != "").all()


@pytest.mark.parametrize(
    "text",
    [
        # A category, although its numbers are means by chance.
        "grade,place,age\ngood,A,20\nbad,B,40\naverage,C,30\ngood,D,10\nbad,E,30\n",
        "hip,age\ntotal,3\npartial,4\ntotal,7\npartial,9\n",
        "kind,x\na,5\ntotal loss,6\nb,9\nc,7\n",
    ],
)
def test_a_category_is_no_total(text):
    assert not said(read(text), "a total or mean")


def test_a_column_that_adds_up_is_left_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 90, (30, 3)), columns=["jan", "feb", "mar"])
    frame["total"] = frame.sum(axis=1)
    frame.insert(0, "shop", ["AB"[i % 2] for i in range(30)])
    table = read(frame.to_csv(index=False))
    assert list(table.frame) == ["shop", "jan", "feb", "mar"]
    assert list(table.left_out) == ["total"]
    line = "left out, a total of other columns: 'total' (sum of 'jan', 'feb' and 'mar')"
    assert said(table, line)
    again = read(frame.to_csv(index=False), schema=table.schema)
    assert list(again.frame) == list(table.frame)
    kept = read(frame.to_csv(index=False), keep_totals=True)
    assert "total" in kept.frame
    named = read(frame.rename(columns={"total": "spring"}).to_csv(index=False))
    assert "spring" in named.frame
    doubt = "'spring' is the sum of 'jan', 'feb' and 'mar': counted twice"
    assert any(one.startswith(doubt) for one in named.doubts)


# ----------------------------------------------------------- rows and columns asked for


WARD = """name;age;sex;day;body mass
Ann;31;f;03.02.2020;60,5
Bob;44;m;14.02.2020;80
Cat;;f;25.06.2021;71
Dan;58;m;;90
Eve;29;f;12.07.2021;
"""


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("age > 30", [0, 1, 3]),
        ("age >= 31 and sex == f", [0]),
        ("sex != f or age is missing", [1, 2, 3]),
        ("not (sex = f)", [1, 3]),
        ("day < 2021-01-01", [0, 1]),
        ("day > 01.06.2021 and not age is missing", [4]),
        ("body mass >= 71 and (age is missing or age > 50)", [2, 3]),
        ("'body mass' < 60,6", [0]),
        ("name == 'Ann' or name == Eve", [0, 4]),
        ("body mass is not missing AND sex == m", [1, 3]),
    ],
)
def test_where_keeps_the_rows_that_meet_a_condition(where, rows):
    table = read(WARD, where=where, categorical="name")
    assert table.frame.index.tolist() == rows
    assert table.source.index.tolist() == rows
    assert f"`where` {where}: {len(rows)} of 5 rows kept" in table.assumptions


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("age", "a sign is expected"),
        ("agee > 3", "has no column 'agee', did you mean 'age'"),
        ("age > old", "'age' must be compared with a number, got 'old'"),
        ("age > 3 and", "a column is expected"),
        ("(age > 3", "a parenthesis is not closed"),
        ("sex > f", "'sex' has no order; use == or !="),
        ("sex == w", "'sex' is never 'w'; it has 'f' and 'm'"),
        ("age > 300", "none of 5 rows meets it"),
        ("__import__('os') == 1", "has no column"),
        ("age > 3)", "was not understood"),
        ("age >", "a value is expected"),
    ],
)
def test_a_condition_that_cannot_be_used_is_an_error(where, problem):
    with pytest.raises(InputError, match=r"`where`") as error:
        read(WARD, where=where)
    assert problem in str(error.value)


def test_only_names_the_columns_to_compare_by(tmp_path):
    table = read(WARD, only="age,sex")
    assert list(table.frame) == ["age", "sex"]
    numbered = WARD.replace("name;", "patient_id;")
    assert list(read(numbered, only="age,sex").ids) == ["patient_id"]
    assert not len(read(numbered, only="patient_id").ids.columns)
    assert list(read(WARD, only="name", ids="day").ids) == ["day"]
    (tmp_path / "w.csv").write_text(WARD)
    done = ("--only", "age", "--where", "sex == f", "-k", 1, "-o", tmp_path / "n.csv")
    assert run_inside("neighbors", tmp_path / "w.csv", *done) == 0
    found = pd.read_csv(tmp_path / "n.csv")
    assert found["row"].tolist() == [1, 3, 5]
    assert set(found["neighbor"]) <= {1, 3, 5}


# ---------------------------------------------------------------------------- ids


def make_visits(name, n_patients, n_rows=1000):
    rng = np.random.default_rng(0)
    numbers = 10_000 + rng.choice(80_000, n_patients, replace=False)
    who = np.concatenate([numbers, rng.choice(numbers, n_rows - n_patients)])
    frame = pd.DataFrame({name: rng.permutation(who)})
    frame["age"] = rng.integers(20, 90, n_rows)
    frame["sex"] = rng.choice(["f", "m"], n_rows)
    return frame


@pytest.mark.parametrize(
    ("name", "n_patients"),
    [
        ("patient_nbr", 700),
        ("MRN", 700),
        ("Kundennummer", 700),
        ("patient_id", 700),
        ("CustomerNumber", 250),
        ("Kundennr", 150),
    ],
)
def test_ids_that_repeat_are_not_compared(name, n_patients):
    frame = make_visits(name, n_patients)
    for table in (read(frame.to_csv(index=False)), read_parquet(frame)):
        assert list(table.ids) == [name]
        assert list(table.frame) == ["age", "sex"]
        line = said(table, "taken as id, not compared: ")
        assert "others too)" in line[0]


def read_parquet(frame):
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return read_table(io.BytesIO(buffer.getvalue()))


def test_a_second_id_that_repeats_is_left_out():
    frame = make_visits("patient_nbr", 700)
    frame.insert(0, "encounter_id", np.arange(1000) * 7 + 100)
    table = read(frame.to_csv(index=False))
    assert list(table.ids) == ["encounter_id"]
    assert "patient_nbr" not in table.frame
    assert said(table, "'patient_nbr' looks like an id, but 300 rows repeat an id")


def test_numbers_that_go_with_other_columns_are_compared():
    frame = make_visits("visitor_number", 700)
    frame["sold"] = frame["visitor_number"] * 2 + np.arange(1000)
    table = read(frame.to_csv(index=False))
    assert "visitor_number" in table.frame
    few = make_visits("room_no", 12)
    assert "room_no" in read(few.to_csv(index=False)).frame
    rng = np.random.default_rng(0)
    for name, most in (("week_number", 53), ("day_nr", 366)):
        frame = pd.DataFrame({name: rng.integers(1, most, 1000)})
        frame["x"] = rng.normal(size=1000)
        assert name in read(frame.to_csv(index=False)).frame


# -------------------------------------------------------------------------- scales


@pytest.mark.parametrize(
    "order",
    [
        ["low", "medium", "high"],
        ["not too happy", "pretty happy", "very happy"],
        ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
        ["None", "Mild", "Moderate", "Severe"],
        ["never", "rarely", "sometimes", "often", "always"],
        ["poor", "fair", "good", "very good", "excellent"],
        ["low", "normal", "high"],
        ["S", "M", "L", "XL"],
        ["1-2", "3-5", "6-10", "11+"],
        ["0", "1", "2", "3+"],
        ["under 18", "18-24", "25-64", "65 or older"],
        ["<5k", "5k-10k", "10k-50k", ">50k"],
        ["some high school", "high school", "some college", "master's degree"],
        ["stimme gar nicht zu", "stimme eher nicht zu", "stimme zu"],
        ["klein", "mittel", "groß"],
    ],
)
def test_ordered_words_are_read_in_their_order(order):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"mood": rng.choice(order, 90), "x": rng.normal(size=90)})
    text = frame.to_csv(index=False, sep=";")
    table = read(text)
    assert table.frame["mood"].cat.ordered
    assert table.frame["mood"].cat.categories.tolist() == order
    assert table.frame["mood"].astype(str).tolist() == frame["mood"].tolist()
    line = said(table, "read as ordered (`categorical` reads them without an order): ")
    assert f"'mood' ({order[0]!r} < {order[1]!r} <" in line[0].replace('"', "'")
    plain = read(text, categorical="mood")
    assert not plain.frame["mood"].cat.ordered


@pytest.mark.parametrize(
    "texts",
    [
        ["low", "medium", "red"],
        ["low", "high"],
        ["medium", "average", "high"],
        ["2-1", "1-3", "0-0"],
        ["1-5", "3-8", "9-10"],
        ["555-1234", "555-9999", "123-4567"],
        ["red", "green", "blue"],
    ],
)
def test_other_texts_have_no_order(texts):
    table = read("\n".join(["t;x", *(f"{one};{i}" for i, one in enumerate(texts * 9))]))
    assert not said(table, "read as ordered")


def test_new_rows_have_the_order_of_the_fitted_ones():
    text = "mood;x\n" + "low;1\nhigh;2\nmedium;3\n" * 9
    table = read(text)
    later = read("mood;x\nhigh;1\nlow;2\nodd;3\n", schema=table.schema)
    assert later.frame["mood"].cat.categories.tolist() == ["low", "medium", "high"]
    assert later.frame["mood"].isna().tolist() == [False, False, True]
    assert said(later, "1 cell read as missing, not on the scale: 'odd' (1), in 'mood'")


def test_impute_and_where_know_the_order(tmp_path):
    rng = np.random.default_rng(1)
    x = rng.normal(size=80)
    mood = np.array(["low", "medium", "high"])[np.digitize(x, [-0.5, 0.5])]
    frame = pd.DataFrame({"x": x.round(2), "mood": mood})
    frame.loc[::9, "mood"] = None
    frame.to_csv(tmp_path / "m.csv", index=False)
    run_inside("impute", tmp_path / "m.csv", "-o", tmp_path / "f.csv", "--quiet")
    filled = pd.read_csv(tmp_path / "f.csv")["mood"]
    assert set(filled) == {"low", "medium", "high"}
    table = read_table(tmp_path / "m.csv", where="mood >= medium")
    assert set(table.frame["mood"]) == {"medium", "high"}


# -------------------------------------------------------------------- smaller things


@pytest.mark.parametrize(
    "text",
    [
        "Dear all, please find the numbers below.\nThey are, as ever, provisional.\n",
        "This is the first line of a letter.\nThis is the second line of it.\n",
        "Once upon a time there was a table, which had no columns\n",
    ],
)
def test_running_text_is_no_table(text):
    with pytest.raises(InputError, match="this looks like running text, not a table"):
        read(text)


def test_a_number_marks_missing_cells_that_have_a_unit():
    rows = [f"{70 + i} kg" if i % 4 else "999 kg" for i in range(20)]
    text = "\n".join(["mass,x", *(f"{one},{i % 3}" for i, one in enumerate(rows))])
    table = read(text, missing="999")
    assert table.frame["mass"].isna().sum() == 5
    assert table.frame["mass"].max() == 89
    assert not said(table, "not found in any cell")
    assert "'mass=999 kg'" in table.assumptions[0]
    later = read("mass,x\n999 kg,1\n80 kg,2\n", schema=table.schema)
    assert later.frame["mass"].isna().tolist() == [True, False]
    by_column = read(text, missing="mass=999")
    assert by_column.frame["mass"].isna().sum() == 5


def make_days():
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta((30 * x + 99).round(), unit="D")
    frame = pd.DataFrame({"x": x.round(2), "y": (x + 1).round(2), "day": days})
    frame.loc[::7, "day"] = pd.NaT
    return frame


@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
def test_filled_dates_have_a_time_of_day_only_if_others_have_one(tmp_path, ending):
    frame, path = make_days(), tmp_path / f"t.{ending}"
    write = {"csv": frame.to_csv, "xlsx": frame.to_excel, "parquet": frame.to_parquet}
    write[ending](path, index=False)
    run_inside("impute", path, "-o", tmp_path / "f.csv", "--quiet")
    filled = pd.read_csv(tmp_path / "f.csv", dtype=str)["day"]
    assert filled.str.fullmatch(r"\d{4}-\d\d-\d\d").all()


def test_the_imputer_fills_days_with_days():
    frame = make_days()
    filled = ProximityImputer().fit_transform(frame)["day"]
    assert (filled == filled.dt.normalize()).all()
    frame["day"] += pd.Timedelta(hours=7.5)
    filled = ProximityImputer().fit_transform(frame)["day"]
    assert (filled != filled.dt.normalize()).any()


def test_a_hidden_sheet_that_is_read_is_a_doubt(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    hidden = book.create_sheet("Old")
    hidden.sheet_state = "hidden"
    for row in [["x", "y"], *([i, i % 3] for i in range(30))]:
        hidden.append(row)
    book.save(tmp_path / "t.xlsx")
    doubts = read_table(tmp_path / "t.xlsx").doubts
    assert any(line.startswith("hidden sheet 'Old' read: ") for line in doubts)
    assert not read_table(tmp_path / "t.xlsx", sheet="Old").doubts


def test_dates_of_the_year_9999_are_a_doubt():
    days = ["2020-01-15", "9999-12-31", "2021-03-01"] * 9
    text = "end,x\n" + "".join(f"{day},{i % 5}\n" for i, day in enumerate(days))
    line = "dates of the year 9999 in 'end' (9 cells) count as dates"
    assert any(line in doubt for doubt in read(text).doubts)
    assert not read(text, missing="9999-12-31").doubts
