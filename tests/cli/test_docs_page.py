"""The examples of docs/command-line.md, run."""

import re
import shlex
from pathlib import Path

import pytest
from command_line import run_inside

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
PLAIN = [text for kind, text in BLOCKS if not kind]
CONSOLE = "".join(text for kind, text in BLOCKS if kind == "console")


def _examples():
    """Commands, and what the page shows of their output."""
    for part in CONSOLE.split("$ proximity-kernel ")[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def _tidy(text):
    return [line.rstrip() for line in text.splitlines() if line.strip()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "patients.csv").write_text(PLAIN[0], encoding="utf-8")
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


def test_every_command_and_option_of_the_page_exists(capfd):
    for name in re.findall(r"^\| `(\w+)", TEXT.partition("\n## ")[0], re.MULTILINE):
        assert run_inside(name, "--help") == 0
    said = capfd.readouterr().out
    for option in set(re.findall(r"`(--[a-z-]+)", TEXT)):
        assert option in said, option
