"""The experiments that the paper does not have: what is measured and summed up."""

import numpy as np
import pandas as pd
import pytest

from proximity_kernel_paper.datasets import load
from proximity_kernel_paper.experiments import (
    Request,
    classification,
    encoding,
    fidelity,
    levels,
    nmi,
    peers,
)
from proximity_kernel_paper.experiments._claims import grade
from proximity_kernel_paper.experiments._trials import KEY, Trial

NOTHING = pd.DataFrame()


def make_results(module, score, request=None):
    """Rows as a ledger gives them."""
    trials = module.plan(request or Request(), NOTHING)
    rows = [
        dict(zip(KEY, t.key, strict=True)) | score(t) | {"error": "", "machine": ""}
        for t in trials
    ]
    return pd.DataFrame(rows).astype({"seed": int})


# -------------------------------------------------------------------------- encoding


@pytest.fixture(scope="module")
def penguins():
    return load("penguins").frame


@pytest.mark.parametrize("fill", ["mean or mode", "prior only", "cascade"])
def test_every_encoding_has_a_row_for_each_row(fill, penguins):
    found = encoding.encode(fill, penguins, 0)
    wanted = encoding.ENCODINGS[2:] if fill == "prior only" else encoding.ENCODINGS
    assert tuple(found) == wanted
    for points in found.values():
        assert len(points) == len(penguins)
        assert np.isfinite(points).all()


def test_one_hot_makes_two_categories_as_far_apart_as_the_ends_of_a_number():
    frame = pd.DataFrame({"x": [0.0, 10.0, 0.0], "c": ["a", "a", "b"]})
    points = encoding.encode_one_hot(frame)
    assert np.linalg.norm(points[0] - points[1]) == pytest.approx(1)
    assert np.linalg.norm(points[0] - points[2]) == pytest.approx(1)


def test_the_factorial_is_summed_up_over_tables():
    def score(trial):
        level = encoding.FILLS.index(trial.method) / 10
        scores = {name: level + k / 100 for k, name in enumerate(encoding.ENCODINGS)}
        if trial.method == encoding.PRIOR:
            scores |= dict.fromkeys(encoding.ENCODINGS[:2], np.nan)
        return scores

    results = make_results(encoding, score)
    means = encoding.summarise(results)
    assert means.loc["cascade", encoding.FOUR] == pytest.approx(0.42)
    (table,) = encoding.render(results, Request()).tables
    assert table.frame.loc[encoding.PRIOR, encoding.CODES] == "-"
    assert table.marks.iloc[-1, -1] == "best"


# -------------------------------------------------------------------- classification


def test_the_majority_of_the_nearest_wins_and_the_nearest_of_equals():
    near = np.array([[5.0, 4, 3], [1, 2, 3]])
    found = classification.vote(near, np.array(["a", "b", "b"]))
    assert found.tolist() == ["b", "b"]
    assert classification.vote(near[:, :2], np.array(["a", "b"])).tolist() == ["a", "b"]


@pytest.mark.parametrize("method", classification.METHODS)
def test_unseen_rows_are_classified(method):
    trial = Trial("penguins", method, 0, setting={"rows": 120})
    scores = classification.measure(trial, None)
    assert scores.pop("fit_seconds") > 0
    known = {classification.LINEAR} if method == classification.LOGISTIC else {
        classification.NEAREST, classification.MACHINE
    }  # fmt: skip
    assert set(scores) == known
    assert min(scores.values()) > 0.8  # three species, told apart by all


def test_accuracy_is_shown_by_classifier_and_method():
    def score(trial):
        names = (
            [classification.LINEAR]
            if trial.method == classification.LOGISTIC
            else [classification.NEAREST, classification.MACHINE]
        )
        return dict.fromkeys(classification.SCORES, np.nan) | dict.fromkeys(names, 0.5)

    (table,) = classification.render(
        make_results(classification, score), Request()
    ).tables
    assert len(table.frame) == 2 * (len(classification.METHODS) - 1) + 1
    assert table.frame["mean"].unique().tolist() == ["0.500"]


# -------------------------------------------------------------------------- fidelity


@pytest.mark.parametrize(
    "label", ["mean or mode", "scaled KNN, shares", "prior only", nmi.PAPER, "Gower"]
)
def test_fidelity_compares_with_the_complete_table(label):
    method, parameters = fidelity.LABELS[label]
    setting = {"mechanism": "mcar", "rate": 0.3, "rows": 60}
    trial = Trial("penguins", method, 0, parameters=parameters, setting=setting)
    found = fidelity.measure(trial, None)
    assert 0 < found["relative_error"] < 2
    assert 0.5 < found["top10"] <= 1
    assert found["fit_seconds"] > 0


def test_fidelity_tells_values_from_distributions_and_shows_the_time():
    results = make_results(fidelity, lambda _: dict.fromkeys(fidelity.SCORES, 0.25))
    rendering = fidelity.render(results, Request())
    table, held_out = rendering.tables
    assert list(held_out.frame.index) == list(fidelity.HELD_OUT_LABELS)
    assert table.frame.loc["KNN", "gives"] == "one value"
    assert table.frame.loc[nmi.PAPER, "gives"] == "distribution"
    assert table.frame.loc["Gower", "kernel error"] == "-"
    assert table.frame.loc["MICE, draws", "seconds"] == "0.25"
    figure = rendering.figures["fidelity"]()
    assert figure.axes[0].get_xscale() == "log"


def test_fidelity_on_held_out_tables_is_apart_and_tested():
    """The forest has one setting there, and is compared with ours in that one."""

    def score(trial):
        error = 0.1 + 0.2 * (trial.dataset in fidelity.HELD_OUT)
        if fidelity.LABELS[nmi.PAIRWISE] != (trial.method, dict(trial.parameters)):
            error += 0.05 if trial.dataset != "zoo" else -0.05
        error += trial.setting["rate"] / 10
        return dict.fromkeys(fidelity.SCORES, error)

    results = make_results(fidelity, score)
    paper, held_out = peers.split(results)
    assert fidelity.summarise(paper)["kernel_error"].max() < 0.21
    found = fidelity.tabulate_held_out(held_out)
    assert found.loc[nmi.PAIRWISE, "kernel_error"] == pytest.approx(0.33)
    assert found.loc[nmi.PAIRWISE, "one"] == pytest.approx(0.33)
    assert np.isnan(found.loc[fidelity.FOREST, "kernel_error"])
    assert found.loc[fidelity.FOREST, "one"] == pytest.approx(0.33 + 0.05 * 24 / 26)
    others = found.drop(nmi.PAIRWISE)
    assert (others["wins"] == 25).all()
    assert (others["losses"] == 1).all()
    forests = held_out[held_out["method"] == fidelity.FOREST]
    assert len(forests) == len(fidelity.HELD_OUT)


# ---------------------------------------------------------------------------- levels


def test_levels_add_up_and_the_kernel_is_valid():
    trial = Trial("penguins", "PK", 0, parameters=nmi.FOUR_BINS)
    found = levels.measure(trial, None)
    assert sum(found[name] for name in levels.LEVELS) == pytest.approx(1)
    assert 0 <= found["rows"] <= 1
    assert found["smallest"] > -1e-6 * found["largest"]


def test_levels_are_shown_with_four_bins():
    scores = {"intersection": 0.2, "union": 0.8, "prior": 0.0, "rows": 0.1}
    scores |= {"smallest": -0.001, "largest": 2.0}
    results = make_results(levels, lambda _: scores)
    (table,) = levels.render(results, Request()).tables
    assert table.frame["mean"].to_list() == ["20%", "80%", "0%", "10%"]
    assert table.notes[0].endswith("the smallest eigenvalue is -5e-04 of the largest.")


# ---------------------------------------------------------------------------- claims


def test_half_of_a_claim_is_partly():
    assert [grade(share) for share in (0.49, 0.5, 0.99, 1.2)] == [
        "not reproduced", "partly", "partly", "reproduced",
    ]  # fmt: skip
