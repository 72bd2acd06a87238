"""The report's page, read as text: its numbers against a second computation."""

import base64
import hashlib
import html
import re

import numpy as np
import pandas as pd
import pytest
from report_pages import EVIL, embedded, visible, write

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
    explain,
)
from proximity_kernel.datasets import load_penguins
from proximity_kernel.report import _map, write_report


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
    plane = _map._principal_plane(matrix)
    places = plane.place(matrix)
    dense = matrix.toarray().astype(np.float64)
    values = np.linalg.svd(dense - dense.mean(axis=0), compute_uv=False) ** 2
    assert plane.shown == pytest.approx(values[:2].sum() / values.sum())
    np.testing.assert_allclose((places**2).sum(axis=0), values[:2], rtol=1e-6)


def test_clusters_and_their_profiles(page, clusters):
    words = visible(page).split("Clusters What the rows")[1]
    sizes = np.bincount(clusters.labels_)
    for c, size in enumerate(sizes):
        assert f"Cluster {c} {size} rows" in words
    first = clusters.profiles_[0]
    share, overall = (round(100 * first[key]) for key in ("share", "share_overall"))
    assert f"{first['feature']} {first['value']} {share} % here, {overall} %" in words


def test_the_strangest_rows_come_with_reasons(page, penguins, tmp_path):
    scores = ProximityOutliers().fit(penguins).score_samples(penguins)
    strangest = np.argsort(scores, kind="stable")[:10]
    told = visible(page).split("Strange rows The rows that")[1]
    assert re.findall(r"Row (\d+) mean", told) == [str(i) for i in strangest]
    reason = ProximityOutliers().fit(penguins).reasons(penguins.iloc[strangest[:1]])
    feature, bin_ = reason[0][0].feature, reason[0][0].bin
    value = penguins.loc[strangest[0], feature]
    assert f"{feature} : {value:g}, {bin_} (" in told
    assert "numbers have four bins of their own" in told
    assert "Values far from the others" not in told
    with_four = ProximityKernel(4).fit(penguins)
    words = visible(write(tmp_path, penguins, kernel=with_four))
    assert "bins of their own" not in words  # they are those that the page shows


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
