"""How the page looks in a browser: contrast, narrow windows, unbroken numbers."""

from itertools import pairwise

import numpy as np
import pytest
from browser_visits import NARROW, WIDE, Visit, needs_chromium

pytestmark = needs_chromium


def test_everything_has_a_name(browser, report):
    with Visit(browser, report) as page:
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll(
                 "input, select, button, svg[role], [role=region], [role=application]")]
               .filter((one) => !(one.getAttribute("aria-label") || one.labels?.length
                 || one.textContent.trim()
                 || document.getElementById(one.getAttribute("aria-labelledby"))))
               .map((one) => one.outerHTML.slice(0, 80))"""
        )
        assert unnamed == []
        levels = page.evaluate(
            "[...document.querySelectorAll('h1, h2, h3')].map((h) => +h.tagName[1])"
        )
        assert levels[0] == 1
        assert all(b - a <= 1 for a, b in pairwise(levels))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(browser, report, scheme):
    def luminance(color):
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        ]
        return np.dot(linear, [0.2126, 0.7152, 0.0722])

    def contrast(one, other):
        low, high = sorted([luminance(one), luminance(other)])
        return (high + 0.05) / (low + 0.05)

    with Visit(browser, report, color_scheme=scheme) as page:
        value = page.evaluate("(names) => names.map(color)", [
            "--paper", "--wash", "--ink", "--ink-soft", "--accent", "--warn",
            "--gap", "--known", *(f"--mark-{k}" for k in range(8)),
        ])  # fmt: skip
        paper, wash, *texts = value[:6]
        for text in texts:
            assert contrast(text, paper) >= 4.5
            assert contrast(text, wash) >= 4.5
        assert contrast(value[6], value[7]) >= 3  # a gap beside what is known
        behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (behind == "rgb(255, 255, 255)") == (scheme == "light")
        for mark in value[8:]:
            assert contrast(mark, paper) >= 2.2


def test_motion_is_left_out_where_it_is_not_wanted(browser, report):
    with Visit(browser, report, reduced_motion="reduce") as page:
        smooth = "getComputedStyle(document.documentElement).scrollBehavior"
        assert page.evaluate(smooth) == "auto"


@pytest.mark.parametrize("width", [360, 400])
def test_tables_stack_in_a_narrow_window(browser, messy_report, width):
    with Visit(browser, messy_report, {"width": width, "height": 740}) as page:
        assert page.evaluate(
            "document.documentElement.scrollWidth <= window.innerWidth"
        )
        for cell in page.locator(".stacks td:visible").all():
            box = cell.bounding_box()
            assert 0 <= box["x"] < box["x"] + box["width"] <= width
        income = page.locator(".stacks tr", has_text="income").first
        label = "(td) => getComputedStyle(td, '::before').content"
        labels = [td.evaluate(label) for td in income.locator("td").all()]
        assert labels[0] == '"Missing cells"'
        assert income.bounding_box()["height"] < 250
        page.set_viewport_size(WIDE)
        assert {td.evaluate(label) for td in income.locator("td").all()} == {"none"}


def test_the_findings_and_the_map_are_on_the_first_screen(browser, report):
    with Visit(browser, report, WIDE) as page:
        assert page.locator(".findings li").count() == 4
        for what in ("#map", ".clusters .card"):
            assert page.locator(what).first.bounding_box()["y"] < 0.6 * WIDE["height"]


def test_the_map_stays_in_sight_beside_the_last_cluster(browser, report):
    with Visit(browser, report, WIDE, reduced_motion="reduce") as page:
        assert page.locator("#side").evaluate("(s) => s.scrollHeight <= s.clientHeight")
        page.locator(".clusters .card").last.evaluate(
            "(one) => one.scrollIntoView(false)"
        )
        assert page.evaluate("window.scrollY") > 200
        assert 0 <= page.locator("#map").bounding_box()["y"] < WIDE["height"] / 4
        page.locator("#map").click(position={"x": 2, "y": 2})
        page.keyboard.press("ArrowRight")  # chooses a row, whose panel is above
        assert 0 <= page.locator("#panel-title").bounding_box()["y"] < 50


def test_long_names_leave_room_for_their_label(browser, report):
    with Visit(browser, report, NARROW) as page:
        rows = page.locator("#missing .stacks tbody tr").all()
        assert len(rows) == 5
        assert "bill_depth_mm" in rows[0].inner_text()  # one of three names
        for row in rows:
            assert row.bounding_box()["height"] < 200


def test_the_map_does_not_move_when_a_row_is_chosen(browser, report):
    with Visit(browser, report) as page:
        tops = set()
        for row in (0, 12, 47, 200):
            page.fill("#row", str(row + 1))
            page.press("#row", "Enter")
            place = "document.getElementById('map').getBoundingClientRect().top"
            tops.add(page.evaluate(f"{place} + window.scrollY"))
        assert len(tops) == 1


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_line_breaks_within_numbers_and_dates(browser, messy_report, viewport):
    with Visit(browser, messy_report, viewport) as page:
        broken = page.evaluate(
            """() => {
              const walk = document.createTreeWalker(
                document.querySelector("main"), NodeFilter.SHOW_TEXT);
              const broken = [];
              while (walk.nextNode()) {
                const node = walk.currentNode;
                if (!node.parentElement.checkVisibility()) continue;
                for (const found of node.data.matchAll(/[-+]?\\d[\\d.,:-]*/g)) {
                  const range = document.createRange();
                  range.setStart(node, found.index);
                  range.setEnd(node, found.index + found[0].length);
                  const tops = [...range.getClientRects()]
                    .map((box) => Math.round(box.top));
                  if (new Set(tops).size > 1) broken.push(found[0]);
                }
              }
              return broken;
            }"""
        )
        assert broken == []
