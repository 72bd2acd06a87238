"""A browser, and pages to open in it."""

import sys

import pytest
from browser_visits import CHROMIUM, FLAGS
from report_pages import messy

from proximity_kernel import ProximityKMeans
from proximity_kernel.datasets import load_penguins
from proximity_kernel.report import TableReport


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module", autouse=True)
def _without_tsne():
    """Place the rows of maps in the same way whether or not openTSNE is installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "openTSNE", None)
        yield


@pytest.fixture(scope="module")
def penguins():
    return load_penguins()


@pytest.fixture(scope="module")
def clusters(penguins):
    return ProximityKMeans(3, random_state=0).fit(penguins)


@pytest.fixture(scope="module")
def report(penguins, clusters, tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "penguins.html"
    return TableReport(penguins, clusters=clusters).write_html(path)


@pytest.fixture(scope="module")
def messy_report(tmp_path_factory):
    return TableReport(messy()).write_html(tmp_path_factory.mktemp("messy") / "r.html")
