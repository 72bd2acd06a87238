"""Raw text to typed columns, on tables made up to show the edges."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from proximity_kernel_paper.datasets._catalogue import Column, RawFile, Table
from proximity_kernel_paper.datasets._parse import parse


def table_of(text, **options):
    """A made-up table with the columns size, colour, weight and kind."""
    columns = (
        Column("size", "ordinal", order=("S", "M", "L")),
        Column("colour", "nominal"),
        Column("weight", "numeric"),
        Column("kind", "nominal", role="target"),
    )
    raw = text.encode()
    file = RawFile("made.up", hashlib.sha256(raw).hexdigest(), len(raw))
    return Table(
        name="made_up",
        title="Made up",
        page="",
        licence="",
        citation="",
        files=(file,),
        format=options.pop("format", "delimited"),
        columns=columns,
        counts={},
        **options,
    )


def test_only_the_marker_is_missing():
    text = "S, NA ,1,a\r\n\r\n ?,nan,?,b\nL,?, 1e3 ,a \n"
    frame, target = parse(table_of(text), [text.encode()])
    assert frame["size"].to_list() == ["S", np.nan, "L"]
    assert frame["colour"].to_list() == ["NA", "nan", np.nan]
    np.testing.assert_array_equal(frame["weight"], [1, np.nan, 1000])
    assert target.to_list() == ["a", "b", "a"]
    assert list(frame["size"].cat.categories) == ["S", "M", "L"]  # M, though not seen


def test_a_row_of_another_width_is_named():
    text = "S,red,1,a\nS,red,a\n"
    with pytest.raises(ValueError, match="row 1 has 3 fields, the catalogue 4"):
        parse(table_of(text), [text.encode()])


def test_a_value_without_a_place_in_the_order_is_no_hole():
    text = "XL,red,1,a\n"
    with pytest.raises(ValueError, match=r"size holds \['XL'\]"):
        parse(table_of(text), [text.encode()])


def test_arff_without_data():
    with pytest.raises(ValueError, match=r"made.up has no line @data"):
        parse(table_of("", format="arff"), [b"@relation r\n"])


def test_stray_fields_are_dropped_where_the_catalogue_says_so():
    text = "@relation r\n@data\nS,red,,1,a\nM,\tblue,2,b\t,\n"
    table = table_of(text, format="arff", drop_empty_fields=True, label_tail="\t")
    frame, target = parse(table, [text.encode()])
    assert frame["colour"].to_list() == ["red", "blue"]
    assert target.to_list() == ["a", "b"]
    assert parse(table, [text.encode()], "as published")[1].to_list() == ["a", "b\t"]


def test_blanks_as_delimiter_and_lines_to_skip():
    text = "a head line\nS  red 1 a \n? ?\t? b\n"
    table = table_of(text, delimiter=None)
    table = replace(table, files=(replace(table.files[0], skip_lines=1),))
    frame, target = parse(table, [text.encode()])
    assert frame.isna().to_numpy().tolist() == [[False] * 3, [True] * 3]
    assert target.to_list() == ["a", "b"]
