"""The report's page, read as text: its numbers against a second computation."""

import base64
import hashlib
import html
import re
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from report_pages import EVIL, embedded, section, visible, write
from scipy.spatial.distance import cdist

from proximity_kernel import (
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    explain,
)
from proximity_kernel._shared.wording import write_share
from proximity_kernel.kernel import code_table
from proximity_kernel.report import TableReport, findings, row_map
from proximity_kernel.report.display_columns import make_display_columns


@pytest.fixture(scope="module")
def page(penguins, clusters, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "penguins.html"
    assert (
        TableReport(penguins, clusters=clusters, title="Penguins").write_html(path)
        == path
    )
    return path.read_text(encoding="utf-8")


def test_what_the_table_is(page, penguins):
    words = visible(page)
    missing = int(penguins.isna().to_numpy().sum())
    complete = int(penguins.notna().all(axis=1).sum())
    assert (
        f"{missing} cells (1 %) are missing, in 5 columns of 8; {complete} rows"
        in words
    )
    for name in penguins.columns:
        assert name in words
    assert "sex 9 3 %" in words  # rows that lack the sex alone
    rows = re.findall(r'<tr><th scope="row"><bdi>(\d+)</bdi></th>(.*?)</tr>', page)
    assert [row for row, _ in rows] == ["1", "2", "3", "4", "5"]
    assert visible(rows[0][1]).startswith("Adelie Torgersen 39.1 18.7 181 3750 male")
    assert rows[3][1].count("<em>missing</em>") == 5


def describe(clusters, table):
    """The typical values of each cluster, and its name, as on the page."""
    coded = code_table(clusters.kernel_, table)
    counts = findings.count_cells(coded, clusters.labels_, clusters.n_clusters_)
    return findings.describe_clusters(clusters, counts)


def test_the_findings_come_first(page, clusters, penguins):
    found = [visible(one) for one in re.findall(r"<li><bdi>(.*?)</li>", page)[:4]]
    names = [card["name"] for card in describe(clusters, penguins)]
    assert found[0].startswith("The rows form 3 clusters: 44 % of the rows (typical: ")
    assert all(name in found[0] for name in names)
    assert re.match(
        r"(The rows form \d separate groups rather than 3|3 separate groups): of 10 "
        r"samples of 90 % of the rows, \d+ have \d",
        found[1],
    )
    assert re.match(
        r"In \d+ rows? the values, taken together, are less likely than in 99 % of "
        r"rows sampled from the fitted model. "
        r"The clearest is row \d+: \w+ \S+: .+ expected",
        found[2],
    )
    assert found[3] == (
        "1 % of the cells are missing, the most in sex (3 %), bill_length_mm "
        "(1 %) and bill_depth_mm (1 %)."
    )


def test_what_to_check_in_columns(tmp_path):
    n = 100
    rng = np.random.default_rng(0)
    size = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "size": size,
            "again": size,
            "empty": np.full(n, np.nan),
            "land": "DE",
            "member": ["x", None] * (n // 2),
            "seldom": np.where(np.arange(n) < 30, size, np.nan),
            "name": [f"n{i}" for i in range(n)],
            "far": np.r_[rng.normal(size=n - 1), 1e6],
        }
    )
    columns = make_display_columns(code_table(fit_quietly(table), table).columns)
    found = {one["name"]: one["text"] for one in findings.find_alerts(columns)}
    assert list(found) == list(table.columns[1:-1])
    for name, said in (
        ("again", "the same cells as an earlier column"),
        ("empty", "no value is observed"),
        ("land", "one value only, DE: all rows agree here"),
        ("member", "one value only, x: the other 50 % of the cells are missing"),
        ("seldom", "70 % of the cells missing"),
        ("name", "100 different values in 100 rows"),
    ):
        assert said in found[name]
    kernel = fit_quietly(table)
    words = visible(section(write(tmp_path, table, kernel=kernel), "table"))
    assert "land : one value only, DE" in words


def fit_quietly(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ProximityKernel().fit(table)


def test_the_nearest_rows_are_the_nearest_and_their_parts_are_those_of_explain(
    page, penguins
):
    data, found = embedded(page), ProximityNeighbors().fit(penguins)
    distances, indices = found.kneighbors()
    similarity = 1 - distances
    nearest = np.array([[data["rows"][at] for at in near] for near in data["near"]])
    # Where similarities are equal up to rounding, the order and the last may differ.
    assert (np.sort(nearest) == np.sort(indices)).all(axis=1).mean() > 0.9
    assert (nearest != np.arange(len(penguins))[:, None]).all()
    np.testing.assert_allclose(
        np.array(data["similarity"]) / 1000, similarity, atol=6e-4
    )
    for i in (0, 3, 8, 47, 339):  # two of them with missing cells
        why = explain(found, penguins.iloc[[i]], penguins.iloc[[nearest[i, 0]]])
        assert why.similarity == pytest.approx(similarity[i, 0])
        parts = [one.agreement for one in why.features]
        np.testing.assert_allclose(
            np.array(data["agreement"][i][0]) / 100, parts, atol=6e-3
        )


def test_the_page_of_a_fine_kernel_has_the_similarities_of_that_kernel(
    penguins, tmp_path
):
    found = []
    for kernel in (ProximityKernel("fine"), None):
        near = ProximityNeighbors(kernel=kernel).fit(penguins)
        data = embedded(write(tmp_path, penguins, kernel=near.kernel_))
        distances, indices = near.kneighbors()
        similarity = 1 - distances
        shown = np.array(data["similarity"]) / 1000
        np.testing.assert_allclose(shown, similarity, atol=6e-4)
        nearest = np.array([[data["rows"][at] for at in own] for own in data["near"]])
        assert (np.sort(nearest) == np.sort(indices)).all(axis=1).mean() > 0.9
        parts = np.array(data["agreement"]) / 100
        assert parts.max() == 1
        if kernel is not None:
            np.testing.assert_allclose(parts.mean(axis=2), similarity, atol=6e-3)
        found.append(similarity)
    assert abs(found[0] - found[1]).max() > 0.01  # the second weighs rare values more


def check_estimates(text, kernel, table, rows):
    """Compare bins and estimates of rows in a page with `explain`."""
    data, names = embedded(text), list(table.columns)
    estimates = {(row, j): rest for row, j, *rest in data["estimates"]}
    assert len(estimates) == len(kernel.provenance(table))
    n_estimated = 0
    for i in rows:
        row = table.iloc[[i]]
        cells = [one.a for one in explain(kernel, row, row).features]
        for j, (cell, column) in enumerate(zip(cells, data["columns"], strict=True)):
            bin_ = column["bins"][i]
            if not cell.assumed:
                assert (i, j) not in estimates
                assert str(bin_) in column["names"]
                leaf = column["leaves"][i] if "leaves" in column else -1
                shown = ("names", bin_) if leaf < 0 else ("leaf_names", leaf)
                assert column[shown[0]][str(shown[1])] == cell.bin
                continue
            n_matching, n_movers, *rest = estimates[i, j]
            movers, assumed = rest[:n_movers], rest[n_movers:]
            assert bin_ == -1
            assert column["cells"][i] == -1
            assert [names[k] for k in movers] == [name for name, _ in cell.moved_by]
            matched = cell.level in ("intersection", "union")
            assert n_matching == (cell.support if matched else 0)
            shown = [column["names"][str(k)] for k in assumed[::2]]
            shares = dict(cell.assumed)
            np.testing.assert_allclose(
                np.array(assumed[1::2]) / 100, [shares[k] for k in shown], atol=6e-3
            )
            assert max(shares.values()) == shares[shown[0]]
            n_estimated += 1
    return n_estimated


def test_bins_and_estimates_of_cells_are_those_of_explain(page, penguins):
    kernel = ProximityNeighbors().fit(penguins).kernel_
    assert check_estimates(page, kernel, penguins, (0, 3, 8, 47, 339)) > 6


@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_estimates_over_bins_with_and_without_a_coarse_one(
    penguins, tmp_path, matching
):
    # Of three years, two share a coarse bin and the third has none.
    table = penguins.copy()
    table["year"] = table["year"].where(np.arange(len(table)) % 5 > 0)
    kernel = ProximityKernel(matching=matching, missingness="ignorable").fit(table)
    if matching == "pairwise":
        assert kernel.bin_groups_[-1].tolist() == [0, 0, 1]
    text = write(tmp_path, table, kernel=kernel)
    rows = range(0, len(table), 35)
    assert check_estimates(text, kernel, table, rows) >= len(rows)


def rank_table(table):
    """What the map is drawn from."""
    kernel = ProximityNeighbors().fit(table).kernel_
    coded = code_table(kernel, table)
    columns, rows = make_display_columns(coded.columns), np.arange(len(table))
    return row_map.rank_rows(kernel.model_, columns, coded, rows, 1).toarray()


def test_numbers_are_on_the_map_by_their_ranks():
    table = pd.DataFrame({"a": [4.0, 1.0, 1.0, 9.0], "b": ["x", "y", None, "x"]})
    ranked = rank_table(table)
    np.testing.assert_allclose(ranked[:, 1], [0.25, -0.5, -0.5, 0.75])
    assert ranked[0, 2:].tolist() == ranked[3, 2:].tolist()
    np.testing.assert_allclose(ranked[[0, 1, 3], 2:].sum(axis=1), np.sqrt(0.5))
    table["a"] = [4.0, 1.0, None, 9.0]
    assert -0.75 < rank_table(table)[2, 1] < 0.75  # expected, from the estimate


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ("a", "have similar ranks in the columns of numbers. The"),
        ("b", "have the same categories in many columns. The"),
        ("ab", "of numbers and the same categories in many columns. The"),
        ("abc", "in many columns; missing cells count by their estimates. The"),
    ],
)
def test_the_map_names_the_kinds_of_columns_that_there_are(kinds, said, tmp_path):
    table = pd.DataFrame({"a": np.arange(30.0), "b": list("xyz") * 10})
    table["c"] = [None, *"xy" * 14, "x"]
    assert said in visible(write(tmp_path, table[list(kinds)]))


def test_rows_with_one_id_have_their_number(tmp_path):
    table = pd.DataFrame({"a": np.arange(4.0)})
    page = write(tmp_path, table, ids=["p", "q", "p", "r"])
    assert embedded(page)["ids"] == ["p (#1)", "q", "p (#3)", "r"]


def test_independent_columns_are_one_cloud():
    """No empty stretch along any direction of the plane, as bins would make."""
    rng = np.random.default_rng(0)
    ranked = rank_table(pd.DataFrame(rng.normal(size=(500, 4))))
    places = row_map.place_rows(sp.csr_array(ranked), 500)
    for angle in np.linspace(0, np.pi, 24):
        along = np.sort(places @ [np.cos(angle), np.sin(angle)])[25:-25]
        assert np.diff(along).max() < 0.06 * np.ptp(along)


def test_the_map_is_the_principal_plane_of_the_ranks(page, penguins):
    places = np.array(embedded(page)["places"])
    dense = rank_table(penguins)
    left, values, _ = np.linalg.svd(dense - dense.mean(axis=0), full_matrices=False)
    wanted = left[:, :2] * values[:2]
    wanted *= np.sign(wanted[np.abs(wanted).argmax(axis=0), [0, 1]])
    np.testing.assert_allclose(places, wanted, atol=3e-3)
    kept = measure_kept(penguins, places)
    shown = re.search(
        r"on average, ([\d.]+) of the ten rows most similar", visible(page)
    )
    # Points may be equally near, and which of them are the ten differs.
    assert float(shown[1]) == pytest.approx(10 * kept, abs=0.1)


def measure_kept(table, places):
    """The share of a row's ten `ProximityNeighbors` that are its ten on the map."""
    near = ProximityNeighbors(10).fit(table).kneighbors(return_distance=False)
    far = cdist(places, places)
    np.fill_diagonal(far, np.inf)
    on_map = np.argsort(far, axis=1, kind="stable")[:, :10]
    return (near[:, :, None] == on_map[:, None]).any(axis=2).mean()


def test_kept_neighbors_are_sought_among_all_rows_of_the_map(
    penguins, tmp_path, monkeypatch
):
    monkeypatch.setattr(row_map, "COMPARED_ROWS", 100)
    data = embedded(write(tmp_path, penguins))
    assert data["n"] == 100
    places, rows = np.array(data["places"]), np.array(data["rows"])
    near = ProximityNeighbors(10).fit(penguins).kneighbors(return_distance=False)
    far = cdist(places[:100], places)
    far[np.arange(100), np.arange(100)] = np.inf
    on_map = rows[np.argsort(far, axis=1, kind="stable")[:, :10]]
    kept = (near[rows[:100], :, None] == on_map[:, None]).any(axis=2).mean()
    assert data["kept"] == pytest.approx(kept, abs=0.02)


def test_with_opentsne_more_of_the_most_similar_rows_are_near(
    page, penguins, clusters, tmp_path, monkeypatch
):
    monkeypatch.delitem(sys.modules, "openTSNE")
    pytest.importorskip("openTSNE")
    data = embedded(write(tmp_path, penguins, clusters=clusters))
    assert data["kept"] > embedded(page)["kept"] + 0.1
    assert data["kept"] == pytest.approx(
        measure_kept(penguins, data["places"]), abs=0.01
    )


def test_opentsne_starts_from_the_plane_and_moves_every_row(monkeypatch):
    matrix = ProximityKernel().fit_transform([[float(i)] for i in range(200)])
    plane = row_map.place_rows(matrix, 200)
    asked = {}

    class Layout:
        def __init__(self, **options):
            asked.update(options)

        def fit(self, rows):
            assert rows is matrix
            return asked["initialization"] + 1

    module = SimpleNamespace(TSNE=Layout)
    monkeypatch.setitem(sys.modules, "openTSNE", module)
    start = SimpleNamespace(rescale=lambda places: places / 10)
    monkeypatch.setitem(sys.modules, "openTSNE.initialization", start)
    places = row_map.spread_rows(matrix, plane)
    np.testing.assert_allclose(places, plane / 10 + 1)
    few = plane[:50]
    assert row_map.spread_rows(matrix[:50], few) is few


@pytest.mark.parametrize("n_rows", [2, 6, 300])
def test_the_plane_is_that_of_few_and_of_many_rows(n_rows):
    rng = np.random.default_rng(1)
    table = [[float(a), str(b)] for a, b in rng.integers(0, 9, size=(n_rows, 2))]
    matrix = ProximityKernel(4).fit_transform(table)
    places = row_map.place_rows(matrix, n_rows)
    dense = matrix.toarray().astype(np.float64)
    values = np.linalg.svd(dense - dense.mean(axis=0), compute_uv=False) ** 2
    np.testing.assert_allclose(
        (places**2).sum(axis=0), values[:2], rtol=1e-6, atol=1e-12
    )


def test_clusters_and_their_profiles(page, clusters, penguins):
    words = visible(section(page, "rows"))
    sizes = np.bincount(clusters.labels_)
    names = [card["name"] for card in describe(clusters, penguins)]
    for c, size in enumerate(sizes):
        assert f"Cluster {c} {names[c]} {size} rows" in words
    first = clusters.profiles_[0]
    assert names[0].startswith(f"{first['feature']} {first['value']}")


def test_values_that_set_no_cluster_apart_are_not_listed(tmp_path):
    table = pd.DataFrame({"x": ["a", "b"] * 50, "y": [1.0, 9.0] * 50, "z": ["q"] * 100})
    table["u"] = ["a", "a", "b", "b"] * 25
    km = ProximityKMeans(2, random_state=0).fit(table)
    assert {one["feature"] for one in km.profiles_} == {*"xyzu"}
    words = visible(section(write(tmp_path, table, clusters=km), "rows"))
    assert "x a 100 %, all rows 50 %" in words
    assert not re.search(r"[zu] \w (100|50) %, all rows", words)


def test_shares_are_those_of_the_known_cells(penguins, tmp_path):
    rng = np.random.default_rng(0)
    table = penguins[["species", "island", "body_mass_g"]].mask(
        rng.random((len(penguins), 3)) < 0.3
    )
    km = ProximityKMeans(3, random_state=0).fit(table)
    words = visible(section(write(tmp_path, table, clusters=km), "rows"))
    cards = describe(km, table)
    listed = [(card["cluster"], one) for card in cards for one in card["values"]]
    assert {one["feature"] for _, one in listed} == set(table)
    for cluster, one in listed:
        if one["feature"] == "body_mass_g":
            continue
        known = table[one["feature"]].dropna()
        is_value = known == one["value"]
        own = is_value[km.labels_[known.index] == cluster]
        shares = (write_share(float(part.mean())) for part in (own, is_value))
        said = (
            f"{one['feature']} {one['value']} {next(shares)}, all rows {next(shares)}"
        )
        assert said in words


def test_a_column_with_hardly_a_known_cell_in_a_cluster_is_left_out(tmp_path):
    """By its estimates, "u" would be typical of cluster 1, where one cell is known."""
    table = pd.DataFrame({name: ["a"] * 60 + ["b"] * 40 for name in "xyz"})
    table["w"] = ["s"] * 30 + ["t"] * 30 + [None] * 39 + ["u"]
    table.loc[:9, "w"] = "u"
    kernel = ProximityKernel(missingness="ignorable")
    km = ProximityKMeans(2, kernel=kernel, random_state=0).fit(table)
    assert any(one["feature"] == "w" and one["cluster"] for one in km.profiles_)
    listed = describe(km, table)[1]["values"]
    assert [one["feature"] for one in listed] == ["x", "y", "z"]
    assert "w u" not in visible(section(write(tmp_path, table, clusters=km), "rows"))


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


def test_the_page_loads_nothing_from_the_network(page):
    policy = html.unescape(re.search(r'Policy" content="([^"]*)"', page).group(1))
    assert "default-src 'none'" in policy
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 1
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    rest = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    asked = re.findall(r"\b(?:src|href)\s*=\s*[\"']?([^\s\"'>]*)", rest)
    assert len(asked) > 5
    assert all(address.startswith(("#", "data:,")) for address in asked)
    assert "http" not in rest.replace("http-equiv", "")


def test_hostile_text_is_only_text(tmp_path):
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
    assert len(re.findall(r"<script\b", text)) == 2
    assert "<img" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    words = visible(text)
    assert words.count(EVIL) > 5
    assert "{{ 7*7 }}" in words
    assert "&lt;" in words  # not unescaped on the way
    assert "\x00" not in text
    assert "\u202e" not in text
    assert "x" * 200 not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    data = embedded(text)
    assert data["columns"][0]["name"] == EVIL
    assert EVIL in data["columns"][0]["texts"]


def test_a_lone_surrogate_is_written_as_a_mark(tmp_path):
    text = write(tmp_path, [["\ud800"], ["a"], ["a"]])
    assert "\N{REPLACEMENT CHARACTER}" in text


def test_the_last_line_says_how_the_page_was_made(page, penguins, clusters):
    assert "and 3 clusters. This file is" in visible(page)
    made = "Made on 2026-01-31 by the command: proximity-kernel cluster a.csv -k 3"
    text = TableReport(penguins, clusters=clusters, made=made).html
    assert f"and 3 clusters. {made} . This file is" in visible(text)


def test_clusters_may_have_another_kernel_than_the_page(penguins):
    clusters = ProximityKMeans(3, random_state=0).fit(penguins)
    kernel = ProximityKernel(3).fit(penguins)
    page = TableReport(penguins, kernel=kernel, clusters=clusters).html
    sizes = np.bincount(clusters.predict(penguins))
    assert all(f"{size} rows" in page for size in sizes)
