"""Excel sheets: formulas, signs that XML cannot hold, and cells that are far apart."""

import io
import tracemalloc
import zipfile

import openpyxl
import pandas as pd
import pytest
from command_line import run_inside

from proximity_kernel.io import InputError, excel, read_table
from proximity_kernel.io.write import write_frame


@pytest.fixture
def formulas(tmp_path):
    """A sheet with formulas, of which none has a value: a program wrote it."""
    book = openpyxl.Workbook()
    book.active.append(["a", "b", "c"])
    for i in range(2, 42):
        formula = f"=A{i}*2" if i % 8 == 2 else 2 * i
        book.active.append([i, None if i % 8 == 3 else formula, "uv"[i % 2]])
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def test_a_formula_without_a_value_is_not_a_missing_cell(formulas):
    table = read_table(formulas)
    is_formula = [i % 8 == 2 for i in range(2, 42)]
    assert table.frame["b"].isna().tolist() == [i % 8 in (2, 3) for i in range(2, 42)]
    assert table.missing["b"].tolist() == [i % 8 == 3 for i in range(2, 42)]
    assert table.source["b"][is_formula].tolist()[:2] == ["=A2*2", "=A10*2"]
    line = "5 formulas have no value in the file, in 'b': not read, and not filled"
    assert any(one.startswith(line) for one in table.assumptions)


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_impute_keeps_a_formula(formulas, tmp_path, ending):
    output = tmp_path / f"filled.{ending}"
    run_inside("impute", formulas, "-o", output)
    if ending == "csv":
        cells = pd.read_csv(output, dtype=str)["b"].tolist()
    else:
        rows = openpyxl.load_workbook(output).active.iter_rows(min_row=2)
        cells = [row[1].value for row in rows]
    assert [cells[i] for i in range(0, 40, 8)] == [
        f"=A{i + 2}*2" for i in range(0, 40, 8)
    ]
    assert None not in cells


def test_the_value_of_a_formula_is_read(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    for i in range(5):
        book.active.append([i, "=A2"])
    book.save(tmp_path / "t.xlsx")
    data = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "t.xlsx") as old, zipfile.ZipFile(data, "w") as new:
        for part in old.namelist():
            content = old.read(part).replace(b"<v />", b"<v>7</v>")
            new.writestr(part, content.replace(b"<v></v>", b"<v>7</v>"))
    table = read_table(io.BytesIO(data.getvalue()))
    assert table.frame["b"].tolist() == [7] * 5


@pytest.mark.parametrize("text", ["a\rb", "a\r\nb", "a_x000D_b", "_x005F_", "_x_"])
def test_every_end_of_a_line_survives(tmp_path, text):
    frame = pd.DataFrame({"x": [text, "other", text], "y": [1.0, 2, 3]})
    write_frame(frame, str(tmp_path / "t.xlsx"), "xlsx")
    table = read_table(tmp_path / "t.xlsx", categorical="x")
    assert table.source["x"].tolist() == frame["x"].tolist()


@pytest.mark.slow
def test_two_far_cells_in_each_row_cost_no_memory(tmp_path):
    book = openpyxl.Workbook()
    for i in range(1, 601):
        book.active.cell(i, 1).value = i % 7
        book.active.cell(i, 16_384).value = i % 5
    book.save(tmp_path / "t.xlsx")
    tracemalloc.start()
    table = read_table(tmp_path / "t.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert table.frame.shape == (600, 2)
    assert peak < 2**24


def test_a_row_number_beyond_the_last_of_excel_is_not_waited_for(tmp_path):
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3, 4], [5, 6]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    data = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "t.xlsx") as old, zipfile.ZipFile(data, "w") as new:
        for part in old.namelist():
            new.writestr(part, old.read(part).replace(b'"4"', b'"99999999999"'))
    assert read_table(io.BytesIO(data.getvalue())).frame.shape == (2, 2)


def test_cells_of_which_each_has_its_column_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(excel, "_MAX_CELLS", 30_000)
    book = openpyxl.Workbook()
    for i in range(1, 201):
        book.active.cell(i, i).value = i
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match="more than 30,000 cells"):
        read_table(tmp_path / "t.xlsx")


def test_merged_cells_are_filled(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Sales"])
    sheet.append([])
    sheet.append(["area", "n", "m"])
    for i in range(9):
        sheet.append(["NS"[i // 6] if i in (0, 6) else None, i, i % 4])
    sheet.merge_cells("A1:C2")
    sheet.merge_cells("A4:A9")
    sheet.merge_cells("A10:A11")
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx", ids="n")
    assert table.frame["area"].astype(object).fillna("-").tolist() == [
        *"NNNNNN",
        *"SS-",
    ]
    assert table.source["area"].tolist()[:8] == [*"NNNNNN", *"SS"]
    assert (
        "merged cells: all rows have the value of the first, in 'area'"
        in table.assumptions
    )
