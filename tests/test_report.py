"""The report's page, read as text: its numbers against a second computation."""

import base64
import hashlib
import html
import json
import re
import subprocess
import sys
from datetime import date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
    explain,
)
from proximity_kernel.datasets import load_penguins
from proximity_kernel.report import _map, _page, write_report
from proximity_kernel.report._cells import count_columns
from proximity_kernel.report._shown import read_shown, take_rows

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def penguins():
    return load_penguins()


@pytest.fixture(scope="module")
def clusters(penguins):
    return ProximityKMeans(3, random_state=0).fit(penguins)


@pytest.fixture(scope="module")
def page(penguins, clusters, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "penguins.html"
    assert write_report(path, penguins, clusters=clusters, title="Penguins") == path
    return path.read_text(encoding="utf-8")


def embedded(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))


def visible(text):
    """The words of a page, one space between them, without scripts and styles."""
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def write(tmp_path, table, **options):
    return write_report(tmp_path / "r.html", table, **options).read_text("utf-8")


def test_what_the_table_is(page, penguins):
    words = visible(page)
    holes = int(penguins.isna().to_numpy().sum())
    complete = int(penguins.notna().all(axis=1).sum())
    assert f"Rows {len(penguins)} Columns {penguins.shape[1]} " in words
    assert f"Cells missing 1 % {holes} Complete rows 97 % {complete}" in words
    for name in penguins.columns:
        assert name in words
    assert "2 columns" not in words.split("The columns")[0].split("Where the gaps")[0]
    assert "5 columns of 8 have gaps, in 2 patterns." in words
    assert "sex 9 3 %" in words  # rows that lack the sex alone


def test_the_holes_are_counted_by_level(page, penguins, clusters):
    cells = clusters.kernel_.provenance(penguins)
    words = visible(page)
    for level in ("intersection", "partial"):
        support = cells["support"][cells["level"] == level]
        n, median = len(support), int(np.median(support))
        assert f"({level}) {n} {100 * n / len(cells):.0f} % {median}" in words


def test_weak_support_is_told(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "rare"])
    table.loc[rng.random(400) < 0.97, "rare"] = np.nan
    table.loc[rng.random(400) < 0.1, "b"] = np.nan
    kernel = ProximityKernel(missingness="ignorable").fit(table)
    cells = kernel.provenance(table)
    weak = (cells["support"] < 20) | (cells["level"] == "prior")
    share = [weak[cells["feature"] == j].mean() for j in (1, 2)]
    assert share[0] < 0.25 < share[1]
    words = visible(write(tmp_path, table, kernel=kernel))
    assert "1 column is weakly supported" in words
    assert re.search(rf"\brare \d+ .*? {100 * share[1]:.0f} % weak", words)


def test_gaps_that_are_values_are_told(penguins, tmp_path):
    kernel = ProximityKernel(missingness="informative").fit(penguins)
    words = visible(write(tmp_path, penguins, kernel=kernel))
    assert "No cell had to be estimated." in words
    said = words.split("Gaps that tell something themselves")[1]
    assert "sex (11 gaps): given: missingness='informative'" in said


def test_the_nearest_rows_are_the_nearest_and_their_parts_are_those_of_explain(
    page, penguins, clusters
):
    data, kernel = embedded(page), clusters.kernel_
    found = ProximityNeighbors(kernel=kernel).fit(penguins)
    similarity, indices = found.kneighbors(return_similarity=True)
    nearest = np.array([[data["rows"][at] for at in near] for near in data["near"]])
    # Where similarities are equal up to rounding, the order and the last may differ.
    assert (np.sort(nearest) == np.sort(indices)).all(axis=1).mean() > 0.9
    pairs = found.kernel_.kernel(penguins)[np.arange(len(penguins))[:, None], nearest]
    np.testing.assert_allclose(pairs, similarity, atol=1e-6)
    assert (nearest != np.arange(len(penguins))[:, None]).all()
    np.testing.assert_allclose(
        np.array(data["similarity"]) / 1000, similarity, atol=6e-4
    )
    n_features = penguins.shape[1]
    for i in (0, 3, 8, 47, 339):  # two of them with holes
        why = explain(kernel, penguins.iloc[[i]], penguins.iloc[[nearest[i, 0]]])
        parts = [n_features * one.contribution for one in why.features]
        np.testing.assert_allclose(
            np.array(data["agreement"][i][0]) / 100, parts, atol=6e-3
        )


def test_bins_and_estimates_of_cells_are_those_of_explain(page, penguins, clusters):
    data, kernel = embedded(page), clusters.kernel_
    estimates = {(row, j): rest for row, j, *rest in data["estimates"]}
    levels = list(data["levels"])
    assert len(estimates) == len(kernel.provenance(penguins))
    for i in (0, 3, 8, 339):
        cells = [
            one.a
            for one in explain(kernel, penguins.iloc[[i]], penguins.iloc[[0]]).features
        ]
        for j, (cell, column) in enumerate(zip(cells, data["columns"], strict=True)):
            bin_ = column["bins"][i]
            if not cell.assumed:
                assert (i, j) not in estimates
                assert column["names"][str(bin_)] == cell.bin
                continue
            level, support, *assumed = estimates[i, j]
            assert bin_ == -1
            assert column["values"][i] is None
            assert support == cell.support
            assert levels[level].split()[0] in ("rows", "all")
            names = [column["names"][str(k)] for k in assumed[::2]]
            assert names == [name for name, _ in cell.assumed[:3]]
            shares = [share for _, share in cell.assumed[:3]]
            np.testing.assert_allclose(np.array(assumed[1::2]) / 100, shares, atol=6e-3)


def test_the_map_is_the_principal_plane_of_the_representation(page, penguins, clusters):
    places = np.array(embedded(page)["places"])
    dense = clusters.kernel_.transform(penguins).toarray().astype(np.float64)
    left, values, _ = np.linalg.svd(dense - dense.mean(axis=0), full_matrices=False)
    wanted = left[:, :2] * values[:2]
    wanted *= np.sign(wanted[np.abs(wanted).argmax(axis=0), [0, 1]])
    np.testing.assert_allclose(places, wanted, atol=2e-3)
    shown = (values[:2] ** 2).sum() / (values**2).sum()
    assert f"they show {100 * shown:.0f} % of the differences" in visible(page)


@pytest.mark.parametrize("n_rows", [6, 300])
def test_the_plane_is_the_same_by_rows_and_by_columns(n_rows):
    rng = np.random.default_rng(1)
    table = [[float(a), str(b)] for a, b in rng.integers(0, 9, size=(n_rows, 2))]
    matrix = ProximityKernel(4).fit_transform(table)
    places, shown = _map._principal_plane(matrix)
    dense = matrix.toarray().astype(np.float64)
    values = np.linalg.svd(dense - dense.mean(axis=0), compute_uv=False) ** 2
    assert shown == pytest.approx(values[:2].sum() / values.sum())
    np.testing.assert_allclose((places**2).sum(axis=0), values[:2], rtol=1e-6)


def test_clusters_and_their_profiles(page, clusters):
    words = visible(page).split("Clusters What the rows")[1]
    sizes = np.bincount(clusters.labels_)
    for c, size in enumerate(sizes):
        assert f"Cluster {c} {size} rows" in words
    first = clusters.profiles_[0]
    share, overall = (round(100 * first[key]) for key in ("share", "share_overall"))
    assert f"{first['feature']} {first['value']} {share} % here, {overall} %" in words


def test_the_strangest_rows_come_with_reasons(page, penguins):
    scores = ProximityOutliers().fit(penguins).score_samples(penguins)
    strangest = np.argsort(scores, kind="stable")[:10]
    told = visible(page).split("Strange rows The rows that")[1]
    assert re.findall(r"Row (\d+) mean", told) == [str(i) for i in strangest]
    reason = ProximityOutliers().fit(penguins).reasons(penguins.iloc[strangest[:1]])
    assert f"{reason[0][0].feature} : {reason[0][0].bin}" in told


def test_the_bins_lie_on_the_histogram(page, clusters, penguins):
    j = list(penguins.columns).index("body_mass_g")
    centers = clusters.kernel_.bin_centers_[j]
    low, high = penguins["body_mass_g"].min(), penguins["body_mass_g"].max()
    card = re.search(r'data-name="body_mass_g">(.*?)</li>', page, re.DOTALL).group(1)
    drawn = [float(x) for x in re.findall(r'class="limit[^"]*" x1="([\d.]+)"', card)]
    wanted = 300 * ((centers[:-1] + centers[1:]) / 2 - low) / (high - low)
    np.testing.assert_allclose(drawn, wanted, atol=0.01)
    heights = [float(h) for h in re.findall(r'class="bar".*?height="([\d.]+)"', card)]
    counts, _ = np.histogram(penguins["body_mass_g"].dropna(), 30)
    np.testing.assert_allclose(
        heights, 88 * counts[counts > 0] / counts.max(), atol=0.01
    )


def test_the_page_asks_nothing_of_the_network(page):
    policy = html.unescape(re.search(r'Policy" content="([^"]*)"', page).group(1))
    assert "default-src 'none'" in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    rest = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    asked = re.findall(r"\b(?:src|href)\s*=\s*[\"']?([^\s\"'>]*)", rest)
    assert len(asked) > 5
    assert all(address.startswith(("#", "data:,")) for address in asked)
    assert "http" not in rest.replace("http-equiv", "")


def test_strangers_text_is_only_text(tmp_path):
    table = pd.DataFrame(
        {
            EVIL: [EVIL, "{{ 7*7 }}", None, "\u202eabc"] * 6,
            "a & \"b\" 'c'": ["\x00\x07", "x" * 5000, "\u6f22", "&lt;"] * 6,
        }
    )
    clusters = ProximityKMeans(2, random_state=0).fit(table)
    text = write(
        tmp_path, table, clusters=clusters, title=EVIL, assumptions=[EVIL],
        ids=[f"{EVIL}{i}" for i in range(24)],
    )  # fmt: skip
    assert len(re.findall(r"<script\b", text)) == 3 + _in_libraries(text)
    assert "<img" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    words = visible(text)
    assert words.count(EVIL) > 5
    assert "{{ 7*7 }}" in words
    assert "&lt; (" in words  # not unescaped on the way
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "x" * 200 not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    data = embedded(text)
    assert data["columns"][0]["name"] == EVIL
    assert EVIL in data["columns"][0]["labels"]


def _in_libraries(text):
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    return sum(len(re.findall(r"<script\b", script)) for script in scripts)


def test_a_lone_surrogate_is_written_as_a_mark(tmp_path):
    text = write(tmp_path, [["\ud800"], ["a"], ["a"]])
    assert "\N{REPLACEMENT CHARACTER}" in text


MIXED = {
    "when": [datetime(2020, 1, 1), None, datetime(2021, 5, 5, 12, 30)],
    "day": [date(2020, 1, 1), None, date(2020, 3, 1)],
    "wait": [timedelta(hours=1), None, timedelta(seconds=3)],
    "flag": [True, None, False],
    "n": [1, None, 30000],
    "x": [1.25, None, 2.0],
    "name": ["b", None, "a"],
    "none": [None, None, None],
}
WRITTEN = [
    ["2020-01-01", "2021-05-05 12:30:00"],
    ["2020-01-01", "2020-03-01"],
    ["3600 s", "3 s"],
    ["yes", "no"],
    ["1", "30,000"],
    ["1.25", "2"],
    ["b", "a"],
    [],
]
KINDS = ["date", "date", "duration", "yes or no", "number", "number", "category"]


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        lambda columns: pd.DataFrame(columns).convert_dtypes(),
        lambda columns: pd.DataFrame(columns, dtype=object),
        pl.DataFrame,
        pa.table,
        lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    ],
    ids=["pandas", "nullable", "objects", "polars", "arrow", "lists"],
)
@pytest.mark.filterwarnings("ignore:.*nothing:UserWarning")
@pytest.mark.filterwarnings("ignore:.*observed:UserWarning")
def test_tables_of_any_make_are_shown_the_same(make, tmp_path):
    table = make(MIXED)
    columns = read_shown(table, ProximityKernel().fit(table))
    assert [column.kind for column in columns] == [*KINDS, "empty"]
    for column, written in zip(columns, WRITTEN, strict=True):
        assert column.missing.tolist() == [not written, True, not written]
        known = column.values[~column.missing]
        assert [column.write(value) for value in known] == written
    assert len(take_rows(table, np.array([2, 0]))) == 2
    assert "<title>3 rows, 8 columns</title>" in write(tmp_path, table)


def test_ordered_and_numbers_named_as_categories():
    table = pd.DataFrame(
        {
            "grade": pd.Categorical(["mid", None, "low"], ["low", "mid", "high"], True),
            "code": [7.0, 3.5, np.nan],
        }
    )
    kernel = ProximityKernel(categorical_features=["code"]).fit(table)
    grade, code = read_shown(table, kernel)
    assert (grade.kind, grade.labels) == ("ordered", ("low", "mid", "high"))
    np.testing.assert_array_equal(grade.values, [1, np.nan, 0])
    assert (code.kind, code.labels) == ("category", ("3.5", "7"))
    np.testing.assert_array_equal(code.values, [1, 0, np.nan])


def test_arrays_plain_and_masked(tmp_path):
    array = np.array([[1, 2], [3, 4], [5, 6.0]])
    masked = np.ma.masked_array(array, [[0, 0], [0, 1], [0, 0]])
    shown = read_shown(masked, ProximityKernel().fit(masked))
    np.testing.assert_array_equal(shown[1].values, [2, np.nan, 6])
    assert "Cells missing 17 % 1" in visible(write(tmp_path, masked))
    assert "No cell is missing." in visible(write(tmp_path, array))


EDGES = {
    "one row": pd.DataFrame({"a": [1.0], "b": ["x"]}),
    "one column": pd.DataFrame({"a": [1.0, 2, np.nan, 4]}),
    "nothing observed": pd.DataFrame({"a": [np.nan] * 4, "b": [None] * 4}),
    "an empty column": pd.DataFrame({"a": [1.0, 2, 3], "b": [np.nan] * 3}),
    "constant": pd.DataFrame({"a": [1.0] * 5, "b": ["x"] * 5}),
    "categories only": pd.DataFrame({"a": list("aabbc"), "b": list("xyxyz")}),
    "all rows the same": pd.DataFrame({"a": [1.0] * 9, "b": ["x"] * 9}),
    "extreme numbers": pd.DataFrame({"a": [-1.7e308, 1.7e308, 0, 5e-324]}),
    "ends are neighbours": pd.DataFrame({"a": [1.0, np.nextafter(1, 2)] * 5}),
}


@pytest.mark.parametrize("table", EDGES.values(), ids=EDGES)
def test_edges(table, tmp_path):
    before = table.copy(deep=True)
    text = write(tmp_path, table)
    data = embedded(text)
    assert len(data["places"]) == len(table)
    assert np.isfinite(data["places"]).all()
    assert all(len(near) == min(5, len(table) - 1) for near in data["near"])
    assert "nan" not in visible(text).lower().replace("nan,", "nan")
    pd.testing.assert_frame_equal(table, before)


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(9_000, 6)), columns=list("abcdef"))
    table["g"] = rng.choice(list("xyz"), len(table))
    return table.mask(rng.random(table.shape) < 0.1)


def test_a_large_table_is_sampled_and_that_is_said(large, tmp_path):
    text = write(tmp_path, large)
    data, words = embedded(text), visible(text)
    assert len(data["places"]) == 2_000
    assert "The map shows 2000 of 9000 rows" in words
    assert "Shown: 500 rows, drawn at random from 9000." in words
    assert set(data["rows"]) > set(data["rows"][:2_000])
    strange = ProximityOutliers().fit(large).score_samples(large).argsort()[:10]
    assert set(strange.tolist()) <= set(data["rows"][:2_000])
    some = [0, 700, 1999]
    rows = [data["rows"][i] for i in some]
    kernel = ProximityKernel().fit(large)
    whole = kernel.kernel(large.iloc[rows], large)
    whole[range(3), rows] = -1
    for i, of_row in zip(some, whole, strict=True):
        best = np.sort(of_row)[::-1][:5]
        found = of_row[[data["rows"][at] for at in data["near"][i]]]
        np.testing.assert_allclose(found, best, atol=1e-6)


def test_both_ways_to_the_nearest_agree(large, monkeypatch):
    table = large.iloc[:500].round(0)  # with many equal similarities
    kernel = ProximityKernel().fit(table)
    rows = np.arange(0, 500, 7)
    quick = _map.make_map(table, kernel, rows)
    monkeypatch.setattr(_map, "_ask_neighbors", lambda *_: None)
    whole = _map.make_map(table, kernel, rows)
    monkeypatch.setattr(_map, "_BLOCK", 64)
    pieces = _map.make_map(table, kernel, rows)
    np.testing.assert_array_equal(whole.nearest, pieces.nearest)
    np.testing.assert_array_equal(whole.similarity, pieces.similarity)
    np.testing.assert_allclose(quick.similarity, whole.similarity, atol=2e-6)
    assert (quick.nearest != rows[:, None]).all()


def test_neighbors_are_asked_only_with_the_same_kernel(large):
    kernel = ProximityKernel().fit(large)
    for table, same in ((large, True), (large.iloc[:4_000], False)):
        rows = np.arange(0, len(table), 50)
        drawn = table.iloc[rows]
        matrix = kernel.transform(drawn)
        found = _map._ask_neighbors(table, kernel, rows, drawn, matrix)
        assert (found is not None) == same


def test_the_same_seed_gives_the_same_page(large, tmp_path):
    assert write(tmp_path, large) == write(tmp_path, large)
    other = write(tmp_path, large, random_state=1)
    assert embedded(write(tmp_path, large))["rows"] != embedded(other)["rows"]


def test_many_columns_stay_within_bounds(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(700, 300)))
    table = table.mask(rng.random(table.shape) < 0.1)
    table.columns = [f"column {j}" for j in range(300)]
    text = write(tmp_path, table)
    plotly = max(map(len, re.findall(r"<script>(.*?)</script>", text, re.DOTALL)))
    assert len(text) - plotly < 4.5e6
    assert "The map shows 100 of 700 rows" in visible(text)
    assert "the 60 columns with the most gaps, of 300" in visible(text)


def test_a_kernel_that_was_fitted_to_other_rows(penguins, tmp_path):
    kernel = ProximityKernel(3, sparse_output=False).fit(penguins.iloc[:150])
    kernel.set_output(transform="pandas")
    later = penguins.iloc[140:].reset_index(drop=True)  # with unseen species
    data = embedded(write(tmp_path, later, kernel=kernel))
    similarity = kernel.kernel(later)
    np.fill_diagonal(similarity, -1)
    best = -np.sort(-similarity, axis=1)[:, :5]
    np.testing.assert_allclose(np.array(data["similarity"]) / 1000, best, atol=6e-4)
    assert -2 in data["columns"][0]["bins"]
    assert not kernel.sparse_output
    assert hasattr(kernel.transform(later), "columns")  # its options are as they were


@pytest.mark.parametrize("n_bins", ["auto", 4])
def test_columns_of_the_representation_are_counted(penguins, n_bins):
    kernel = ProximityKernel(n_bins, missingness="informative").fit(penguins)
    names = kernel.get_feature_names_out()
    wanted = [
        sum(out.startswith(f"{name}_") for out in names) for name in penguins.columns
    ]
    assert count_columns(kernel).tolist() == wanted


def test_ids_title_and_assumptions(penguins, tmp_path):
    ids = [f"bird {i}" for i in range(len(penguins))]
    text = write(
        tmp_path, penguins, ids=ids, title="Birds", assumptions=["'?' is missing"]
    )
    assert "<title>Birds</title>" in text
    assert "How the file was read '?' is missing" in visible(text)
    assert embedded(text)["ids"] == ids
    assert embedded(text)["clusters"] is None
    assert 'id="clusters"' not in text


BAD = {
    "ids": ({"ids": ["a"]}, ValueError, "ids must have one name for each of the 344"),
    "kernel": ({"kernel": 3}, TypeError, "kernel must be a fitted ProximityKernel"),
    "clusters": ({"clusters": "3"}, TypeError, "clusters must be a fitted"),
    "not fitted": ({"kernel": ProximityKernel()}, NotFittedError, "not fitted"),
    "k not fitted": ({"clusters": ProximityKMeans()}, NotFittedError, "not fitted"),
}


@pytest.mark.parametrize(("options", "error", "said"), BAD.values(), ids=BAD)
def test_bad_options_are_named(penguins, tmp_path, options, error, said):
    with pytest.raises(error, match=said):
        write_report(tmp_path / "r.html", penguins, **options)
    assert list(tmp_path.iterdir()) == []


def test_bad_paths_and_tables_are_named(penguins, tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_report(tmp_path, penguins)
    with pytest.raises(FileNotFoundError, match=r"folder of .*none"):
        write_report(tmp_path / "none" / "r.html", penguins)
    with pytest.raises(ValueError, match=r"table must be a data frame.*got str"):
        write_report(tmp_path / "r.html", "penguins.csv")


def test_a_failure_leaves_the_older_page(penguins, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("older")
    monkeypatch.setattr(_page, "_dump", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(path, penguins)
    assert path.read_text() == "older"
    monkeypatch.undo()
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(path, penguins)
    assert [one.name for one in tmp_path.iterdir()] == ["r.html"]
    assert path.read_text() == "older"


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_an_absent_package_is_named_with_its_extra(package, tmp_path):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from proximity_kernel.report import write_report\n"
        f"write_report({str(tmp_path / 'r.html')!r}, [[1.0], [2.0]])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert f'{package} is not installed; pip install "proximity-kernel[report]"' in (
        ran.stderr
    )
