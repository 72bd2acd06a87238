"""Time against rows: the table, the slopes and what is shown, on small sizes."""

import json
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from proximity_kernel_paper.experiments import runtime
from proximity_kernel_paper.experiments._trials import Request, Trial


def test_the_table_is_mixed_seeded_and_has_holes():
    table = runtime.make_table(2000, seed=3)
    assert table.shape == (2000, 14)
    assert int(table.isna().sum().sum()) == 2800
    assert [str(dtype) for dtype in table.dtypes[:10]] == ["float64"] * 10
    assert [table[f"c{j}"].nunique() for j in range(4)] == [3, 4, 5, 6]
    pd.testing.assert_frame_equal(table, runtime.make_table(2000, seed=3))
    assert not table.equals(runtime.make_table(2000, seed=4))


def test_numbers_and_categories_hang_together():
    table = runtime.make_table(3000, seed=0)
    numbers = table.iloc[:, :10].corr().to_numpy()
    assert np.abs(numbers[~np.eye(10, dtype=bool)]).max() > 0.5
    ranks = table["c0"].cat.codes.where(table["c0"].notna())
    assert table.iloc[:, :10].corrwith(ranks).abs().max() > 0.3


def test_sizes_double_up_to_what_a_method_bears():
    assert runtime.list_sizes(1_024_000)[-1] == 1_024_000
    trials = runtime.plan(Request(), pd.DataFrame())
    assert len({trial.key for trial in trials}) == len(trials)
    for label, (method, parameters) in runtime.METHODS.items():
        mine = [
            trial
            for trial in trials
            if (trial.method, trial.parameters) == (method, parameters)
            and trial.dataset == runtime.TABLE
        ]
        sizes = sorted({trial.setting["rows"] for trial in mine})
        assert sizes[-1] == runtime.MOST_ROWS[label]
        assert all(b == 2 * a for a, b in pairwise(sizes))
        assert len(mine) == runtime.REPEATS * len(sizes)
    assert {trial.method for trial in runtime.plan(Request(only=("MIWAE",)), None)} == {
        "MIWAE"
    }


@pytest.mark.parametrize("label", list(runtime.METHODS))
def test_a_trial_measures_seconds_rows_and_memory(label):
    method, parameters = runtime.METHODS[label]
    if label == "MIWAE":
        parameters = {"epochs": 1, "n_samples": 2}
    trial = Trial("synthetic", method, 0, parameters=parameters, setting={"rows": 200})
    outcome = runtime.measure(trial, None)
    assert set(outcome) == set(runtime.EXPERIMENT.scores)
    assert outcome["rows"] == 200
    assert outcome["fit_seconds"] > 0
    assert not outcome["fit_memory_mb"] < 0  # NaN where the system does not tell


def test_memory_given_back_is_counted_again():
    """Without it, the second of two equal calls would seem to need nothing."""
    method, parameters = runtime.METHODS["HI-PMK"]
    trial = Trial("synthetic", method, 0, parameters=parameters, setting={"rows": 1000})
    first, second = (runtime.measure(trial, None)["fit_memory_mb"] for _ in range(2))
    if math.isnan(first):
        pytest.skip("the system does not tell")
    assert second > 8_000_000 / 2**20  # the matrix itself


def test_slope_is_the_exponent_over_the_upper_half():
    rows = np.array([1, 2, 4, 8, 16, 32]) * 1000
    heights = np.where(rows < 8000, 1.0, (rows / 1000.0) ** 1.5)
    assert runtime.fit_slope(rows, heights) == pytest.approx(1.5)
    assert runtime.fit_slope(rows, np.where(rows > 16000, np.nan, rows)) == (
        pytest.approx(1)
    )
    assert math.isnan(runtime.fit_slope([1000], [1.0]))


def ledger(seconds, table="synthetic", methods=runtime.METHODS):
    """Rows as a ledger has them: label -> rows -> seconds of the repetitions."""
    kept = []
    for label, sizes in seconds.items():
        method, parameters = methods[label]
        for rows, repeats in sizes.items():
            for seed, value in enumerate(repeats):
                trial = Trial(
                    table,
                    method,
                    seed,
                    parameters=parameters,
                    setting={"rows": rows},
                )
                kept.append(
                    {
                        "dataset": table,
                        "method": method,
                        "parameters": trial.key[3],
                        "setting": trial.key[4],
                        "seed": seed,
                        "fit_seconds": value,
                        "fit_memory_mb": value * 100,
                        "error": "",
                    }
                )
    return pd.DataFrame(kept)


@pytest.fixture
def results():
    return ledger(
        {
            runtime.OURS: {1000: [0.02, 0.01], 2000: [0.02, 0.03], 4000: [0.04, 0.05]},
            runtime.PAPER: {1000: [0.01], 2000: [0.02], 4000: [0.04]},
            "HI-PMK": {1000: [0.1], 2000: [0.4]},
        }
    )


def test_the_fastest_repetition_counts_and_the_most_memory(results):
    seconds = runtime.summarise(results)
    assert list(seconds.columns) == [runtime.OURS, runtime.PAPER, "HI-PMK"]
    assert seconds[runtime.OURS].to_list() == [0.01, 0.02, 0.04]
    memory = runtime.summarise(results, "fit_memory_mb")
    assert memory[runtime.OURS].to_list() == pytest.approx([2.0, 3.0, 5.0])
    assert math.isnan(seconds.loc[4000, "HI-PMK"])


def test_tables_and_figure(results):
    rendering = runtime.render(results, Request(quick=True))
    frame = rendering.tables[0].frame
    assert frame.index.to_list() == ["1,000", "2,000", "4,000", "slope"]
    assert frame[runtime.OURS].to_list() == ["0.0100", "0.0200", "0.0400", "-"]
    assert frame["HI-PMK"].to_list()[:3] == ["0.100", "0.400", "-"]
    assert "10 epochs" in " ".join(rendering.tables[0].notes)
    figure = rendering.figures["runtime"]()
    assert [ax.get_ylabel() for ax in figure.axes] == ["seconds", "MB"]
    assert all(ax.get_xscale() == ax.get_yscale() == "log" for ax in figure.axes)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[0] == "PK (ours)"  # three sizes are too few for a slope


def test_both_tables_are_shown_with_their_largest_size():
    sizes = runtime.list_sizes(128_000)
    linear = {rows: [rows / 1e4] for rows in sizes}
    square = {rows: [(rows / 1e4) ** 2] for rows in sizes}
    first = ledger({runtime.OURS: linear, runtime.PAPER: linear})
    second = ledger(
        {runtime.OURS: linear, runtime.PAPER: square},
        runtime.UNIFORM,
        runtime.UNIFORM_METHODS,
    )
    results = pd.concat([first, second])
    seconds, uniform, _ = runtime.render(results, Request()).tables
    assert seconds.frame.loc["slope"].to_list() == ["1.00", "1.00"]
    rows = ["2,000", "8,000", "32,000", "128,000", "slope"]
    assert uniform.frame.index.to_list() == rows
    assert uniform.frame.loc["128,000"].to_list() == ["12.8", "164"]
    assert uniform.frame.loc["slope"].to_list() == ["1.00", "2.00"]
    assert "the slope of PK (paper) is 2.00, 2.00, 2.00." in uniform.notes[0]
    local = runtime.list_local_slopes(results, runtime.UNIFORM)
    assert local.index.to_list() == sizes[1:]


def test_rows_of_the_uniform_table_hardly_repeat():
    """Those of the first one do: that is why its slope says little."""
    shares = []
    for make, n_bins in ((runtime.make_table, 4), (runtime.make_uniform, 8)):
        table = make(2000, 0).iloc[:, :10].dropna()
        kernel = runtime.registry["PK"].build(n_bins=n_bins, matching="cascade")
        rows = kernel.fit_transform(table).toarray()
        shares.append(len(np.unique(rows, axis=0)) / len(rows))
    assert shares[0] < 0.9
    assert shares[1] > 0.99


def test_a_failed_size_is_a_gap(results):
    failed = results["setting"] == json.dumps({"rows": 4000})
    results.loc[failed, ["fit_seconds", "fit_memory_mb"]] = np.nan
    results.loc[failed, "error"] = "MemoryError: no"
    table = runtime.render(results, Request()).tables[0]
    assert table.frame.loc["4,000"].to_list() == ["-"] * 3
