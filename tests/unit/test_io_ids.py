"""Columns that name rows: found, left out where rows repeat them, and said."""

import pytest

from proximity_kernel.io import InputError, read_table


def read(path, **options):
    return read_table(path, **options)


@pytest.fixture
def put(tmp_path):
    """Write a file, and give its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_text(content)
        return path

    return write


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
def test_an_id_that_few_rows_repeat_is_left_out_and_said(put, cell):
    rows = [*range(60), 1, 2, 3]
    lines = [f"{cell.format(i)},{i % 3}\n" for i in rows]
    path = put("t.csv", "customer id,x\n" + "".join(lines))
    table = read(path)
    assert list(table.frame) == ["x"]
    assert not table.ids.shape[1]
    repeated = "left out: 'customer id' looks like an id, but 3 rows repeat one"
    assert any(line.startswith(repeated) for line in table.assumptions)
    assert not any("free text" in line for line in table.assumptions)
    assert list(read(path, ids=("customer id",)).ids) == ["customer id"]
    often = lines + lines[:9]
    table = read(put("u.csv", "customer id,x\n" + "".join(often)))
    assert not any("looks like an id" in line for line in table.assumptions)


def test_nothing_but_a_repeated_id_is_named(put):
    path = put("t.csv", "id\n" + "".join(f"p{i}\n" for i in [*range(40), 7]))
    with pytest.raises(InputError, match="'id' looks like an id"):
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
