"""Tables as text: marks, Markdown, the terminal; and the bar that shows how far."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from proximity_kernel_paper.experiments._progress import Progress
from proximity_kernel_paper.experiments._rendering import (
    Rendering,
    Table,
    mark_best,
    write_markdown,
    write_mean_spread,
    write_numbers,
)
from proximity_kernel_paper.experiments._screen import show, split_columns
from proximity_kernel_paper.experiments._trials import Trial

NAN = float("nan")


@pytest.fixture
def table():
    means = pd.DataFrame(
        {"Mean": [0.25, 0.73], "PK": [0.331, NAN], "HI-PMK bin0": [0.3, 0.78]},
        index=pd.Index(["mammo", "cancer"], name="table"),
    )
    text = write_mean_spread(means, means * 0 + 0.0123)
    return Table("NMI", text, mark_best(means), ("A note.", "Another."))


def print_to(width, *renderings, details=False, **options):
    console = Console(file=io.StringIO(), width=width, **options)
    for rendering in renderings:
        show(console, rendering, details=details)
    return console.file.getvalue()


# -------------------------------------------------------------------------- numbers


def test_numbers_gaps_and_spreads():
    numbers = pd.DataFrame({"a": [0.12345, NAN, -1.0]})
    assert write_numbers(numbers, 2).a.to_list() == ["0.12", "-", "-1.00"]
    spreads = pd.DataFrame({"a": [0.5, 0.1, NAN]})
    written = write_mean_spread(numbers, spreads).a.to_list()
    assert written == ["0.123 ±.500", "-", "-1.000"]


def test_values_that_are_printed_alike_are_marked_alike():
    values = pd.DataFrame([[0.30001, 0.3, 0.2, NAN], [NAN, NAN, NAN, NAN]])
    marks = mark_best(values)
    assert marks.iloc[0].to_list() == ["best", "best", "second", ""]
    assert (marks.iloc[1] == "").all()
    down = mark_best(values.T, axis=0)
    assert down[0].to_list() == ["best", "best", "second", ""]


# ------------------------------------------------------------------------- Markdown


def test_markdown_marks_escapes_and_notes(table):
    lines = write_markdown(table).splitlines()
    assert lines[:4] == [
        "**NMI**",
        "",
        "| table | Mean | PK | HI-PMK bin0 |",
        "| --- | --- | --- | --- |",
    ]
    assert lines[4] == "| mammo | 0.250 ±.012 | **0.331 ±.012** | *0.300 ±.012* |"
    assert lines[5] == "| cancer | *0.730 ±.012* | - | **0.780 ±.012** |"
    assert lines[6:] == ["", "- A note.", "- Another."]
    pipe = Table("t", pd.DataFrame({"a|b": ["c|d", ""]}))
    assert "| 0 | c\\|d |\n| 1 |  |" in write_markdown(pipe)
    assert "| a\\|b |" in write_markdown(pipe)


# ----------------------------------------------------------------------- the screen


def test_a_wide_terminal_shows_all(table):
    said = print_to(100, Rendering((table,)))
    assert "mammo   0.250  ±.012  0.331* ±.012  0.300+ ±.012" in said
    assert "wider" not in said
    assert "- A note." in said
    assert "* the best, + the second best." in said


def test_a_narrow_one_has_no_spreads_and_a_narrower_one_parts(table):
    said = print_to(40, Rendering((table,)))
    rows = [line.split() for line in said.splitlines()]
    assert ["mammo", "0.250", "0.331*", "0.300+"] in rows
    assert ["cancer", "0.730+", "-", "0.780*"] in rows
    assert "±" not in said
    assert "shown in a wider terminal" in " ".join(said.split())
    parts = print_to(20, Rendering((table,)))
    assert "HI-PMK" in parts
    assert parts.count("mammo") > 1
    for width in (20, 40, 100):
        lines = print_to(width, Rendering((table,))).splitlines()
        assert max(map(len, lines)) <= width


def test_marks_are_bold_and_underlined_in_colour(table):
    said = print_to(100, Rendering((table,)), force_terminal=True, color_system=None)
    assert "\x1b" not in said
    said = print_to(
        100, Rendering((table,)), force_terminal=True, color_system="standard"
    )
    assert "\x1b[1m0.331*" in said
    assert "\x1b[4m0.300+" in said


def test_each_note_is_printed_once_and_details_on_demand(table):
    more = Table("ARI", table.frame, table.marks, table.notes, detail=True)
    said = print_to(80, Rendering((table, more)))
    assert "ARI" not in said
    assert "1 tables more with --verbose" in said
    said = print_to(80, Rendering((table, more)), details=True)
    assert "ARI" in said
    assert said.count("A note.") == 1


def test_text_is_not_taken_for_markup():
    odd = Table("[bold]t[/x]", pd.DataFrame({"[red]": ["[/]"]}), notes=("[x] y",))
    said = print_to(80, Rendering((odd,)))
    assert "[bold]t[/x]" in said
    assert "[red]" in said
    assert "[/]" in said
    assert "[x] y" in said


def test_long_texts_are_wrapped_and_whole():
    reason = " ".join(f"word{i}" for i in range(30))
    said = print_to(60, Rendering((Table("t", pd.DataFrame({"reason": [reason]})),)))
    assert all(f"word{i}" in said for i in range(30))


@pytest.mark.parametrize("width", range(5, 60, 7))
def test_parts_hold_every_column_once(width):
    widths = [4, 6, 6, 10, 3, 8]
    parts = split_columns(widths, width)
    assert [j for part in parts for j in part[1:]] == [1, 2, 3, 4, 5]
    assert all(part[0] == 0 for part in parts)
    if width >= 16:  # the first, two blanks and the widest other
        assert all(
            sum(widths[j] for j in part) + 2 * (len(part) - 1) <= width
            for part in parts
        )


def test_a_table_without_columns_or_rows_can_be_shown():
    assert split_columns([5], 80) == [[0]]
    empty = pd.DataFrame({"a": np.array([], dtype=object)})
    assert "nothing" in print_to(80, Rendering((Table("nothing", empty),)))


# --------------------------------------------------------------------- how far it is


def report(progress, n_trials=20):
    trials = [Trial("mammo", "EM", seed) for seed in range(n_trials)]
    progress.report("plan", None, 0, n_trials)
    for n_done, trial in enumerate(trials):
        progress.report("start", trial, n_done, n_trials)
        event = "failed" if n_done == 3 else "end"
        progress.report(event, trial, n_done + 1, n_trials)


def test_without_a_terminal_there_is_a_line_for_each_tenth():
    console = Console(file=io.StringIO())
    with Progress(console, "nmi") as progress:
        report(progress)
        progress.report("plan", None, 20, 20)
    lines = console.file.getvalue().splitlines()
    assert lines[0] == "nmi: 0 of 20 trials done"
    assert lines[-1] == "nmi: 20 of 20 trials done, 1 failed"
    assert len(lines) == 11
    assert [str(trial) for trial in progress.failed] == ["mammo EM"]


def test_on_a_terminal_there_is_a_bar_with_what_is_running():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with Progress(console, "nmi") as progress:
        progress.report("plan", None, 2, 9)
        progress.report("start", Trial("mammo", "EM", 4), 2, 9)
        progress._bar.refresh()
    said = console.file.getvalue()
    assert "nmi" in said
    assert "2/9" in said
    assert "mammo EM seed=4" in said


def test_a_finished_run_says_nothing():
    console = Console(file=io.StringIO())
    with Progress(console, "nmi") as progress:
        progress.report("plan", None, 9, 9)
    assert console.file.getvalue() == ""
