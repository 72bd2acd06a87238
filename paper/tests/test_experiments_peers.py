"""Clusterers that the paper leaves out, and the candidates for unexplained numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from proximity_kernel_paper.baselines import _clusterers as clusterers
from proximity_kernel_paper.datasets import list_held_out, load
from proximity_kernel_paper.experiments import Request, peers, scaling, spaces
from proximity_kernel_paper.experiments._ledger import Ledger
from proximity_kernel_paper.experiments._trials import Trial

PACKAGES = {"k-prototypes": "kmodes", "latent classes": "stepmix"}


def make_table(n, seed, numbers=True, categories=True):
    """Two groups that three columns of each kind tell apart, and missing cells."""
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=n)
    columns = {}
    for j in range(3 * numbers):
        columns[f"x{j}"] = 4 * group + rng.normal(size=n)
    for j in range(3 * categories):
        label = np.where(rng.random(n) < 0.1, 1 - group, group)
        columns[f"c{j}"] = np.array(["a", "b"])[label]
    if categories:
        grades = pd.Categorical.from_codes(group, ["low", "high"], ordered=True)
        columns["grade"] = grades
    frame = pd.DataFrame(columns)
    return frame.mask(rng.random(frame.shape) < 0.1), group


@pytest.mark.parametrize("kinds", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("name", clusterers.CLUSTERERS)
def test_every_clusterer_finds_two_groups_in_every_kind_of_table(name, kinds):
    pytest.importorskip("prince" if "FAMD" in name else PACKAGES.get(name, "numpy"))
    frame, group = make_table(150, 0, *kinds)
    found = clusterers.CLUSTERERS[name](frame, 2, 0)
    assert found.shape == (150,)
    assert adjusted_mutual_info_score(group, found) > 0.75


def test_ordered_categories_are_ranks_or_codes():
    frame, _ = make_table(20, 1)
    numbers, categories = clusterers.split(frame)
    assert list(numbers) == ["x0", "x1", "x2", "grade"]
    assert list(categories) == ["c0", "c1", "c2"]
    assert numbers["grade"].isna().equals(frame["grade"].isna())
    assert list(clusterers.split(frame, ranks=False)[0]) == ["x0", "x1", "x2"]


def test_a_package_that_is_not_there_names_the_extra():
    with pytest.raises(ImportError, match=r"nothing_here is not .*paper\[peers\]"):
        clusterers._load("nothing_here.inside")


def fill(tmp_path, experiment, score):
    ledger = Ledger(tmp_path / "x.csv", experiment.scores)
    for trial in experiment.plan(Request(), ledger.read()):
        ledger.append(trial, score(trial))
    return ledger.read()


def test_peers_are_shown_best_first(tmp_path):
    order = list(peers.COLUMNS.values())

    def score(trial):
        height = 0.5 - 0.01 * order.index((trial.method, dict(trial.parameters)))
        return {"nmi": height, "ami": height / 2, "ari": -height, "fit_seconds": 1.0}

    results = fill(tmp_path, peers.EXPERIMENT, score)
    assert peers.tabulate(results).index.to_list() == list(peers.COLUMNS)
    main, _, _, detail = peers.render(results, Request()).tables
    first = ["0.500", "0.250", "-0.500", "10", "-", "-"]
    assert main.frame.iloc[0].to_list() == first
    assert main.frame.loc["HI-PMK bin0", "PK (ours), wins-losses"] == "10-0"
    assert main.mark(len(main.frame) - 1, 2) == "best"  # the highest ARI
    assert detail.frame.shape == (10, len(peers.COLUMNS))


def test_held_out_tables_are_hidden_in_part_and_shown_apart(tmp_path):
    def score(trial):
        assert bool(trial.setting) == (trial.dataset in peers.HELD_OUT)
        best = {"zoo": "HI-PMK", "iris": "k-prototypes"}.get(trial.dataset, "PK")
        height = 0.5 * (trial.method == best) - 0.01 * ("n_bins" in trial.parameters)
        return {"nmi": height, "ami": height, "ari": height, "fit_seconds": 1.0}

    results = fill(tmp_path, peers.EXPERIMENT, score)
    paper, held_out = peers.split(results)
    assert set(paper["dataset"]) == set(peers.TABLES)
    assert set(held_out["dataset"]) == set(list_held_out())
    _, table, by_table, _ = peers.render(results, Request()).tables
    n = len(peers.HELD_OUT)
    row = table.frame.loc["PK (ours)"]
    assert row["highest NMI on"] == str(n - 2)
    assert row["NMI"] == f"{0.5 * (n - 2) / n:.3f}"
    assert row["NMI, 7 with categories"] == f"{0.5 * 6 / 7:.3f}"
    other = table.frame.loc["HI-PMK"]
    assert other["PK (ours), wins-losses"] == f"{n - 2}-1"
    assert other["Wilcoxon-Holm p"] == "<0.001"
    assert by_table.frame.shape == (n, len(peers.COLUMNS) - len(peers.LATER))
    assert "HI-PMK bin0" not in table.frame.index
    assert "HI-PMK bin0, run after the results were known: 0.019," in table.notes[0]
    assert len(peers.render(paper, Request()).tables) == 2
    assert len(peers.render(held_out, Request()).tables) == 2


def test_scores_that_are_printed_alike_are_ties(tmp_path):
    def score(trial):
        height = 0.5 + 0.0004 * (trial.method == "HI-PMK")
        return {"nmi": height, "ami": height, "ari": height, "fit_seconds": 1.0}

    results = peers.drop_later(peers.split(fill(tmp_path, peers.EXPERIMENT, score))[1])
    tests = peers.compare(results)
    assert not tests[["wins", "losses"]].to_numpy().any()
    table = peers.render(results, Request()).tables[0].frame
    assert table.loc["HI-PMK", "highest NMI on"] == str(len(peers.HELD_OUT))
    assert table.loc["PK (ours)", "highest NMI on"] == str(len(peers.HELD_OUT))


def test_a_fifth_of_the_cells_of_a_held_out_table_is_hidden(monkeypatch):
    seen = []

    def look(frame, n_clusters, _seed):
        seen.append((frame, n_clusters))
        return np.zeros(len(frame), dtype=int)

    monkeypatch.setitem(peers.CLUSTERERS, "k-prototypes", look)
    for trial in peers.plan(Request(only=("wine", "k-prototypes")), None):
        assert peers.measure(trial, None)["nmi"] == 0
    assert len(seen) == peers.SEEDS
    for frame, n_clusters in seen:
        assert (len(frame), n_clusters) == (178, 3)
        assert frame.isna().to_numpy().sum() == round(0.2 * frame.size)
    assert not seen[0][0].isna().equals(seen[1][0].isna())


def test_scaling_counts_what_is_near_to_the_printed_number(tmp_path):
    printed = scaling.read_published()

    def score(trial):
        number = printed.loc[trial.dataset, trial.method]
        if trial.dataset == scaling.KERNEL_TABLE:
            one = number if trial.parameters and trial.seed == 3 else number + 0.2
            return {scaling.TEN: 0.5, scaling.ONE: one, "fit_seconds": 1.0}
        far = dict.fromkeys(scaling.WAYS, number + 0.3) | {"fit_seconds": 1.0}
        return far | {scaling.WAYS[2]: number + 0.01}

    results = fill(tmp_path, scaling.EXPERIMENT, score)
    table = scaling.render(results, Request()).tables[0].frame
    assert table.iloc[0].to_list() == ["", "0", "0", "15", "0"]
    assert table.iloc[1].to_list() == ["", "0.300", "0.300", "0.010", "0.300"]
    assert table.loc["Mean on kidney"].to_list()[0] == "0.546"
    assert (
        table.loc["HI-PMK bin0 on mushroom"].to_list()[1:]
        == ["0.500", "0.486"] + ["-"] * 2
    )
    notes = scaling.render(results, Request()).tables[0].notes
    assert "has the printed 0.3061 with 1 of 10 seeds (3)," in notes[1]
    assert "0.0472, would be 0.0310." in notes[1]  # (0.5 - 0.3061) / 12 less


def test_what_the_note_on_scaling_says_is_so_in_the_results():
    folder = Path(__file__).parents[1] / "results"
    results = Ledger(folder / "scaling.csv", scaling.EXPERIMENT.scores).read()
    every = scaling.compare(results)
    found = every.drop(index=list(scaling.KERNELS), level="label")
    off = found[list(scaling.WAYS)].sub(found["printed"], axis=0).abs()
    unit, one, variance, _ = scaling.WAYS
    kidney = off.xs("kidney", level="dataset")
    assert (kidney[variance] < kidney[unit]).all()
    others = off.drop(index="kidney", level="dataset")
    assert (others[variance] > others[unit]).mean() > 0.5
    assert off.loc[("Mean", "credit"), one] < off.loc[("Mean", "credit"), unit]
    assert (off.min(axis=1) > scaling.NEAR).any()


# ------------------------------------------------------------------------ spaces


def test_the_proximity_kernel_has_its_own_feature_space():
    """k-means on the representation, and on what the matrix gives, is the same."""
    for label in (spaces.OURS, "HI-PMK"):
        method, parameters = spaces.COLUMNS[label]
        trial = Trial("penguins", method, 0, parameters=parameters)
        found = spaces.measure(trial, None)
        assert set(found) == {*spaces.WAYS, "fit_seconds"}
        assert found[spaces.FEATURES] > 0.5
    frame = load("penguins").frame
    points, _ = spaces.represent("PK", {}, frame, 0)
    again = spaces.find_features(points @ points.T)
    np.testing.assert_array_equal(
        spaces.cluster(points, 3, 0), spaces.cluster(again, 3, 0)
    )


def test_kernels_are_summed_up_over_tables(tmp_path):
    def score(trial):
        low = 0.1 * (trial.method == "PK")
        return {spaces.FEATURES: 0.5 + low, spaces.ROWS: 0.5, "fit_seconds": 1.0}

    results = fill(tmp_path, spaces.EXPERIMENT, score)
    (table,) = spaces.render(results, Request()).tables
    assert table.frame.loc[spaces.OURS].to_list() == ["0.600", "0.500"]
    assert table.frame.loc["HI-PMK"].to_list() == ["0.500", "0.500"]
