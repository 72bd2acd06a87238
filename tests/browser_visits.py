"""Pages of the report in a real browser: Debian's chromium, driven by Playwright.

Where either is absent the tests are skipped. Nothing is ever downloaded for them.
"""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed; apt-get install chromium"
)


class Visit:
    """An open page, with everything that it logged and requested."""

    def __init__(self, browser, path, viewport=None, **options):
        self.page = browser.new_page(viewport=viewport or WIDE, **options)
        self.logged, self.requested = [], []
        self.page.on("console", lambda message: self.logged.append(message.text))
        self.page.on("pageerror", lambda error: self.logged.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.address = path.as_uri()
        self.page.goto(self.address)
        self.page.wait_for_function("painted !== null")

    def _dismiss(self, dialog):
        self.logged.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def __enter__(self):
        return self.page

    def __exit__(self, kind, *_):
        self.page.wait_for_timeout(50)
        self.page.close()
        if kind is None:
            assert self.logged == []
            assert self.requested == [self.address]
