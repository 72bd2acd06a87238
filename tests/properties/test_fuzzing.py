"""A short run of `scripts/fuzz`, with fixed seeds."""

from pathlib import Path

import fuzzing
import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "target",
    [one for one in fuzzing.TARGETS if one != "damaged files"],
)
def test_nothing_fails(target):
    tally = fuzzing.run_target(target, count=6, seconds=600)
    assert tally.failures == []
    assert tally.n_tried == 6


def test_promises_name_targets_that_there_are():
    page = (Path(__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split("|") for line in page.splitlines() if line[:1] == "|"]
    _, _, *named = (row[2].strip() for row in rows if len(row) == 3)
    targets = {one for cell in named if cell for one in cell.split(", ")}
    assert len(named) >= 7
    assert targets <= set(fuzzing.TARGETS)


def test_damaged_files_end_in_a_message_or_a_table():
    tally = fuzzing.run_target("damaged files", count=10, seconds=600)
    assert tally.failures == []


def test_a_crash_is_found_and_the_rest_goes_on(monkeypatch, tmp_path):
    crashing = tmp_path / "crashing.py"
    crashing.write_text(
        "import os, sys\n"
        "first, last = int(sys.argv[3]), int(sys.argv[4])\n"
        "for seed in range(first, last):\n"
        "    if seed == 1: os.abort()\n"
        '    print(\'{"seed": %d, "outcome": "equal"}\' % seed, flush=True)\n'
    )
    monkeypatch.setattr(fuzzing, "__file__", str(crashing))
    tally = fuzzing.run_target("definition", count=4, seconds=60)
    assert tally.outcomes == {"equal": 3}
    assert len(tally.failures) == 1
    assert tally.failures[0].startswith("seed 1: ended with -6")
    fuzzing.write_page(tmp_path / "page.md", {"definition": tally})
    page = (tmp_path / "page.md").read_text()
    what = fuzzing.check_definition.__doc__
    assert f"| definition | {what} | 4 | 3 equal | 1 |" in page
    assert "- definition, seed 1: ended with" in page
