"""The experiments behind the paper's figures: what is tried, summed up and drawn."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from proximity_kernel_paper.experiments import (
    Request,
    binning,
    bins,
    boxplot,
    find_experiment,
    missing_rate,
    nmi,
    ranks,
)
from proximity_kernel_paper.experiments._ledger import ABOUT
from proximity_kernel_paper.experiments._published import read_published
from proximity_kernel_paper.experiments._rendering import write_markdown
from proximity_kernel_paper.experiments._trials import KEY, Trial

NOTHING = pd.DataFrame()
MODULES = (binning, bins, boxplot, missing_rate, ranks)


def make_results(trials, score):
    """Rows as a ledger gives them; a score of None is a failure."""
    rows = []
    for trial in trials:
        value = score(trial)
        failed = {"error": "ValueError: no"} if value is None else {}
        about = {"note": "", "error": "", "commit": "", "machine": "", "versions": ""}
        scores = dict.fromkeys(("nmi", "ari", "ami"), np.nan if failed else value)
        rows.append(dict(zip(KEY, trial.key, strict=True)) | scores | about | failed)
    columns = [*KEY, "nmi", "ari", "ami", "fit_seconds", *ABOUT]
    results = pd.DataFrame(rows, columns=columns)
    return results.astype({"seed": int, "nmi": float, "ari": float, "ami": float})


def draw_all(rendering):
    """Draw every figure, which has to be one; the axes of each."""
    found = {}
    for stem, draw in rendering.figures.items():
        figure = draw()
        assert isinstance(figure, Figure)
        figure.draw_without_rendering()
        found[stem] = figure.axes
    return found


@pytest.mark.parametrize("module", MODULES)
def test_experiments_are_found_by_their_names(module):
    experiment = module.EXPERIMENT
    assert find_experiment(experiment.name) is experiment


# ---------------------------------------------------------------------- missing-rate


def test_missing_rate_plans_every_point_once():
    trials = missing_rate.plan(Request(), NOTHING)
    assert len({trial.key for trial in trials}) == len(trials)
    # Two tables, three mechanisms, five rates, less the one that hides a column; three
    # rates and one seed for the five slow methods.
    assert len(trials) == (2 * 3 * 5 - 1) * 6 * 5 + (2 * 3 * 3 - 1) * 5
    assert not any(
        (trial.dataset, trial.setting)
        == ("three_lines", {"mechanism": "mar", "rate": 0.5})
        for trial in trials
    )


def test_missing_rate_quick_is_small_but_gives_what_is_named():
    quick = missing_rate.plan(Request(quick=True), NOTHING)
    assert len(quick) == 3 * 5
    assert {trial.dataset for trial in quick} == {"three_lines"}
    named = Request(quick=True, only=("messidor", "mnar", "PK cascade"))
    asked = missing_rate.plan(named, NOTHING)
    assert {trial.dataset for trial in asked} == {"messidor"}
    assert {trial.setting["mechanism"] for trial in asked} == {"mnar"}
    assert all(trial.parameters == nmi.FOUR_BINS for trial in asked)


def test_missing_rate_measures_a_table_with_more_holes():
    setting = {"mechanism": "mcar", "rate": 0.3}
    scores = [
        missing_rate.measure(Trial("penguins", "PK", seed, setting=setting), None)
        for seed in (0, 0, 1)
    ]
    assert set(scores[0]) - {"note"} == set(missing_rate.EXPERIMENT.scores)
    assert 0.3 < scores[0]["nmi"] < 1  # three species, still told apart
    assert scores[0]["nmi"] == scores[1]["nmi"]
    assert scores[0]["nmi"] != scores[2]["nmi"]  # other holes


def test_missing_rate_keeps_training_within_the_budget():
    setting = {"mechanism": "mcar", "rate": 0.1}
    trial = Trial("penguins", "GAIN", 0, setting=setting, budget=1000)
    assert "epochs (1,000 rows seen)" in missing_rate.measure(trial, None)["note"]


@pytest.fixture
def rates():
    """NMI of 1 - rate, half of it for HI-PMK; EM fails on messidor."""
    request = Request(only=("PK", "PK cascade", "HI-PMK", "EM"))

    def score(trial):
        if (trial.method, trial.dataset) == ("EM", "messidor"):
            return None
        scale = 0.5 if trial.method == "HI-PMK" else 1
        return scale * (1 - trial.setting["rate"]) + 0.01 * (trial.seed - 2)

    return make_results(missing_rate.plan(request, NOTHING), score)


def test_missing_rate_sums_up_over_seeds(rates):
    summary = missing_rate.summarise(rates)
    wide = missing_rate.pivot(summary, "three_lines")
    assert list(wide) == ["EM", "HI-PMK", "PK", "PK cascade"]
    assert wide.loc[("mcar", 0.3), "PK"] == pytest.approx(0.7)
    assert wide.loc[("mnar", 0.5), "HI-PMK"] == pytest.approx(0.25)
    spread = missing_rate.pivot(summary, "three_lines", "nmi_std")
    np.testing.assert_allclose(spread.drop(columns="EM"), 0.01 * np.sqrt(2))
    assert ("mar", 0.5) not in wide.index


def test_missing_rate_shows_gaps_and_why(rates):
    rendering = missing_rate.render(rates, Request())
    assert len(rendering.tables) == 6
    text = write_markdown(rendering.tables[1])
    assert "**NMI on messidor with hidden cells**" in text
    assert "| mcar 10% | - | *0.450 ±.014* | **0.900 ±.014** |" in text
    assert "EM failed on messidor: ValueError: no" in text


def test_missing_rate_draws_tables_by_mechanisms(rates):
    axes = draw_all(missing_rate.render(rates, Request()))["missing-rate"]
    titles = [ax.get_title(loc="left") for ax in axes]
    pairs = itertools.product(missing_rate.TABLES, missing_rate.MECHANISMS)
    assert titles == [f"{dataset}, {mechanism}" for dataset, mechanism in pairs]
    assert len({ax.get_ylim() for ax in axes[:3]}) == 1
    assert len({ax.get_xlim() for ax in axes}) == 1
    assert axes[1].get_xticks().tolist() == [10, 20, 30, 40, 50]
    pk = {line.get_label(): line for line in axes[0].lines}["PK"]
    np.testing.assert_allclose(pk.get_xdata(), [10, 20, 30, 40, 50])
    np.testing.assert_allclose(pk.get_ydata(), [0.9, 0.8, 0.7, 0.6, 0.5])


def test_missing_rate_draws_a_quick_run_without_spread():
    trials = missing_rate.plan(Request(quick=True), NOTHING)
    rendering = missing_rate.render(make_results(trials, lambda _: 0.5), Request())
    assert (rendering.tables[0].frame == "0.500").all(axis=None)
    assert len(draw_all(rendering)["missing-rate"]) == 1


# ------------------------------------------------------------------------------ bins


def test_bins_plans_both_rules():
    trials = bins.plan(Request(), NOTHING)
    assert len({trial.key for trial in trials}) == len(trials) == 3 * 2 * 9 * 10
    quick = bins.plan(Request(quick=True), NOTHING)
    assert len(quick) == 2 * 3 * 2
    assert {trial.dataset for trial in quick} == {"mammo"}
    named = bins.plan(Request(quick=True, only=("heart", "PK")), NOTHING)
    assert {trial.dataset for trial in named} == {"heart"}
    assert not any("matching" in trial.parameters for trial in named)


def test_bins_measures_with_so_many_bins():
    scores = [
        bins.measure(Trial("penguins", "PK", 0, parameters={"n_bins": n}), None)
        for n in (2, 6)
    ]
    assert set(scores[0]) == set(bins.EXPERIMENT.scores)
    assert scores[0]["nmi"] != scores[1]["nmi"]


def test_bins_shows_and_draws_each_rule():
    def score(trial):
        return trial.parameters["n_bins"] / (
            20 if "matching" in trial.parameters else 10
        )

    results = make_results(bins.plan(Request(), NOTHING), score)
    rendering = bins.render(results, Request())
    frame = rendering.tables[0].frame
    assert frame.loc["heart, PK cascade", "4 bins"] == "0.200 ±.000"
    assert frame.loc["mammo, PK", "10 bins"] == "1.000 ±.000"
    assert rendering.tables[0].marks.loc["mammo, PK"].to_list()[-2:] == [
        "second",
        "best",
    ]
    axes = draw_all(rendering)["bins"]
    assert [ax.get_title(loc="left") for ax in axes] == list(bins.TABLES)
    lines = {line.get_label(): line for line in axes[1].lines}
    np.testing.assert_allclose(lines["PK"].get_ydata(), np.arange(2, 11) / 10)
    np.testing.assert_allclose(lines["PK cascade"].get_ydata(), np.arange(2, 11) / 20)


@pytest.mark.parametrize("module", [bins, missing_rate])
def test_without_results_there_is_nothing_to_show(module):
    rendering = module.render(make_results([], None), Request())
    assert not rendering.tables
    assert not rendering.figures


# --------------------------------------------------------------------------- binning


def test_binning_counts_values_by_the_nearest_center():
    sample = binning.make_sample()
    nearest = np.abs(sample.values[:, None] - sample.centers).argmin(axis=1)
    shares = np.bincount(nearest, minlength=8) / len(sample.values)
    table = binning.render(NOTHING, Request()).tables[0].frame
    np.testing.assert_allclose(
        table["share of values"].astype(float), shares, atol=5e-4
    )
    middle = (sample.centers[2] + sample.centers[3]) / 2
    assert table.loc[3, "to"] == table.loc[4, "from"] == f"{middle:.3f}"


def test_binning_pairs_are_equally_far_apart():
    sample = binning.make_sample()
    dense, sparse = sample.pairs.values()
    assert dense[1] - dense[0] == pytest.approx(sparse[1] - sparse[0])
    assert np.searchsorted(sample.edges, dense[0]) < np.searchsorted(
        sample.edges, dense[1]
    )
    assert np.searchsorted(sample.edges, sparse[0]) == np.searchsorted(
        sample.edges, sparse[1]
    )
    assert sample.similarity(*dense) == 0
    assert sample.similarity(*sparse) == 1


def test_binning_counts_all_pairs_so_far_apart():
    sample = binning.make_sample()
    cells = np.searchsorted(sample.edges, sample.values)
    near = [
        cells[i] == cells[j]
        for i, j in itertools.combinations(range(len(cells)), 2)
        if abs(sample.values[j] - sample.values[i] - 0.5) <= 0.05
    ]
    share, count = sample.share_alike(-np.inf, np.inf)
    assert count == len(near)
    assert share == pytest.approx(np.mean(near))


def test_binning_draws_both_pairs():
    (ax,) = draw_all(binning.render(NOTHING, Request()))["binning"]
    said = " ".join(text.get_text() for text in ax.texts)
    assert "dense pair, 0.5 apart: similarity 0" in said
    assert "sparse pair, 0.5 apart: similarity 1" in said


# ----------------------------------------------------------------- boxplot and ranks


def make_main_results(protocol, tables=nmi.TABLES, gap=None):
    """A main table in which methods rise by 0.01 from Mean to PK, on every table."""
    values, trials = {}, []
    for dataset, (place, (method, fixed)) in itertools.product(
        tables, enumerate(nmi.columns(protocol).values())
    ):
        level = 0.01 * place + 0.05 * nmi.TABLES.index(dataset)
        for seed in range(2):
            trial = Trial(dataset, method, seed, protocol, fixed)
            values[trial.key] = None if gap == (dataset, method) else level
            trials.append(trial)
    return make_results(trials, lambda trial: values[trial.key])


def test_boxplot_gives_the_quartiles_over_tables():
    scores = pd.DataFrame(
        {"Mean": [0.0, 0.1, 0.2, 0.3, 0.4], "PK": [0.5, 0.7, *[None] * 3]}
    )
    found = boxplot.describe(scores.astype(float))
    assert list(found.index) == ["PK", "Mean"]
    assert found.loc["Mean"].round(3).to_list() == [5, 0.0, 0.1, 0.2, 0.3, 0.4, 0.2]
    assert found.loc["PK"].round(3).to_list() == [2, 0.5, 0.55, 0.6, 0.65, 0.7, 0.6]


def test_boxplot_shows_and_draws_the_protocols_there_are():
    results = make_main_results("clean", gap=("adult", "MIWAE"))
    rendering = boxplot.render(results, Request())
    axes = draw_all(rendering)
    assert list(axes) == ["boxplot-clean"]
    names = [text.get_text() for text in axes["boxplot-clean"][0].get_yticklabels()]
    assert names[:2] == ["PK cascade", "HI-PMK bin0"]  # the highest as made above
    assert "MIWAE (11 of 12)" in names
    (table,) = rendering.tables
    assert table.frame.loc["MIWAE", "tables"] == "11"
    assert any("not comparable" in note for note in table.notes)
    assert "not comparable" not in str(
        boxplot.render(make_main_results("paper"), Request()).tables[0].notes
    )


def test_ranks_only_the_ten_methods_of_the_paper():
    scores = ranks.collect(make_main_results("clean"), "clean")
    assert tuple(scores.nmi) == nmi.METHODS
    found = ranks.compare(scores)
    # Every table ranks alike: PK first, Mean last.
    assert list(found.index) == list(nmi.METHODS[::-1])
    assert found["mean_rank"].to_list() == list(range(1, 11))
    assert found.loc["Mean", "mean_difference"] == pytest.approx(0.09)
    assert (found.loc["KNN", "wins"], found.loc["KNN", "losses"]) == (12, 0)
    assert found.loc["KNN", "p_holm"] == pytest.approx(9 * 2 / 2**12)
    assert found.loc["Mean", "nemenyi"] < 0.001 < 0.9 < found.loc["HI-PMK", "nemenyi"]
    assert found.loc["PK", ["nemenyi", "p_holm"]].isna().all()


def test_ranks_are_shown_beside_the_printed_ones():
    paper = read_published()
    ranked, tests = ranks.render(make_main_results("paper"), Request()).tables
    assert ranked.frame.loc["PK", "paper's rank"] == f"{paper['mean_ranks']['PK']:.3f}"
    assert ranked.frame.loc["Mean", "paper's rank"] == "-"
    row = tests.frame.loc["critical difference at 0.1"]
    # Ten methods on twelve tables: the same difference, computed and printed.
    assert row["value"] == row["paper's"] == "3.609"
    # chi squared of full agreement is N (k - 1).
    assert tests.frame.loc["Friedman's chi squared", "value"] == "108.00"
    assert "at 0.1: PK, HI-PMK, MIWAE, MIRACLE; HI-PMK" in tests.notes[0]


def test_ranks_leave_out_a_table_with_a_gap_and_say_so():
    results = make_main_results("paper", gap=("adult", "GAIN"))
    ranked, tests = ranks.render(results, Request()).tables
    assert "Left out, a method has no score there: adult." in ranked.notes
    assert "10 methods on 11 tables" in ranked.notes[0]
    # What the paper prints is of twelve tables.
    assert "paper's rank" not in ranked.frame
    assert "paper's" not in tests.frame


def test_ranks_of_one_table_are_not_tested():
    results = make_main_results("clean", ("mammo", "adult"), gap=("adult", "GAIN"))
    rendering = ranks.render(results, Request())
    (table,) = rendering.tables
    assert table.notes[0].startswith("Too little to rank")
    assert "adult" in table.notes[1]
    assert not rendering.figures


def test_ranks_draws_a_diagram_for_each_protocol_and_level():
    results = pd.concat(map(make_main_results, nmi.PROTOCOLS), ignore_index=True)
    axes = draw_all(ranks.render(results, Request()))
    assert list(axes) == [
        "ranks-paper-alpha10",
        "ranks-paper-alpha05",
        "ranks-clean-alpha10",
        "ranks-clean-alpha05",
    ]
    said = [text.get_text() for text in axes["ranks-clean-alpha10"][0].texts]
    assert {"critical difference 3.61", "PK  1.00", "Mean  10.00"} <= set(said)

    def rings(ax):
        hollow = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
        return [float(line.get_xdata()[0]) for line in hollow]

    assert rings(axes["ranks-paper-alpha10"][0]) == [1.667, 3.417]
    assert rings(axes["ranks-clean-alpha10"][0]) == []
