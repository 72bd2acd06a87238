"""The main table: which trials, what they measure, and what is made of them."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from proximity_kernel_paper.experiments import Request, nmi
from proximity_kernel_paper.experiments._budget import cut_epochs, cut_rows, say_budget
from proximity_kernel_paper.experiments._ledger import ABOUT
from proximity_kernel_paper.experiments._published import (
    compare,
    draw,
    read_published,
    tell_differences,
)
from proximity_kernel_paper.experiments._rendering import write_markdown
from proximity_kernel_paper.experiments._trials import KEY, Trial


def make_results(trials, score):
    """Rows as a ledger gives them; a score of None is a failure."""
    rows = []
    for trial in trials:
        value = score(trial)
        failed = {"error": "ValueError: no"} if value is None else {}
        scores = dict.fromkeys(nmi.SCORES, np.nan if failed else value)
        about = {**dict.fromkeys(ABOUT, ""), "seconds": 1.0}
        rows.append(dict(zip(KEY, trial.key, strict=True)) | scores | about | failed)
    columns = [*KEY, *nmi.EXPERIMENT.scores, *ABOUT]
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"seed": int, **dict.fromkeys(nmi.SCORES, float)})


NOTHING = make_results([], None)


# ------------------------------------------------------------------------- the plan


def test_the_clean_protocol_is_one_default_with_ten_seeds():
    trials = nmi.plan(Request(protocols=("clean",)), NOTHING)
    assert len({trial.key for trial in trials}) == len(trials) == 12 * 12 * 10
    given = {(trial.method, json.dumps(trial.parameters)) for trial in trials}
    assert ("PK", "{}") in given
    assert ("PK", json.dumps(nmi.FOUR_BINS)) in given
    assert all(options == "{}" for method, options in given if method == "GAIN")


def test_the_paper_protocol_searches_every_method_with_one_seed():
    request = Request(only=("mammo", "MIWAE", "KNN"), protocols=("paper",))
    first = nmi.plan(request, NOTHING)
    search = [trial for trial in first if trial.protocol == "paper"]
    by_method = {name: [t for t in search if t.method == name] for name in nmi.LABELS}
    assert len(by_method["KNN"]) == 3
    assert len(by_method["MIWAE"]) == 3 * 4
    assert {trial.seed for trial in search} == {0}
    # The defaults are the clean protocol's, where the classes are the same.
    assert len(first) == len(search) + 2 * 10

    def score(trial):
        return 0.9 if trial.parameters.get("batch_size") == 128 else 0.1

    partly = make_results(search[:-1], score)
    assert {t.seed for t in nmi.plan(request, partly) if t.method == "MIWAE"} == set(
        range(10)
    )
    assert not [
        t
        for t in nmi.plan(request, partly)
        if t.protocol == "paper" and t.method == "MIWAE" and t.seed
    ]  # the search is not over
    done = make_results(first, score)
    new = [t for t in nmi.plan(request, done) if t not in first and t.method == "MIWAE"]
    assert {trial.seed for trial in new} == set(range(1, 10))
    assert {trial.parameters["batch_size"] for trial in new} == {128}
    all_done = make_results([*first, *new], score)
    assert len(nmi.plan(request, all_done)) == len(nmi.plan(request, done))


def test_a_default_that_is_as_good_to_three_digits_is_kept():
    request = Request(only=("mammo", "KNN"), protocols=("paper",))
    first = nmi.plan(request, NOTHING)

    def score(more):
        return lambda t: 0.3 + more * (t.parameters.get("n_neighbors") == 20)

    assert nmi.plan(request, make_results(first, score(0.0001))) == first
    new = nmi.plan(request, make_results(first, score(0.01)))[len(first) :]
    assert {t.parameters["n_neighbors"] for t in new if t.protocol == "paper"} <= {20}
    assert len(nmi.plan(request, make_results(first, score(0.01)))) == len(first) + 9


def test_of_equal_points_the_first_of_the_grid_counts_in_any_order_of_results():
    request = Request(only=("mammo", "MIWAE"), protocols=("paper",))
    first = nmi.plan(request, NOTHING)

    def score(trial):
        return 0.9 if trial.parameters.get("batch_size", 64) != 64 else 0.1

    done = make_results(first, score)
    plans = [nmi.plan(request, rows) for rows in (done, done[::-1])]
    assert plans[0] == plans[1]
    chosen = {t.parameters["batch_size"] for t in plans[0] if t.seed and t.parameters}
    assert chosen == {32}


def test_where_the_classes_differ_the_default_is_run_with_them():
    request = Request(only=("kidney", "GAIN", nmi.PAPER), protocols=("paper",))
    trials = nmi.plan(request, NOTHING)
    assert {trial.protocol for trial in trials} == {"paper"}
    many = {json.dumps(trial.parameters) for trial in trials if trial.seed == 9}
    assert many == {
        json.dumps({"epochs": 500, "batch_size": 128}),
        json.dumps(nmi.FOUR_BINS),
    }


def test_the_grid_of_the_papers_method_is_the_papers():
    assert [point["n_bins"] for point in nmi.grid(nmi.PAPER, False)] == [2, 3, 4, 6, 8]
    assert nmi.grid(nmi.OURS, False) == [{}]


def test_a_search_that_failed_everywhere_has_no_second_round():
    request = Request(only=("mammo", "GAIN"), protocols=("paper",))
    first = nmi.plan(request, NOTHING)
    done = make_results(first, lambda _: None)
    assert nmi.plan(request, done) == first


def test_quick_is_small_but_gives_the_tables_that_are_named():
    quick = nmi.plan(Request(quick=True), NOTHING)
    assert {trial.dataset for trial in quick} == set(nmi.QUICK_TABLES)
    assert len(quick) < 200
    named = nmi.plan(Request(quick=True, only=("adult",)), NOTHING)
    assert {trial.dataset for trial in named} == {"adult"}
    assert len(named) < 50


def test_a_variant_can_be_asked_for_by_its_name():
    request = Request(only=("mammo", nmi.PAPER), protocols=("clean",))
    trials = nmi.plan(request, NOTHING)
    assert all(trial.parameters == nmi.FOUR_BINS for trial in trials)
    assert trials


# ---------------------------------------------------------------------- the measure


def test_a_trial_is_measured_the_same_way_twice():
    scores = [nmi.measure(Trial("penguins", "PK", 1, "clean"), None) for _ in range(2)]
    for each in scores:
        assert each.pop("fit_seconds") > 0
    assert scores[0] == scores[1]
    assert 0.5 < scores[0]["nmi"] < 1
    assert scores[0]["note"] == ""


def test_what_is_cut_is_said():
    parameters, note = cut_epochs("GAIN", {"epochs": 100}, 500, 10_000)
    assert parameters == {"epochs": 20}
    assert note == "20 of 100 epochs (10,000 rows seen)"
    assert cut_epochs("GAIN", {"epochs": 100}, 500, 0) == ({"epochs": 100}, "")
    frame = pd.DataFrame({"a": np.arange(9000)})
    part, target, note = cut_rows("HI-PMK", frame, frame["a"], 0)
    assert note == "8,200 of 9,000 rows"
    assert (part["a"] == target).all()
    assert part["a"].is_monotonic_increasing
    assert "rows at most 1,000,000" in say_budget()
    assert "rows at most 20,000" in say_budget(quick=True)


# ---------------------------------------------------------------- what is made of it


@pytest.fixture
def results():
    """PK best at 3 bins; EM fails on mammo; the second seed is 0.01 higher."""
    labels = ("Mean", "KNN", "EM", "HI-PMK", nmi.PAPER, nmi.OURS)
    heights = {"Mean": 0.2, "KNN": 0.4, "EM": 0.3, "HI-PMK": 0.5, "PK": 0.6}

    def score(trial):
        if (trial.method, trial.dataset) == ("EM", "mammo"):
            return None
        bins = trial.parameters.get("n_bins", 8)
        return heights[trial.method] - 0.01 * abs(bins - 3) + 0.01 * (trial.seed == 1)

    request = Request(only=("mammo", "kidney", *labels))
    first = make_results(nmi.plan(request, NOTHING), score)
    return make_results(nmi.plan(request, first), score)


def test_the_best_of_a_grid_is_summed_up_over_seeds(results):
    summary = nmi.summarise(results, "paper").set_index(["dataset", "label"])
    row = summary.loc[("kidney", nmi.PAPER)]
    assert json.loads(row["parameters"]) == {**nmi.CASCADE, "n_bins": 3}
    assert row["n_seeds"] == 10
    assert row["nmi"] == pytest.approx(0.601)
    assert row["nmi_std"] == pytest.approx(0.01 * np.sqrt(0.1))  # ddof 1
    assert np.isnan(summary.loc[("mammo", "EM"), "nmi"])


def test_the_default_is_reported_where_it_is_better_than_the_search(results):
    changed = results.copy()
    default = (results["parameters"] == "{}") & (results["method"] == "KNN")
    changed.loc[default & (results["protocol"] == "clean"), "nmi"] = 0.9
    summary = nmi.summarise(changed, "paper").set_index(["dataset", "label"])
    assert summary.loc[("mammo", "KNN"), "nmi"] == pytest.approx(0.9)
    assert summary.loc[("kidney", "KNN"), "nmi"] < 0.5  # other classes, other trials


def test_a_point_of_a_search_with_one_seed_is_no_result():
    request = Request(only=("kidney", "MICE"), protocols=("paper",))

    def at_first(trial):
        return trial.parameters["max_iter"] / 1000

    first = [t for t in nmi.plan(request, NOTHING) if t.seed == 0]
    trials = nmi.plan(request, make_results(first, at_first))
    # The other seeds are worse than any point of the search.
    found = make_results(trials, lambda t: 0.0 if t.seed else at_first(t))
    (row,) = nmi.summarise(found, "paper").to_dict("records")
    assert row["n_seeds"] == 10
    assert row["nmi"] == pytest.approx(0.05)


def test_one_seed_has_no_spread():
    trials = [Trial("mammo", "Mean", 0, "clean")]
    rendering = nmi.render(make_results(trials, lambda _: 0.5), Request(quick=True))
    assert rendering.tables[0].frame.loc["mammo", "Mean"] == "0.500"


def test_tables_are_in_the_papers_order_with_marks_and_gaps(results):
    rendering = nmi.render(results, Request())
    titles = [table.title for table in rendering.tables]
    protocols = itertools.product(("paper", "clean"), ("NMI", "ARI", "AMI"))
    assert titles == [f'{name}, protocol "{p}"' for p, name in protocols]
    assert [table.detail for table in rendering.tables[:3]] == [False, True, True]
    text = write_markdown(rendering.tables[0])
    assert "| table | Mean | KNN | EM | HI-PMK | PK (paper) | PK (ours) |" in text
    assert text.index("| kidney |") < text.index("| mammo |") < text.index("| mean |")
    assert "| mammo | 0.151 ±.003 | 0.351 ±.003 | - | 0.451 ±.003 | **0.601" in text
    assert "| mean | 0.151 | 0.351 | - | 0.451 | **0.601** | *0.551* |" in text
    assert "ddof 1" in text


def test_an_empty_protocol_has_no_table(results):
    paper = results[results["protocol"] == "paper"]
    titles = [t.title for t in nmi.render(paper, Request()).tables]
    assert not any("clean" in title for title in titles)


# ------------------------------------------------------------------ beside the paper


def test_all_cells_of_the_paper_are_known():
    printed = read_published()
    assert printed.shape == (13, 10)
    assert set(printed.index) == {*nmi.TABLES, "mean"}
    assert list(printed) == [*nmi.BASELINES, nmi.PAPER]
    means = printed.drop(index="mean").mean()
    assert (means - printed.loc["mean"]).abs().max() < 0.0003  # as it prints them


def test_cells_are_put_beside_the_papers_and_far_ones_named():
    ours = read_published().drop(index="mean") + 0.03
    ours.loc["mammo", "EM"] += 0.2
    ours.loc["adult", "EM"] = np.nan
    cells = compare(ours)
    assert len(cells) == 119
    assert cells["difference"].min() == pytest.approx(0.03)
    counts, far = tell_differences(ours)
    assert "Of the 119 cells" in counts
    assert "0 are within 0.02 of it, 118 within 0.05, and 1 are off" in counts
    assert "EM on mammo 0.269 there, 0.499 here" in far
    (ax,) = draw(ours, nmi.NAMES).axes
    assert [text.get_text() for text in ax.texts] == ["mammo"]
    assert len(ax.collections) == 10


def test_quick_numbers_are_not_put_beside_the_papers(results):
    rendering = nmi.render(results, Request(quick=True))
    assert not any("cells of the paper" in note for note in rendering.tables[0].notes)
    assert not rendering.figures
