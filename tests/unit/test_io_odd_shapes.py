"""Tables of unusual shape: very long cells and lines, very many columns."""

import io
import re
from contextlib import contextmanager
from time import process_time

import pytest

from proximity_kernel.io import InputError, read_table


def read(text, **options):
    return read_table(io.StringIO(text), **options)


@pytest.mark.parametrize("length", [131_073, 300_000, 5_000_000])
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_long_cell_is_read(length, quote):
    cell = f"{quote}{'x' * length}{quote}"
    table = read(f"a,b,c\n{cell},1,u\ny,2,u\n{cell},3,v\n")
    assert table.frame["a"].tolist() == ["x" * length, "y", "x" * length]
    assert table.frame["b"].tolist() == [1, 2, 3]


def test_a_long_line_without_a_separator_is_read_or_the_file_is_named():
    table = read("name\n" + "x" * 200_000 + "\ny\ny\n", categorical="name")
    assert table.frame["name"].str.len().tolist() == [200_000, 1, 1]
    with pytest.raises(InputError, match="buffer: line 3 has 1 field where 3"):
        read("a,b,c\n1,2,3\n" + "x" * 200_000 + "\n4,5,6\n" * 40)


def test_names_that_fill_a_very_long_line_are_read():
    names = [f"{'a long name ' * 20}{j}" for j in range(1200)]
    header = ";".join(names)
    assert len(header) > 2**18
    table = read(header + "\n" + ";".join(str(j % 7) for j in range(1200)) + "\n")
    assert list(table.frame) == names


@pytest.mark.parametrize("sign", ["\x0c", "\x1c", "\x85", "\u2028"])
def test_a_line_ends_where_a_newline_is(sign):
    table = read(f"a,b\nx{sign}y,1\nz,2\nx{sign}y,3\n")
    assert table.frame["a"].tolist() == [f"x{sign}y", "z", f"x{sign}y"]
    message = re.escape("line 3 has 3 fields where 2 are")
    with pytest.raises(InputError, match=message):
        read(f"a,b\nx{sign}y,1\nz,2,3\n" + "u,4\n" * 20)


# --------------------------------------------------- time in proportion to the cells


@contextmanager
def within(seconds):
    start = process_time()
    yield
    assert process_time() - start < seconds


UNITS = (" ", "\t", "\u00a0", "0", "1 ", "1.", "1,", "1,000", ":00", "-", ".", "e+")
UNITS += ("$", "(", "a", "a ", "2020-01-01 ", "1 kg ")
OTHERS = {
    "unit": "{} kg",
    "currency": "$ {}",
    "mixed units": "{} kg\n{} g",
    "comma": "{},5",
    "date": "2020-01-0{}",
    "time": "2020-01-0{} 10:00Z",
    "day first": "1{}.02.2020",
    "month": "{} Feb 2020",
    "word": "w{}",
}


@pytest.mark.slow
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_a_long_cell_takes_no_long_time(other):
    """Patterns that try each split of a cell take minutes for these."""
    cells = [cell for i in range(1, 9) for cell in other.format(i, i).split("\n")]
    with within(20):
        for unit in UNITS:
            long = unit * (100_000 // len(unit))
            rows = "\n".join([*cells, f"1{long}!", f"{long}!", *cells])
            read(f"x\n{rows}\n", sep=";")


@pytest.mark.slow
def test_equal_names_take_no_long_time():
    n = 3000
    with within(12):
        table = read(";".join(["a"] * n) + "\n" + ";".join(["1"] * n) + "\n" * 2)
    assert list(table.frame)[:3] == ["a", "a_2", "a_3"]
    assert len(set(table.frame)) == n


@pytest.mark.slow
def test_time_grows_with_the_columns():
    """Columns of which each is marked, misread, renamed or dependent in some way."""
    seconds = []
    for n in (400, 1600):
        names = [f"{'a' if j % 9 == 0 else f'c{j}'}" for j in range(n)]
        rows = [";".join(names)]
        for i in range(60):
            kinds = (
                f"k{i % 3}",
                f"{i % 5}",
                "?" if i % 3 else "x",
                f"w{i % 7}" * (i < 3),
            )
            rows.append(";".join(kinds[j % 4] for j in range(n)))
        text = "\n".join(rows) + "\n"
        start = process_time()
        read_table(io.StringIO(text), schema=read(text).schema)
        seconds.append(process_time() - start)
    assert seconds[1] < 10 * seconds[0] + 1
