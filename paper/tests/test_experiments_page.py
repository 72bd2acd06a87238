"""The page: from whatever results there are, and nothing else."""

import re
from pathlib import Path

import pytest

from proximity_kernel_paper.experiments import (
    Request,
    differences,
    fidelity,
    find_experiment,
    list_experiments,
    nmi,
    page,
    runtime,
)
from proximity_kernel_paper.experiments._ledger import Ledger
from proximity_kernel_paper.experiments._run import open_ledger
from proximity_kernel_paper.experiments._trials import RequestError, Trial
from proximity_kernel_paper.experiments.page import (
    keep_complete,
    read_chapters,
    write_page,
    write_text,
)

METHODS = tuple(nmi.METHODS)
ABOUT = {"seconds": 36.0, "commit": "abc1234", "machine": "2 x chip", "versions": "v 1"}


def fill(folder, name, score, *, quick=False, keep=lambda _: True):
    """Write results of all planned trials that are to be kept, round after round."""
    experiment = find_experiment(name)
    ledger = open_ledger(experiment, folder, quick)
    while True:
        done = ledger.read()
        seen = set(done[list(page.KEY)].astype(str).itertuples(index=False, name=None))
        left = [
            trial
            for trial in experiment.plan(Request(quick=quick), done)
            if keep(trial) and trial.key not in seen
        ]
        if not left:
            return
        lines = Buffer(ledger)
        for trial in left:
            lines.append(trial, score(trial) | ABOUT)
        lines.close()


class Buffer(Ledger):
    """A ledger that writes all rows at once: thousands of rows, one for each test."""

    def __init__(self, ledger):
        super().__init__(ledger.path, ledger.scores)
        self.rows = []

    def append(self, trial, outcome):
        self.rows.append((trial, outcome))

    def close(self):
        import csv

        self._mend()
        with self.path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            for trial, outcome in self.rows:
                key = dict(zip(page.KEY, trial.key, strict=True))
                writer.writerow(key | outcome)


def score_nmi(trial):
    """PK 0.05 above the others; in the order of the methods besides."""
    height = 0.2 + 0.01 * METHODS.index(trial.method) + 0.05 * (trial.method == "PK")
    return dict.fromkeys(nmi.SCORES, height)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    fill(folder, "nmi", score_nmi)
    fill(folder, "fidelity", score_fidelity)
    fill(folder, "differences", score_differences)
    fill(folder, "runtime", score_runtime)
    return folder


@pytest.fixture(scope="module")
def text(full):
    return write_text(read_chapters(full))


def score_fidelity(trial):
    error = 0.1 if trial.method == "PK" else 0.2 + (trial.method != "KNN") / 10
    return dict.fromkeys(fidelity.SCORES, error)


def score_differences(trial):
    moved = {"labels as published": 0.08, "prior only": -0.2}.get(trial.method, 0)
    scores = dict.fromkeys(differences.SCORES, 0.5 + moved + 0.001 * trial.seed)
    return scores | {"touched_cells": 5, "touched_rows": 2}


def score_runtime(trial):
    n_rows = trial.setting["rows"]
    seconds = n_rows / 1000 if trial.method == "PK" else (n_rows / 1000) ** 2
    return {"rows": n_rows, "fit_seconds": seconds, "fit_memory_mb": n_rows / 100}


# ------------------------------------------------------------------ with no results


def test_without_results_every_section_says_so(tmp_path):
    text = write_text(read_chapters(tmp_path))
    assert text.startswith("# The paper's numbers and ours\n")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[3:]
    assert len(sections) == len(list_experiments())
    for name, section in zip(list_experiments(), sections, strict=True):
        assert f"`proximity-kernel-paper {name}`" in section
        assert ("Not run." in section) == (name != "binning")
    assert 'Protocol "paper": no complete comparison yet.' in text
    assert "None of the 7 has a number of ours beside it yet." in text
    assert "- 0 of " in text
    assert ">>>" not in text


def test_results_of_another_kind_are_refused(tmp_path):
    (tmp_path / "nmi.csv").write_text("x,y\n1,2\n")
    with pytest.raises(RequestError, match=r"nmi\.csv holds the columns"):
        read_chapters(tmp_path)


# ------------------------------------------------------------------- with all of them


def test_the_summary_is_computed_from_the_numbers(text):
    summary = text.partition("## What was run")[0]
    assert (
        'Protocol "clean", 10 methods on 12 tables: PK has a mean NMI of 0.340 and a '
        "mean rank of 1.00. The best other is HI-PMK with 0.280 and 2.00" in summary
    )
    assert "7 values are known here" in summary
    # Mean has 0.2 everywhere: near no value of the paper; PK 0.34.
    assert "0 of 7 are within 0.02 of ours" in summary
    assert '"prior only", by -0.200' in summary
    assert "deviate by 0.1000 RMS from those of the complete table" in summary
    assert "by 0.1000 with the paper's rule" in summary
    assert "0.2000 after the best of 8 imputations (KNN)" in summary
    assert re.search(
        r"PK takes 1[\d.e+]* s for 1,024,000 rows \(slope 1\.00\)", summary
    )
    assert re.search(r"HI-PMK takes 256 s for 16,000 rows \(slope 2\.00\)", summary)


def test_what_was_run_is_told(text):
    row = next(line for line in text.splitlines() if line.startswith("| fidelity |"))
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells == [
        "fidelity", "2,718", "2,718", "0", "0", "27.18", "abc1234", "2 x chip",
    ]  # fmt: skip
    assert "- With v 1." in text


def test_differences_from_the_paper_have_reasons_and_measurements(text):
    reasons = text.partition("**Values that differ by more than 0.02**")[2]
    assert "- PK on kidney, -0.356: The archive's table" in reasons
    assert (
        'Measured: "labels as published" changes NMI by +0.080, and two seeds differ '
        "by up to 0.009." in reasons
    )
    assert "- Mean on mammo, -0.058: no reason is known." in reasons


def test_notes_are_said_once_in_a_section_and_details_folded(text):
    section = text.partition("## Clusters against classes: 12 tables")[2]
    section = section.partition("\n## ")[0]
    assert section.count("Cap of a trial") == 1
    assert section.count("<details>") == section.count("</details>") == 4


# ----------------------------------------------------------------- with some of them


def test_numbers_that_lack_trials_are_not_shown_but_named(tmp_path):
    def keep(trial):
        cut = (trial.dataset, trial.method) == ("mammo", "GAIN") and trial.seed > 3
        return trial.protocol == "clean" and not cut

    fill(tmp_path, "nmi", score_nmi, keep=keep)
    text = write_text(read_chapters(tmp_path))
    assert "clean GAIN on mammo" in text
    assert "Not run: " in text
    row = next(line for line in text.splitlines() if line.startswith("| mammo |"))
    assert row.split("|")[7].strip() == "-"  # GAIN
    assert row.split("|")[6].strip() != "-"
    assert "10 methods on 11 tables, those where all have a number" in text
    assert 'Protocol "paper": no complete comparison yet.' in text


def test_failures_are_counted_and_named(tmp_path):
    def score(trial):
        if trial.method == "EM":
            return {"error": "ValueError: no"}
        return score_nmi(trial)

    fill(tmp_path, "nmi", score, keep=lambda trial: trial.protocol == "clean")
    text = write_text(read_chapters(tmp_path))
    assert re.search(
        r"Failed: 120 trials; the first: clean \w+ EM \d: ValueError", text
    )
    assert "9 methods (of 10)" not in text  # EM has rows, so no table is complete


def test_what_cannot_be_rendered_says_why(tmp_path, monkeypatch):
    fill(tmp_path, "runtime", score_runtime)
    broken = find_experiment("runtime")

    def render(*_):
        raise KeyError("ours")

    monkeypatch.setattr(runtime, "EXPERIMENT", broken.__class__(
        **{**vars(broken), "render": render}
    ))  # fmt: skip
    text = write_text(read_chapters(tmp_path))
    assert "Cannot be shown from what is there: KeyError: 'ours'." in text


def test_units_with_gaps_are_left_out(tmp_path):
    ledger = Ledger(tmp_path / "x.csv", ("s",))
    for dataset, seed in (("a", 0), ("a", 1), ("b", 0)):
        ledger.append(Trial(dataset, "m", seed), {"s": 1.0})
    results = ledger.read()
    kept = keep_complete(results, [Trial("b", "m", 1)], ("dataset", "method"))
    assert kept["dataset"].to_list() == ["a", "a"]
    assert len(keep_complete(results, [], ("dataset",))) == 3
    assert len(keep_complete(results, [Trial("a", "m", 7)], ())) == 0


# ------------------------------------------------------------------------- the files


def test_the_page_and_its_figures_are_written(full, tmp_path):
    target = tmp_path / "docs" / "paper.md"
    write_page(full, target)
    text = target.read_text()
    linked = set(re.findall(r"!\[.*?\]\((.*?)\)", text))
    assert "pictures/nmi-beside-paper.svg" in linked
    for link in linked:
        svg = target.parent / link
        assert svg.read_text().startswith("<?xml")
        assert svg.with_suffix(".png").exists()
    assert {path.name for path in target.parent.iterdir()} == {"paper.md", "pictures"}


def test_a_page_that_fails_leaves_the_older_one(tmp_path, monkeypatch):
    target = tmp_path / "paper.md"
    target.write_text("older")

    def fail(self, other, real=Path.replace):
        if Path(other).name == "paper.md":
            raise OSError("no space left")
        return real(self, other)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write_page(tmp_path, target)
    assert target.read_text() == "older"
    assert {path.name for path in tmp_path.iterdir()} == {"paper.md", "pictures"}


def test_a_quick_page_says_so(tmp_path):
    fill(tmp_path, "runtime", score_runtime, quick=True)
    text = write_text(read_chapters(tmp_path, quick=True), quick=True)
    assert text.startswith("# The paper's numbers and ours (quick runs)\n")
    assert "PK takes 16 s for 16,000 rows" in text
