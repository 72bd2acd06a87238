"""The commands on the pages, run; docs/command-line.md also shows their output."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
from command_line import run_inside

from proximity_kernel.datasets import load_penguins

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "command-line.md"
TEXT = PAGE.read_text(encoding="utf-8")


def _blocks(text):
    return re.findall(r"^```(\S*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


PLAIN = [text for kind, text in _blocks(TEXT) if not kind]
CONSOLE = "".join(text for kind, text in _blocks(TEXT) if kind == "console")


def _examples(console=CONSOLE):
    """Commands, and what the page shows of their output."""
    for part in console.split("$ proximity-kernel ")[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def _tidy(text):
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "ward.csv").write_text(PLAIN[0], encoding="utf-8")
    return tmp_path


def test_the_examples_give_what_the_page_shows(place, capfd):
    examples = list(_examples())
    assert len(examples) > 5
    for at, (command, shown) in enumerate(examples):
        status = run_inside(*shlex.split(command))
        done = capfd.readouterr()
        expected = shown or (PLAIN[1] if at == 0 else "")
        assert _tidy(done.out or done.err) == _tidy(expected), command
        assert status == (2 if "has no such" in shown else 0)
    assert (place / "clusters.csv").exists()


def test_the_quoted_reason_is_given(place, capfd):
    table = (ROOT / "examples" / "patients.csv").read_text(encoding="utf-8")
    (place / "p.csv").write_text(re.sub("(?m)^P001,[^,]*", "P001,1000", table))
    assert run_inside("outliers", "p.csv", "--quiet") == 0
    (quoted,) = re.findall(r'\("(age 1000.*?)"\)', TEXT.replace("\n", " "))
    assert quoted in capfd.readouterr().out


def test_two_files_are_compared_as_their_page_shows(place, capfd):
    blocks = _blocks((ROOT / "docs" / "compare.md").read_text(encoding="utf-8"))
    plain = [text for kind, text in blocks if not kind]
    for name, text in zip(("may.csv", "june.csv"), plain, strict=True):
        (place / name).write_text(text, encoding="utf-8")
    (console,) = [text for kind, text in blocks if kind == "console"]
    ((command, shown),) = _examples(console)
    assert run_inside(*shlex.split(command)) == 0
    assert _tidy(capfd.readouterr().out) == _tidy(shown)


def test_every_command_and_option_of_the_page_exists(capfd):
    for name in re.findall(r"^\| `(\w+)", TEXT.partition("\n## ")[0], re.MULTILINE):
        assert run_inside(name, "--help") == 0
    said = capfd.readouterr().out
    for option in set(re.findall(r"`(--[a-z-]+)", TEXT)):
        assert option in said, option


def _other_commands():
    """Commands in the plain blocks of the README and the other pages, by block."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        for kind, block in _blocks(text):
            lines = re.findall(r"^proximity-kernel (.+)", block, re.MULTILINE)
            if lines and not kind:
                yield pytest.param(lines, id=f"{page.stem}: {lines[0]}")


@pytest.mark.slow
@pytest.mark.parametrize("commands", list(_other_commands()))
def test_the_commands_of_other_pages_run(commands, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "examples" / "patients.csv", tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    load_penguins().to_parquet("big.parquet")
    for command in commands:
        assert run_inside(*shlex.split(command)) == 0, capfd.readouterr().err
