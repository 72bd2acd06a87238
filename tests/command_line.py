"""The command line, as installed and from within, and a table to read."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from proximity_kernel.cli import main

N_ROWS = 300  # of the table in a folder


def find_command():
    """The command as it is installed."""
    command = shutil.which("proximity-kernel", path=str(Path(sys.executable).parent))
    assert command, "the command is not installed beside this Python"
    return command


def run_installed(*arguments, **options):
    """Run the installed command: its status, output and errors."""
    return subprocess.run(
        [find_command(), *map(str, arguments)],
        capture_output=True, check=False, encoding="utf-8", **options,
    )  # fmt: skip


def run_inside(*arguments):
    """The status, as the program would end with."""
    try:
        return main([*map(str, arguments)])
    except SystemExit as stop:
        return stop.code


def make_table(n_rows, seed=0):
    """A table as people have them: the values, and the lines of a CSV file of it.

    Semicolons, decimal commas, `?` and empty cells, dates with the day first, an id, an
    empty column, a comment for each row, a number column with a word in it.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(
        rng.integers(0, 300, n_rows) + 400 * group, unit="D"
    )
    values = pd.DataFrame(
        {
            "age": np.round(30 + 15 * group + rng.normal(0, 5, n_rows)),
            "weight": np.round(60 + 10 * group + rng.normal(0, 8, n_rows), 1),
            "sex": np.where(rng.random(n_rows) < 0.5, "f", "m"),
            "visit": days,
            "ward": rng.choice(["north", "south; old", "east"], n_rows),
            "score": np.round(rng.normal(group, 0.5), 3),
        }
    )
    texts = pd.DataFrame(
        {
            "patient_id": [f"P{i:05d}" for i in range(n_rows)],
            "age": values["age"].map("{:.0f}".format),
            "weight": values["weight"].map(lambda x: f"{x:.1f}".replace(".", ",")),
            "sex": values["sex"],
            "visit": values["visit"].dt.strftime("%d.%m.%Y"),
            "notes": "",
            "ward": values["ward"],
            "score": values["score"].map(lambda x: f"{x:.3f}".replace(".", ",")),
            "remark": [f"seen on round {i}, nothing new" for i in range(n_rows)],
        }
    )
    for name in ("age", "weight", "sex", "visit", "ward"):
        missing = rng.random(n_rows) < 0.15
        texts.loc[missing, name] = rng.choice(["?", ""], missing.sum())
        values.loc[missing, name] = None
    texts.loc[::50, "score"] = "unknown"
    values.loc[::50, "score"] = None
    return values, texts.to_csv(sep=";", index=False)


def fill_folder(place):
    """Put the table, some of its rows, and files that are no tables, in a folder."""
    text = make_table(N_ROWS)[1]
    few = "".join(text.splitlines(keepends=True)[:6])
    contents = {
        "patients.csv": text,
        "few.csv": few,
        "ragged.csv": "a,b\n1,2\n3,4,5\n",
        "one.csv": "a,b\n1,2\n",
        "empty.csv": "",
        "page.csv": "<!DOCTYPE html>",
        "damaged.pk": "no model at all",
    }
    for name, content in contents.items():
        (place / name).write_text(content, encoding="utf-8")
    return place
