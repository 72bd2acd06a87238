"""Files that are no tables, and options that do not fit: errors that name them."""

import gzip
import io
import zipfile

import pandas as pd
import pytest

from proximity_kernel.io import InputError, read_table


def read(path, **options):
    return read_table(path, **options)


WRONG = {
    "ragged": ("a,b\n1,2\n3,4,5\n", "line 3 has 3 fields where 2 are expected"),
    "short": ("a,b,c\n1,2,3\n\n4,5\n", "line 4 has 2 fields where 3"),
    "ragged blanks": ("1 2 3\n1 2 3\n1 2 3\n1 2\n" + "1 2 3\n" * 40, "line 4 has 2"),
    "empty": ("", "the file is empty"),
    "only blanks": (" \n \n", "the file is empty"),
    "only names": ("a,b\n", "no rows"),
    "only names, no newline": ("a,b", "no rows"),
    "an open quote": ('a,b\n1,x\n2,"y\n3,z\n', "opened in line 3 is never closed"),
    "below a title": (
        "A title\n\na,b,c\n" + "1,2,3\n" * 20 + "1,2\n",
        "line 24 has 2 fields where 3",
    ),
    "nothing in it": ("a,b\n,?\n,\n", "no column is left to compare"),
    "json": ('[{"a": 1}]', "this is JSON"),
    "a web page": ("<!DOCTYPE html>", "web page"),
    "a PDF": ("%PDF-1.4 ...", "a PDF file"),
    "binary": (b"\x01\x00\x02\x00", "this is binary"),
    "cut gzip": (gzip.compress(b"a,b\n1,2\n" * 99)[:-9], "gzip file is damaged"),
    "cut parquet": (b"PAR1 and no more", "damaged"),
    "cut arrow": (b"ARROW1\0\0 and no more", "damaged"),
    "cut excel": (b"PK\x03\x04 and no more", "damaged"),
    "a zip": (b"PK\x05\x06" + bytes(18), "binary"),
    "a cut stream": (b"\xff\xff\xff\xff\x10\0\0\0ab", "damaged"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "said"), WRONG.values(), ids=WRONG)
def test_what_is_no_table_is_named(put, content, said):
    path = put("some file", content)
    with pytest.raises(InputError, match=said) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numeric": "a", "categorical": "a"}, "`numeric` and `categorical` both name"),
        ({"only": "a,b", "drop": "b"}, "`drop` and `only` both name b; name it in"),
        ({"ids": "a", "numeric": ["b", "a"]}, "`ids` and `numeric` both name a"),
        ({"ids": "a", "drop": "a"}, "`drop` and `ids` both name a"),
    ],
)
def test_options_that_contradict_each_other(put, options, message):
    with pytest.raises(InputError, match=message):
        read_table(put("x.csv", b"a,b,c\n1,2,x\n3,4,y\n"), **options)


def test_a_misspelt_column_of_a_marker_is_suggested(put):
    table = read_table(put("x.csv", b"age,b\n34,2\n31,4\n"), missing="agee=34")
    line = "`missing` agee=34: not found in any cell, did you mean 'age'?"
    assert any(line in said for said in table.assumptions)


def test_a_zip_archive_is_no_excel_file(put):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
    with pytest.raises(InputError, match="zip archive, but not an Excel file; extract"):
        read_table(put("x.zip", data.getvalue()))


def test_wrong_names_and_options(put, tmp_path):
    path = put("t.csv", "age,sex\n1,f\n2,m\n")
    for options, said in (
        ({"drop": ("agee",)}, "`drop` agee: .* did you mean 'age'"),
        ({"ids": ("x",)}, "`ids` x: .* it has 'age' and 'sex'"),
        ({"drop": ("age,sex",)}, "no column is left"),
    ):
        with pytest.raises(InputError, match=said):
            read(path, **options)
    for options, said in (
        ({"encoding": "utf-9"}, "`encoding` utf-9"),
        ({"sheet": "x"}, "`sheet`"),
    ):
        with pytest.raises(InputError, match=said):
            read(path, **options)
    with pytest.raises(InputError, match="line 2 is not ascii"):
        read(put("u.csv", "a,b\né,1\n"), encoding="ascii")
    with pytest.raises(FileNotFoundError, match=r"did you mean t\.csv"):
        read(tmp_path / "tt.csv")
    with pytest.raises(InputError, match="a folder"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"ends in .parquet, but its content is text"):
        read(put("t.parquet", "a,b\n1,2\n"))
    typed = tmp_path / "l.parquet"
    pd.DataFrame({"l": [[1], [2]], "x": [1, 2]}).to_parquet(typed)
    table = read(typed)
    assert list(table.frame) == ["x"]
    assert "left out, lists or records: 'l'" in table.assumptions
    with pytest.raises(InputError, match="lists or records: 'l'"):
        read(typed, drop=("x",))
    with pytest.raises(InputError, match="`sep`"):
        read(typed, sep=";", drop=("l",))
    assert list(read(typed, drop=("l",)).frame) == ["x"]
