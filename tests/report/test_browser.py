"""The controls of the report's page, in a browser."""

import re

import numpy as np
import pandas as pd
import pytest
from browser_visits import NARROW, WIDE, Visit, needs_chromium
from report_pages import EVIL, large, many_columns

from proximity_kernel import ProximityKernel, ProximityNeighbors, explain
from proximity_kernel.report import TableReport

pytestmark = [needs_chromium, pytest.mark.slow]


def hostile():
    table = pd.DataFrame(
        {
            EVIL: [EVIL, "%{x}", "<b>b</b>", None, "\u202eabc"] * 8,
            "a & \"b\" 'c'": ["\x00\x07", "x" * 5000, "\u6f22", "{{7*7}}", "$x$"] * 8,
            "n" * 600: np.arange(40.0),
        }
    )
    ids = [f"{EVIL} {i}" for i in range(len(table))]
    return table, {"ids": ids, "title": EVIL, "assumptions": [EVIL * 20]}


TABLES = {
    "hostile": hostile,
    "many columns": many_columns,
    "10,000 rows": large,
    "one row": lambda: ([[1.0, "a"]], {}),
    "nothing observed": lambda: ([[None, None]] * 3, {}),
    "extreme numbers": lambda: ([[-1.7e308], [1.7e308], [0.0], [5e-324]], {}),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_every_control_works_without_errors_and_requests(browser, make, tmp_path):
    table, options = make()
    path = TableReport(table, **options).write_html(tmp_path / "r.html")
    with Visit(browser, path, NARROW) as page:
        assert fits(page)
        for index in range(min(6, page.locator("#color-by option").count())):
            page.select_option("#color-by", index=index)
        for button in ("#after", "#before", "#nearer", "#farther"):
            page.click(button)
        for button in page.locator("#near button").all():
            button.click()
        assert fits(page)
        page.set_viewport_size(WIDE)
        while page.locator("button.more:has-text('Show all')").count():
            page.locator("button.more:has-text('Show all')").first.click()
        for button in page.locator(".goto").all()[:1]:
            button.click()
        page.emulate_media(color_scheme="dark")
        assert page.locator("img").count() == 0
        assert fits(page)


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_click_on_a_row_shows_its_nearest_rows_and_why(browser, report, penguins):
    near = ProximityNeighbors(n_neighbors=len(penguins)).fit(penguins)
    distances, order = near.kneighbors(penguins)
    values = 1 - distances
    similarity = np.empty_like(values)
    np.put_along_axis(similarity, order, values, axis=1)
    np.fill_diagonal(similarity, -1)
    with Visit(browser, report) as page:
        for row in (3, 47, 300):
            click_on_row(page, row)
            shown = int(page.locator("#panel-title bdi").inner_text()) - 1
            # Another row may lie at the same place.
            places = [find_point(page, one) for one in (row, shown)]
            np.testing.assert_allclose(*places, atol=1)
            names = page.locator("#near button bdi").all_inner_texts()
            best = -np.sort(-similarity[shown])[:5]
            found = similarity[shown][[int(name) - 1 for name in names]]
            np.testing.assert_allclose(found, best, atol=1e-6)
            written = re.match(r"Similarity ([\d.]+)\.", page.inner_text("#why"))
            assert float(written[1]) == pytest.approx(best[0], abs=0.0056)
            assert page.input_value("#row") == str(shown + 1)


def find_point(page, row):
    """The middle of a row's point, in pixels."""
    box = page.locator("#map").bounding_box()
    x, y = page.evaluate(f"spot({row})")
    return box["x"] + x, box["y"] + y


def click_on_row(page, row):
    """Move to the point of a row, look at its label, and click."""
    page.locator("#map").scroll_into_view_if_needed()
    page.mouse.move(*find_point(page, row))
    assert page.locator("#tip").inner_text().startswith("Row ")
    page.mouse.click(*find_point(page, row))


def read_panel(page, row, nth):
    """Choose a row and one of its nearest: which this is, and the table's lines."""
    page.fill("#row", str(row + 1))
    page.press("#row", "Enter")
    page.locator("#near button").nth(nth).click()
    lines = {}
    for line in page.locator(".compare tbody tr").all():
        lines[line.locator("th bdi").inner_text()] = (
            line.locator(".verdict").inner_text(),
            line.locator("td").nth(0).inner_text(),
        )
    return int(page.locator("#near button bdi").nth(nth).inner_text()) - 1, lines


@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_the_panel_agrees_with_explain(browser, penguins, tmp_path, matching):
    table = penguins.copy()
    table.loc[5, table.columns[:-1]] = None  # all but the year
    table.loc[6, :] = None
    kernel = ProximityKernel(matching=matching, missingness="ignorable").fit(table)
    path = TableReport(table, kernel=kernel).write_html(tmp_path / "r.html")
    bases = set()
    with Visit(browser, path) as page:
        for row in (0, 8, 3, 47, 5, 6):  # the last four with missing cells
            other, lines = read_panel(page, row, 4)
            why = explain(kernel, table.iloc[[row]], table.iloc[[other]])
            assert set(lines) == {one.name for one in why.features}
            for one in why.features:
                verdict, cell = lines[one.name]
                assert one.alike in verdict
                if one.a.assumed:
                    likeliest, share = one.a.assumed[0]
                    estimate = f"missing\nestimated: {likeliest} ({100 * share:.0f} %)"
                    assert estimate in cell
                    bases.add(one.a.level)
                    assert cell.endswith(basis(one.a))
    assert bases == {"prior", *LEVELS[matching]}


LEVELS = {"pairwise": ["evidence"], "cascade": ["intersection", "union"]}


def basis(cell):
    """What the panel shows after an estimate."""
    if cell.level == "prior":
        return ", as in the whole column"
    if cell.moved_by:
        return ", from " + ", ".join(name for name, _ in cell.moved_by)
    return f", from {cell.support} matching row{'s' * (cell.support > 1)}"


def test_the_colors_follow_the_choice(browser, report, penguins, clusters):
    with Visit(browser, report) as page:

        def looks():
            return page.evaluate("painted.shades.slice()")

        legend = page.locator("#legend li bdi")
        labels = clusters.labels_
        names = page.locator(".pick bdi").all_inner_texts()
        sizes = np.bincount(labels)
        wanted = [f"{c}: {names[c]} ({size})" for c, size in enumerate(sizes)]
        assert legend.all_inner_texts() == wanted
        for c in range(3):  # one color for each
            own = {look for look, at in zip(looks(), labels, strict=True) if at == c}
            assert len(own) == 1
        page.select_option("#color-by", label="sex")
        counts = penguins["sex"].value_counts()
        missing = int(penguins["sex"].isna().sum())
        wanted = [f"{sex} ({n})" for sex, n in counts.items()]
        assert legend.all_inner_texts() == [*wanted, f"missing ({missing})"]
        assert len(set(looks())) == 3
        page.select_option("#color-by", label="body_mass_g")
        assert page.locator("#legend .ramp").count() == 1
        heavy = int(penguins["body_mass_g"].argmax())
        light = int(penguins["body_mass_g"].argmin())
        assert looks()[heavy] != looks()[light]
        page.select_option("#color-by", label="number of missing cells")
        assert page.inner_text("#legend") == "0\n5"
        gaps = penguins.isna().sum(axis=1)
        shades = {
            n: {s for s, m in zip(looks(), gaps, strict=True) if m == n}
            for n in (0, 1, 5)
        }
        assert [len(own) for own in shades.values()] == [1, 1, 1]
        assert len(set.union(*shades.values())) == 3


def test_cards_and_map_select_each_other(browser, report, clusters):
    with Visit(browser, report) as page:
        page.locator(".pick").nth(1).click()
        assert page.evaluate("picked") == 1
        assert page.locator(".card.current").get_attribute("data-cluster") == "1"
        page.locator(".pick").nth(1).click()
        assert page.evaluate("picked") is None
        row = int(np.flatnonzero(clusters.labels_ == 2)[0])
        click_on_row(page, row)
        assert page.locator(".card.current").get_attribute("data-cluster") == "2"


def test_the_keyboard_is_enough(browser, report):
    with Visit(browser, report) as page:
        focused = "document.activeElement.id"
        page.focus("#color-by")
        page.keyboard.press("Tab")
        assert page.evaluate(focused) == "row"
        page.keyboard.type("48")
        page.keyboard.press("Enter")
        assert page.inner_text("#panel-title").startswith("Row 48")
        for _ in range(5):  # before, after, zoom in, zoom out, the map
            page.keyboard.press("Tab")
        assert page.evaluate(focused) == "map"
        width = "getComputedStyle(document.activeElement).outlineWidth"
        assert page.evaluate(width) == "3px"
        x = [page.evaluate("data.places[chosen][0]")]
        for _ in range(3):
            page.keyboard.press("ArrowRight")
            x.append(page.evaluate("data.places[chosen][0]"))
        assert x == sorted(x)
        assert x[-1] > x[0]
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("data.places[chosen][0]") < x[-1]
        page.keyboard.press("+")
        assert page.evaluate("view.zoom") == 2
        page.keyboard.press("Enter")
        assert page.evaluate(focused) == "panel"
        page.keyboard.press("Tab")  # on, and into the nearest rows
        page.keyboard.press("Tab")
        before = page.inner_text("#why")
        page.keyboard.press("Enter")
        assert page.inner_text("#why") != before
        page.fill("#row", "no such row")
        page.press("#row", "Enter")
        assert "No row on the map is called no such row." in page.inner_text("#rows")


def test_columns_are_found_and_folds_open(browser, tmp_path):
    path = TableReport(many_columns()[0]).write_html(tmp_path / "r.html")
    with Visit(browser, path) as page:
        assert page.locator("#cards > li:visible").count() == 12
        page.fill("#find", "COLUMN_19")
        assert page.locator("#cards > li:visible").count() == 11  # 19, 190 to 199
        assert page.inner_text("#found") == "11 columns"
        page.fill("#find", "")
        assert page.locator("#cards > li:visible").count() == 200


def test_a_kernel_of_other_rows_and_unknown_categories(browser, penguins, tmp_path):
    kernel = ProximityKernel().fit(penguins.iloc[:150])  # of one species
    path = TableReport(penguins.iloc[140:], kernel=kernel).write_html(
        tmp_path / "r.html"
    )
    with Visit(browser, path) as page:
        page.fill("#row", "191")
        page.press("#row", "Enter")
        assert "not comparable" in page.inner_text("#why")
        assert "not in the fitted table" in page.inner_text("#why")


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_far_values_lead_to_their_rows(browser, messy_report, viewport):
    with Visit(browser, messy_report, viewport, reduced_motion="reduce") as page:
        page.locator(".far-values .goto", has_text="Row 501").click()
        title = page.locator("#panel-title")
        assert title.inner_text().startswith("Row 501")
        assert "990,000,000" in page.inner_text("#why")
        assert 0 <= title.bounding_box()["y"] < viewport["height"] / 4


def test_different_values_in_one_range_are_not_called_the_same(browser, tmp_path):
    table = pd.DataFrame({"x": np.arange(40.0), "y": ["a", "b"] * 20})
    path = TableReport(table, kernel=ProximityKernel(4).fit(table)).write_html(
        tmp_path / "r.html"
    )
    with Visit(browser, path) as page:
        verdicts = {name: word for name, (word, _) in read_panel(page, 0, 0)[1].items()}
    assert verdicts == {
        "x": "\N{CIRCLE WITH ALL BUT UPPER LEFT QUADRANT BLACK} same range",
        "y": "\N{BLACK CIRCLE} same",
    }


def test_an_id_of_several_rows_leads_to_each_of_them(browser, tmp_path):
    table = pd.DataFrame({"x": np.arange(30.0)})
    ids = [f"K{i % 20}" for i in range(30)]
    path = TableReport(table, ids=ids).write_html(tmp_path / "r.html")
    with Visit(browser, path) as page:
        page.fill("#row", "K3")
        page.press("#row", "Enter")
        assert page.inner_text("#panel-title") == "Row K3 (#4)"
        note = "2 rows on the map have this id: K3 (#4), K3 (#24)."
        assert page.inner_text("#row-note") == note
        page.fill("#row", "K3 (#24)")
        page.press("#row", "Enter")
        assert page.inner_text("#panel-title") == "Row K3 (#24)"


def test_few_numbers_have_a_color_each(browser, tmp_path):
    table = pd.DataFrame({"code": [1.0, 2.0, 2.0, np.nan] * 10, "y": np.arange(40.0)})
    with Visit(browser, TableReport(table).write_html(tmp_path / "r.html")) as page:
        page.select_option("#color-by", label="code")
        legend = page.locator("#legend li").all_inner_texts()
        assert [one.split("\n")[-1] for one in legend] == [
            "1 (10)", "2 (20)", "missing (10)",
        ]  # fmt: skip


def test_numbers_of_clusters_are_among_their_own_points(browser, report):
    with Visit(browser, report) as page:
        nearest = """middles.map((at) => data.clusters[at])"""
        assert page.evaluate(nearest) == [0, 1, 2]
        shares = page.evaluate("""middles.map((at, c) => {
          const [x, y] = data.places[at];
          const far = data.places.map(([u, v], i) => [Math.hypot(u - x, v - y), i]);
          const near = far.sort((a, b) => a[0] - b[0]).slice(0, 10);
          return near.filter(([, i]) => data.clusters[i] === c).length / near.length;
        })""")
        assert min(shares) > 0.6


def test_the_frame_of_a_narrow_map_is_no_taller_than_its_points_need(browser, report):
    with Visit(browser, report, NARROW) as page:
        ends = page.evaluate("""(() => {
          const all = data.places.map((_, i) => spot(i)[1]);
          return [Math.min(...all), canvas.clientHeight - Math.max(...all)];
        })()""")
        assert max(ends) < 40


def test_the_box_for_a_row_has_room_for_its_name(browser, tmp_path):
    table, ids = [[float(i)] for i in range(30)], [f"F-2023{i:03}" for i in range(30)]
    path = TableReport(table, ids=ids).write_html(tmp_path / "r.html")
    with Visit(browser, path) as page:
        box = "document.getElementById('row')"
        assert page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
