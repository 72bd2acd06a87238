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


def test_missing_rate_plans_all_methods_at_all_rates_with_the_same_seeds():
    trials = missing_rate.plan(Request(), NOTHING)
    assert len({trial.key for trial in trials}) == len(trials)
    points = {(t.method, str(t.parameters), t.setting["rate"], t.seed) for t in trials}
    for label, (method, given) in missing_rate.COLUMNS.items():
        for rate in missing_rate.RATES[1:]:
            assert {(method, str(given), rate, seed) for seed in range(5)} <= points
        if label not in missing_rate.IMPUTATIONS[1:]:  # all the same at rate 0
            assert (method, str(given), 0.0, 4) in points


def test_missing_rate_quick_is_small_but_gives_what_is_named():
    quick = missing_rate.plan(Request(quick=True), NOTHING)
    assert len(quick) < 30
    assert {trial.dataset for trial in quick} == {"three_lines"}
    asked = missing_rate.plan(
        Request(quick=True, only=("messidor", nmi.PAPER)), NOTHING
    )
    assert {trial.dataset for trial in asked} == {"messidor"}
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


def test_missing_rate_measures_chance():
    trial = Trial("penguins", "chance", 0, setting={"mechanism": "mcar", "rate": 0.0})
    assert missing_rate.measure(trial, None)["nmi"] < 0.05


@pytest.fixture
def rates():
    """NMI of 1 - rate, half of it for HI-PMK; 8 bins a little better than 4."""
    eight = f"{nmi.PAPER}, 8 bins"
    request = Request(
        only=("Mean", "EM", "HI-PMK", nmi.PAPER, eight, nmi.OURS, "chance")
    )

    def score(trial):
        if trial.method == "chance":
            return 0.01
        scale = 0.5 if trial.method == "HI-PMK" else 1
        more = 0.02 * (trial.parameters.get("n_bins") == 8)
        return scale * (1 - trial.setting["rate"]) + 0.01 * (trial.seed - 2) + more

    return make_results(missing_rate.plan(request, NOTHING), score)


def test_missing_rate_sums_up_over_seeds(rates):
    summary = missing_rate.summarise(rates)
    wide = missing_rate.pivot(summary, "three_lines")
    assert list(wide) == [
        "Mean", "EM", "HI-PMK", nmi.PAPER, nmi.BEST_BINS, nmi.OURS,
    ]  # fmt: skip
    assert wide.loc[0.3, nmi.PAPER] == pytest.approx(0.7)
    assert wide.loc[0.3, nmi.BEST_BINS] == pytest.approx(0.72)
    assert wide.loc[0.5, "HI-PMK"] == pytest.approx(0.25)
    assert wide.loc[0.0, "EM"] == wide.loc[0.0, "Mean"] == pytest.approx(1)
    spread = missing_rate.pivot(summary, "three_lines", "nmi_std")
    np.testing.assert_allclose(spread, 0.01 * np.sqrt(2.5))  # ddof 1


def test_missing_rate_shows_and_draws_every_table(rates):
    rendering = missing_rate.render(rates, Request())
    assert [table.title for table in rendering.tables] == [
        f"NMI on {name} with hidden cells (chance 0.010)"
        for name in missing_rate.TABLES
    ]
    axes = draw_all(rendering)["missing-rate"]
    assert [ax.get_title(loc="left") for ax in axes] == list(missing_rate.TABLES)
    lines = {line.get_label(): line for line in axes[0].lines}
    np.testing.assert_allclose(lines[nmi.OURS].get_xdata(), [0, 10, 20, 30, 40, 50])
    assert lines["chance"].get_ydata()[0] == pytest.approx(0.01)
    assert len(axes[0].collections) == 6  # the spread of each


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
    named = bins.plan(Request(quick=True, only=("heart", nmi.PAIRWISE)), NOTHING)
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
    assert frame.loc[f"heart, {nmi.PAPER}", "4 bins"] == "0.200 ±.000"
    assert frame.loc[f"mammo, {nmi.PAIRWISE}", "10 bins"] == "1.000 ±.000"
    assert rendering.tables[0].marks.loc[f"mammo, {nmi.PAIRWISE}"].to_list()[-2:] == [
        "second",
        "best",
    ]
    axes = draw_all(rendering)["bins"]
    assert [ax.get_title(loc="left") for ax in axes] == list(bins.TABLES)
    lines = {line.get_label(): line for line in axes[1].lines}
    np.testing.assert_allclose(lines[nmi.PAIRWISE].get_ydata(), np.arange(2, 11) / 10)
    np.testing.assert_allclose(lines[nmi.PAPER].get_ydata(), np.arange(2, 11) / 20)


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
    share, count = sample.share_alike(((0.0, 1.0),))
    assert count == len(near)
    assert share == pytest.approx(np.mean(near))


def test_pairs_of_several_parts_are_counted_together():
    sample = binning.make_bell()
    parts = [sample.share_alike((part,)) for part in sample.sparse]
    alike = sum(share * count for share, count in parts)
    share, count = sample.share_alike(sample.sparse)
    assert count == sum(count for _, count in parts)
    assert share == pytest.approx(alike / count)


def test_binning_draws_both_pairs():
    (ax,) = draw_all(binning.render(NOTHING, Request()))["binning"]
    said = " ".join(text.get_text() for text in ax.texts)
    assert "dense pair, 0.5 apart: similarity 0" in said
    assert "sparse pair, 0.5 apart: similarity 1" in said


# ----------------------------------------------------------------- boxplot and ranks


def make_main_results(protocol, tables=nmi.TABLES, gap=None):
    """A main table in which methods rise by 0.01 from Mean on, on every table."""
    values, trials = {}, []
    for dataset, (place, (method, _, default)) in itertools.product(
        tables, enumerate(nmi.COLUMNS.values())
    ):
        level = 0.01 * place + 0.05 * nmi.TABLES.index(dataset)
        for seed in range(2):
            trial = Trial(dataset, method, seed, protocol, default)
            values[trial.key] = None if gap == (dataset, method) else level
            trials.append(trial)
    return make_results(trials, lambda trial: values[trial.key])


def test_boxplot_draws_the_protocols_there_are():
    results = make_main_results("clean", gap=("adult", "MIWAE"))
    axes = draw_all(boxplot.render(results, Request()))
    assert list(axes) == ["boxplot-clean"]
    names = [text.get_text() for text in axes["boxplot-clean"][0].get_yticklabels()]
    assert names[:2] == ["HI-PMK bin0", nmi.OURS]  # the highest as made above
    assert "MIWAE (11 of 12)" in names


@pytest.mark.parametrize("kernel", [nmi.PAPER, nmi.OURS])
def test_ranks_only_ten_methods_with_one_kernel(kernel):
    scores = ranks.collect(make_main_results("clean"), "clean", kernel)
    methods = (*nmi.BASELINES, kernel)
    assert tuple(scores.nmi) == methods
    found = ranks.compare(scores)
    # Every table ranks alike: the kernel first, Mean last.
    assert list(found.index) == list(methods[::-1])
    assert found["rank"].to_list() == list(range(1, 11))
    assert (found.loc["KNN", "wins"], found.loc["KNN", "losses"]) == (12, 0)
    assert found.loc["KNN", "p_holm"] == pytest.approx(9 * 2 / 2**12)
    assert found.loc["Mean", "nemenyi"] < 0.001 < 0.9 < found.loc["HI-PMK", "nemenyi"]
    assert found.loc[kernel, ["nemenyi", "p_holm"]].isna().all()
    assert ranks.find_worse(scores) == list(methods[:6])


def test_ranks_are_shown_beside_those_of_the_printed_table():
    results = pd.concat(map(make_main_results, nmi.PROTOCOLS), ignore_index=True)
    paper, clean = ranks.render(results, Request()).tables
    assert paper.frame.loc[nmi.PAPER, "rank in the paper"] == "1.67"
    assert paper.frame.loc["HI-PMK", "rank in the paper"] == "3.42"
    assert "rank in the paper" not in clean.frame
    assert "Critical differences: 3.61 at 0.1, 3.91 at 0.05." in paper.notes[0]
    assert clean.frame.loc[nmi.OURS, f"rank with {nmi.OURS}"] == "1.00"
    assert clean.frame.loc[nmi.OURS, f"rank with {nmi.PAPER}"] == ""


def test_ranks_leave_out_a_table_with_a_gap_and_say_so():
    results = make_main_results("clean", gap=("adult", "GAIN"))
    (ranked,) = ranks.render(results, Request()).tables
    assert "Left out, a gap there: adult." in ranked.notes
    assert "10 methods on 11 tables" in ranked.notes[0]


def test_ranks_of_one_table_are_not_tested():
    results = make_main_results("clean", ("mammo", "adult"), gap=("adult", "GAIN"))
    rendering = ranks.render(results, Request())
    assert not rendering.tables
    assert not rendering.figures


def test_ranks_draws_a_diagram_for_each_protocol_and_kernel():
    results = pd.concat(map(make_main_results, nmi.PROTOCOLS), ignore_index=True)
    axes = draw_all(ranks.render(results, Request()))
    assert list(axes) == [
        "ranks-paper-pk-paper",
        "ranks-paper-pk-ours",
        "ranks-clean-pk-paper",
        "ranks-clean-pk-ours",
    ]
    said = [text.get_text() for text in axes["ranks-clean-pk-ours"][0].texts]
    assert {"critical difference 3.61", "PK (ours)  1.00", "Mean  10.00"} <= set(said)
