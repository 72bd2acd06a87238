"""The main table: which trials, what they measure, and what is made of them."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from proximity_kernel_paper.experiments import Request, nmi
from proximity_kernel_paper.experiments._budget import cut_epochs, cut_rows, say_budget
from proximity_kernel_paper.experiments._ledger import ABOUT
from proximity_kernel_paper.experiments._published import compare, draw, list_known
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


def test_the_paper_protocol_searches_and_then_repeats_the_best_of_slow_methods():
    request = Request(only=("mammo", "MIWAE", "KNN"), protocols=("paper",))
    first = nmi.plan(request, NOTHING)
    by_method = {name: [t for t in first if t.method == name] for name in nmi.METHODS}
    assert len(by_method["KNN"]) == 3 * 10
    assert len(by_method["MIWAE"]) == 3 * 4
    assert {trial.seed for trial in by_method["MIWAE"]} == {0}

    def score(trial):
        return 0.9 if trial.parameters.get("batch_size") == 64 else 0.1

    partly = make_results(first[:-1], score)
    assert len(nmi.plan(request, partly)) == len(first)  # the search is not over
    done = make_results(first, score)
    second = nmi.plan(request, done)[len(by_method["MIWAE"]) :]
    new = [t for t in nmi.plan(request, done) if t not in first]
    assert {trial.seed for trial in new} == set(range(1, 10))
    assert {trial.parameters["batch_size"] for trial in new} == {64}
    assert len(second) >= len(new) == 9
    all_done = make_results([*first, *new], score)
    assert len(nmi.plan(request, all_done)) == len(first) + 9  # and nothing more


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
    assert len(named) == len(quick) / len(nmi.QUICK_TABLES)


def test_a_variant_can_be_asked_for_by_its_name():
    request = Request(only=("mammo", "PK cascade"), protocols=("clean",))
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
    assert "1,000,000 rows" in say_budget()
    assert "20,000 rows (epochs" in say_budget(quick=True)


# ---------------------------------------------------------------- what is made of it


@pytest.fixture
def results():
    """PK best at 3 bins; EM fails on mammo; the second seed is 0.1 higher."""
    methods = ("Mean", "KNN", "EM", "HI-PMK", "PK")
    heights = {"Mean": 0.2, "KNN": 0.4, "EM": 0.3, "HI-PMK": 0.5, "PK": 0.6}

    def score(trial):
        if (trial.method, trial.dataset) == ("EM", "mammo"):
            return None
        bins = trial.parameters.get("n_bins", 3)
        return heights[trial.method] - 0.01 * abs(bins - 3) + 0.01 * (trial.seed == 1)

    request = Request(only=("mammo", "kidney", *methods))
    return make_results(nmi.plan(request, NOTHING), score)


def test_the_best_of_a_grid_is_summed_up_over_seeds(results):
    summary = nmi.summarise(results, "paper").set_index(["dataset", "label"])
    row = summary.loc[("kidney", "PK")]
    assert json.loads(row["parameters"]) == {**nmi.CASCADE, "n_bins": 3}
    assert row["n_seeds"] == 10
    assert row["nmi"] == pytest.approx(0.601)
    assert row["nmi_std"] == pytest.approx(0.003)
    assert np.isnan(summary.loc[("mammo", "EM"), "nmi"])


def test_a_point_of_a_search_with_one_seed_is_no_result():
    request = Request(only=("mammo", "MICE"), protocols=("paper",))
    first = nmi.plan(request, NOTHING)
    done = make_results(first, lambda t: t.parameters["max_iter"] / 1000)
    trials = nmi.plan(request, done)
    # The other seeds are worse than any point of the search.
    found = make_results(
        trials, lambda t: 0.0 if t.seed else t.parameters["max_iter"] / 1000
    )
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
    assert titles[:6] == [f'{name}, protocol "{p}"' for p, name in protocols]
    assert [table.detail for table in rendering.tables[:3]] == [False, True, True]
    text = write_markdown(rendering.tables[0])
    assert "| table | Mean | KNN | EM | HI-PMK | PK | HI-PMK bin0 |" in text
    assert text.index("| kidney |") < text.index("| mammo |") < text.index("| mean |")
    assert "| mammo | 0.201 ±.003 | 0.401 ±.003 | - | *0.501 ±.003* | **0.601" in text
    assert "| mean | 0.201 | 0.401 | - | *0.501* | **0.601** |" in text
    assert "EM failed on mammo: ValueError: no" in text
    clean = rendering.tables[3].frame
    assert list(clean)[-2:] == ["HI-PMK bin0", "PK cascade"]


def test_an_empty_protocol_has_no_table(results):
    paper = results[results["protocol"] == "paper"]
    titles = [t.title for t in nmi.render(paper, Request()).tables]
    assert not any("clean" in title for title in titles)


# ------------------------------------------------------------------ beside the paper


def test_only_known_values_of_the_paper_are_shown(results):
    beside = nmi.render(results, Request()).tables[-1]
    assert beside.title == "NMI beside the paper's"
    text = write_markdown(beside)
    assert "| kidney | PK | 0.696 | 0.601 | -0.095 | The archive's table" in text
    assert "| mammo | Mean | 0.258 | 0.201 | -0.057 | None is known. |" in text
    assert "mean" not in beside.frame.index  # two tables are not the paper's twelve
    assert "no number of ours here: PK on mean, Mean on cancer" in text


def test_the_mean_is_of_all_tables_and_close_values_need_no_reason():
    ours = pd.DataFrame({"PK": 0.43, "Mean": 0.36}, index=list(nmi.TABLES))
    known = list_known(ours).set_index(["table", "method"])
    assert known.loc[("mean", "PK"), "difference"] == pytest.approx(0.0055)
    frame = compare(ours).frame
    pk = frame[frame["method"] == "PK"]
    assert pk.loc["mean", "reason"] == ""
    assert pk.loc["kidney", "reason"] != ""
    labels = [label.get_text() for label in draw(ours).axes[0].get_yticklabels()]
    assert "kidney, PK" in labels


def test_quick_numbers_are_not_put_beside_the_papers(results):
    rendering = nmi.render(results, Request(quick=True))
    assert not any("paper's" in table.title for table in rendering.tables)
    assert not rendering.figures
