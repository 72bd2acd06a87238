"""Tables of unusual shape: very long cells and lines, very many columns."""

import io
import re

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
    names = [f"a long name of a column, number {j}" for j in range(9000)]
    header = ";".join(names)
    assert len(header) > 2**18
    table = read(header + "\n" + ";".join(str(j % 7) for j in range(9000)) + "\n")
    assert list(table.frame) == names


@pytest.mark.parametrize("sign", ["\x0c", "\x1c", "\x85", "\u2028"])
def test_a_line_ends_where_a_newline_is(sign):
    table = read(f"a,b\nx{sign}y,1\nz,2\nx{sign}y,3\n")
    assert table.frame["a"].tolist() == [f"x{sign}y", "z", f"x{sign}y"]
    message = re.escape("line 3 has 3 fields where 2 are")
    with pytest.raises(InputError, match=message):
        read(f"a,b\nx{sign}y,1\nz,2,3\n" + "u,4\n" * 20)
