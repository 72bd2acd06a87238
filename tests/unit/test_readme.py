"""The figures in the README are those of their sources, its lines those of CI."""

import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CLAIMS = pd.read_csv(ROOT / "benchmarks" / "claims.csv").set_index(["figure", "method"])
FIGURES = {"fill 20 %": "fill, numbers", "find rows": "wrong", "clusters": "clusters"}
METHODS = {"fill, scale, encode and k-means": "k-means after filling"}


def read_row(line):
    """The methods of a row of the table, with what it says of each."""
    _, job, ours, others, _ = (part.strip() for part in line.split("|"))
    (figure,) = [name for start, name in FIGURES.items() if job.startswith(start)]
    text = f"proximity-kernel {ours}; {others}"
    found = re.findall(r"([a-zA-Z][\w ,-]*?) ([\d.]+) \((\d)\)(?:, ([\d.]+) s)?", text)
    return figure, [(METHODS.get(name, name), *said) for name, *said in found]


ROWS = [
    read_row(line)
    for line in README.splitlines()
    if line.startswith(tuple(f"| {start}" for start in FIGURES))
]


@pytest.mark.parametrize(("figure", "said"), ROWS, ids=[one for one, _ in ROWS])
def test_the_figures_are_those_of_the_benchmark(figure, said):
    assert {name for name, *_ in said} == set(CLAIMS.loc[figure].index)
    for name, value, best, seconds in said:
        measured = CLAIMS.loc[figure, name]
        assert float(value) == round(measured["value"], 2)
        assert int(best) == measured["best"]
        assert measured["tables"] == 9
        if seconds:
            assert float(seconds) == float(f"{measured['seconds']:.2g}")


def test_the_probabilities_are_those_of_the_benchmark():
    (said,) = re.findall(r"mean probability (\S+), accuracy ([\d.]+)\.\s", README)
    measured = [CLAIMS.loc[one, "proximity-kernel"] for one in ("claimed", "right")]
    assert list(map(float, said)) == [round(one["value"], 2) for one in measured]


def test_the_clusters_of_held_out_tables_are_those_of_the_study():
    peers = pd.read_csv(ROOT / "paper" / "results" / "peers.csv")
    held_out = peers[(peers["setting"] != "{}") & (peers["parameters"] == "{}")]
    means = held_out.groupby("method")["ari"].mean().round(2)
    said = re.search(
        r"the same on \[(\d+) tables\].*? not used for tuning \| ([\d.]+) "
        r"\| one-hot k-means ([\d.]+), latent classes ([\d.]+) \|",
        README,
    )
    methods = ["PK", "one-hot k-means", "latent classes"]
    expected = [held_out["dataset"].nunique(), *means[methods]]
    assert list(map(float, said.groups())) == expected


def test_the_table_has_every_figure():
    assert sorted(figure for figure, _ in ROWS) == sorted(FIGURES.values())


def test_ci_runs_the_two_lines_as_they_stand():
    """They are the first block; .ci/run has each between single quotes."""
    first = re.findall(r"^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[0]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert first.splitlines() == re.findall(r"^t\w+_it='(.*)'$", ci, re.MULTILINE)
    assert ci.count('bash -c "$try_it"') == ci.count('bash -c "$test_it"') == 1
