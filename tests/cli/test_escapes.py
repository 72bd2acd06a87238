"""Control characters of tables, names and arguments do not reach the terminal."""

import re
import sys

import pytest
from command_line import run_inside

from proximity_kernel._shared.wording import show_controls

CONTROLS = [*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2028"]
CLEAR, TITLE, C1, OVERRIDE = "\x1b[2J", "\x1b]0;owned\x07", "\x9b31m", "\u202egnp"


def name(text):
    """A text as it is in a CSV file."""
    return f'"{text}"'


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A file with escapes in its name, in its header, its ids and its cells."""
    monkeypatch.setenv("TERM", "dumb")  # no colors, which are escapes too
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{name(f'P{TITLE}{i}')},{i % 5 if i % 4 else ''},{name(f'{C1}{CLEAR}{i % 2}')}"
        f",{name('' if i % 6 == 1 else f'{OVERRIDE}{i % 3}')}"
        for i in range(30)
    ]
    header = f"{name(f'id{CLEAR}')},{name(f'a{TITLE}')},{name(f'b{C1}')},c"
    path = tmp_path / f"t{CLEAR}{C1}.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path.name


def find_controls(text):
    return sorted(set(re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", text)))


@pytest.mark.parametrize(
    "command",
    [
        ("look",),
        ("cluster", "-k2"),
        ("neighbors", "-k2", "--of", "3"),
        ("neighbors", "-k2"),
        ("outliers", "--top=3"),
        ("outliers", "--cells", "--format=csv"),
        ("represent",),
        ("represent", "--format=jsonl"),
        ("impute",),
        ("impute", "--format=csv"),
        ("impute", "--save-model", f"m{CLEAR}.pk", "--uncertainty", f"u{C1}.csv"),
    ],
)
def test_no_command_prints_them(table, command, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    first, *rest = command
    assert run_inside(first, table, *rest) == 0
    out, err = capsys.readouterr()
    assert find_controls(out + err) == []
    assert "\\x1b" in out + err


def test_comparisons(table, capsys):
    assert run_inside("compare", table, table, "--id", f"id{CLEAR}") == 0
    out, err = capsys.readouterr()
    assert find_controls(out + err) == []
    assert "\\x1b" in out


def test_explanations(table, capsys):
    assert run_inside("explain", table, "3", "4", "--id", f"id{CLEAR}") == 0
    out, err = capsys.readouterr()
    assert find_controls(out + err) == []
    assert "\\x1b" in out


@pytest.mark.parametrize(
    "arguments",
    [
        (f"no{CLEAR}such",),
        ("cluster", f"no{CLEAR}such.csv"),
        ("cluster", "{table}", f"--no{TITLE}such"),
        ("cluster", "{table}", "--drop", f"x{C1}"),
        ("cluster", "{table}", "-k", f"{CLEAR}"),
        ("cluster", "{table}", "-o", f"{CLEAR}/o.csv"),
        ("cluster", "{table}", "--drop", f"x{C1}", "--debug"),
        ("cluster", "{table}", "--model", "{table}"),
        ("neighbors", "{table}", "--of", f"P{TITLE}"),
        ("explain", "{table}", f"P{TITLE}", "2"),
        ("look", "{table}", "--encoding", f"u{CLEAR}"),
    ],
)
def test_no_error_prints_them(table, arguments, capsys):
    given = [table if one == "{table}" else one for one in arguments]
    assert run_inside(*given) in (1, 2)
    out, err = capsys.readouterr()
    assert find_controls(out + err) == []
    assert "\\x" in err


def test_a_file_and_a_pipe_get_the_cells_as_they_are(table, capsysbinary):
    assert run_inside("impute", table, "--quiet", "-o", "filled.csv") == 0
    assert run_inside("impute", table, "--quiet") == 0
    with open("filled.csv", "rb") as file:  # noqa: PTH123  (the folder is the test's)
        held = file.read()
    assert held == capsysbinary.readouterr().out
    assert all(one.encode() in held for one in (CLEAR, TITLE, C1, OVERRIDE))


def test_binary_formats_are_not_for_terminals(table, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run_inside("represent", table, "--format", "parquet") == 2
    assert "not for a terminal; name a file" in capsys.readouterr().err


def test_every_control_character_is_written_as_an_escape():
    assert show_controls("a\tb\n") == "a\tb\n"
    for one in set(CONTROLS) - {"\t", "\n"}:
        assert show_controls(f"a{one}b") == f"a{ascii(one)[1:-1]}b"
