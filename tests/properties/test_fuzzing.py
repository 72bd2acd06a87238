"""A short run of `scripts/fuzz`, with fixed seeds."""

import json
import math
from pathlib import Path

import attacks
import fuzzing
import pytest

from proximity_kernel.cli import arguments

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
        "import json, os, sys\n"
        "first, last = int(sys.argv[3]), int(sys.argv[4])\n"
        "for seed in range(first, last):\n"
        "    if seed == 1: os.abort()\n"
        "    line = {'target': 'definition', 'seed': seed, 'outcome': 'equal'}\n"
        "    print(json.dumps(line), flush=True)\n"
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


def test_a_run_that_was_stopped_goes_on(monkeypatch, tmp_path):
    record = tmp_path / "tries.jsonl"
    given = ["fuzzing.py", "--target=options", f"--record={record}"]
    for count in (2, 5):
        monkeypatch.setattr("sys.argv", [*given, f"--count={count}"])
        assert fuzzing.main() == 0
    lines = [json.loads(text) for text in record.read_text().splitlines()]
    assert [line["seed"] for line in lines if "seed" in line] == [0, 1, 2, 3, 4]
    assert fuzzing.read_record(record)[0]["options"].n_tried == 5


def test_two_processes_try_each_seed_once():
    tally = fuzzing.run_target("options", count=5, seconds=600, jobs=2)
    assert tally.seeds == {0, 1, 2, 3, 4}
    assert tally.outcomes.total() == 5


def test_a_record_of_other_sources_is_not_continued(tmp_path):
    record = tmp_path / "tries.jsonl"
    record.write_text('{"sources": "0"}\n')
    with pytest.raises(ValueError, match="of other sources"):
        fuzzing.read_record(record)


def test_every_type_and_use_comes_within_5000_seeds():
    turns = -(-len(attacks.COMMANDS) // attacks.N_USES)
    n_cases = turns * len(attacks.FORMS) * 3 * len(attacks.TYPES)
    assert n_cases <= 5000
    assert math.gcd(n_cases, attacks.STRIDE) == 1
    assert len(attacks.COMMANDS) == len(attacks.CLASSES)
    assert {*attacks.COMMANDS, "demo"} == set(arguments.COMMANDS)
