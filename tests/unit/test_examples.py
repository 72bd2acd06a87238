"""Every program of `examples/` runs, as its first lines say."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_and_says_or_draws_something(path, tmp_path):
    # A copy, in a folder like the checkout: a picture here is not drawn again.
    pictures = tmp_path / "docs" / "pictures"
    pictures.mkdir(parents=True)
    copy = tmp_path / "examples" / path.name
    copy.parent.mkdir()
    shutil.copy(path, copy)
    done = subprocess.run(
        [sys.executable, str(copy)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() or list(pictures.iterdir())
    assert f"python examples/{path.name}" in path.read_text(encoding="utf-8")
