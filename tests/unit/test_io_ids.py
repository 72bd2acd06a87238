"""Columns that identify rows: found, left out if ids repeat, and reported."""

import numpy as np
import pytest

from proximity_kernel.io import InputError, read_table


def read(path, **options):
    return read_table(path, **options)


@pytest.mark.parametrize(
    ("header", "first", "is_id"),
    [
        ("patient_id", "p{}", True),
        ("PatientID", "{}7", True),
        ("kid", "{}7", False),
        ("a", "{}", True),  # counts from 1 on, and comes first
        ("a", "{}7", False),
        ("a", "code{}", True),
        ("a", "text that goes on for a while, number {} of many", False),
    ],
)
def test_which_column_is_taken_for_an_id(put, header, first, is_id):
    lines = [f'"{first.format(i)}",{i % 3},{i % 2}\n' for i in range(1, 31)]
    table = read(put("t.csv", f"{header},x,y\n" + "".join(lines)))
    assert list(table.ids) == ([header] if is_id else [])


def test_an_id_that_is_not_unique_is_compared(put):
    lines = [f"p{i // 2},{i}\n" for i in range(8)]
    assert "id" in read(put("t.csv", "id,x\n" + "".join(lines))).frame


@pytest.mark.parametrize("cell", ["c{}", "{}7", "no. {} of a long list"])
def test_an_id_that_few_rows_repeat_names_the_rows_still(put, cell):
    rows = [*range(60), 1, 2, 2]
    lines = [f"{cell.format(i)},{i % 3}\n" for i in rows]
    path = put("t.csv", "customer id,x\n" + "".join([*lines, "?,1\n", "?,2\n"]))
    table = read(path)
    assert list(table.frame) == ["x"]
    assert list(table.ids) == ["customer id"]
    line = (
        f"taken as id, not compared: 'customer id' ('{cell.format(1)}' appears twice: "
        "rows 2 and 61; 1 other too)"
    )
    assert line in table.assumptions
    often = lines + lines[:9]
    table = read(put("u.csv", "customer id,x\n" + "".join(often)))
    assert not list(table.ids)


def test_a_repeated_id_beside_another_is_left_out(put):
    lines = [f"k{i % 59},r{i},{i % 3}\n" for i in range(60)]
    table = read(put("t.csv", "email,row_id,x\n" + "".join(lines)))
    assert list(table.ids) == ["row_id"]
    assert list(table.left_out) == ["email"]
    said = "left out: 'email' looks like an id, but 1 row repeats an id (`ids='email'`"
    assert any(line.startswith(said) for line in table.assumptions)


@pytest.mark.parametrize(
    "name", ["MRN", "hospital_number", "Fallnr", "PatNr.", "case no", "Zimmernummer"]
)
def test_whole_numbers_named_as_numbers_of_something_are_ids(put, name):
    lines = [f"{i % 3},{4000 + 7 * (i % 55)}\n" for i in range(60)]
    assert list(read(put("t.csv", f"x,{name}\n" + "".join(lines))).ids) == [name]
    few = [f"{i % 3},{4000 + i % 9}\n" for i in range(60)]
    assert not list(read(put("u.csv", f"x,{name}\n" + "".join(few))).ids)


@pytest.mark.parametrize(
    ("name", "start", "is_id"),
    [
        ("patient_nbr", 1000, True),
        ("Kundennummer", 4000, True),
        ("MRN", 50_000, True),
        ("house_no", 1, False),
        ("no_of_children", 1000, False),
        ("nr_rooms", 1000, False),
    ],
)
def test_numbers_without_gaps_that_repeat_are_ids_if_they_begin_high(
    put, name, start, is_id
):
    numbers = np.random.default_rng(0).integers(180, size=500)
    lines = [f"{i % 7},{start + n}\n" for i, n in enumerate(numbers)]
    table = read(put("t.csv", f"x,{name}\n" + "".join(lines)))
    assert list(table.ids) == ([name] if is_id else [])
    near = [f"{start + n + i % 9},{start + n}\n" for i, n in enumerate(numbers)]
    table = read(put("u.csv", f"x,{name}\n" + "".join(near)))
    assert not list(table.ids)  # it goes with another column


def test_nothing_but_a_repeated_id_is_named(put):
    path = put("t.csv", "id\n" + "".join(f"p{i}\n" for i in [*range(40), 7]))
    with pytest.raises(InputError, match="'p7' appears twice: rows 8 and 41"):
        read(path)


def test_a_table_of_nothing_but_an_id_is_compared_by_it_if_asked(put):
    path = put("t.csv", "name\n" + "".join(f"n{i}\n" for i in range(30)))
    with pytest.raises(InputError, match="taken as id, not compared: 'name'"):
        read(path)
    assert list(read(path, categorical="name").frame) == ["name"]


def test_a_rare_flag_is_no_id(put):
    cells = ["yes" if i % 50 == 0 else "" for i in range(400)]
    lines = [f"{cell},{i % 3}\n" for i, cell in enumerate(cells)]
    table = read(put("t.csv", "flag,x\n" + "".join(lines)))
    assert list(table.frame) == ["flag", "x"]


def test_long_ids_are_told_apart(put):
    lines = [f"{2**60 + 2 * i + 1},{i % 3}\n" for i in range(30)]
    for name in ("user_id", "user"):
        table = read(put("t.csv", f"{name},x\n" + "".join(lines)))
        assert list(table.ids) == [name]
        assert not any("one value" in line for line in table.assumptions)


def test_an_id_may_be_missing_in_some_rows(put):
    lines = [f"{'' if i % 9 == 0 else f'k{i}'},{i % 3}\n" for i in range(40)]
    assert list(read(put("t.csv", "code,x\n" + "".join(lines))).ids) == ["code"]
    few = [f"{f'k{i}' if i % 3 == 0 else ''},{i % 3}\n" for i in range(90)]
    assert not len(read(put("t.csv", "code,x\n" + "".join(few))).ids.columns)
