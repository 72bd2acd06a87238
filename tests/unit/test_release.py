"""What has to agree for a release: versions, linters, the lines that CI runs."""

import re
from pathlib import Path

import pytest

import proximity_kernel
from proximity_kernel._shared import published

ROOT = Path(__file__).parents[2]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_citation_has_the_version():
    (version,) = re.findall(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE)
    assert version == proximity_kernel.__version__
    assert re.search(
        r"^date-released: \d{4}-\d\d-\d\d$", read("CITATION.cff"), re.MULTILINE
    )


def test_pre_commit_has_the_linters_of_the_check():
    checks = re.findall(
        r"^(?:python -m )?(\w[\w-]*)", read("scripts/check"), re.MULTILINE
    )
    linters = [one for one in checks if one not in ("set", "cd")]
    hooks = re.findall(
        r"entry: (?:python -m )?([\w-]+)", read(".pre-commit-config.yaml")
    )
    assert hooks == linters == ["ruff", "ruff", "mypy", "lint-imports"]


def test_the_workflow_tests_by_the_line_of_the_readme():
    (line,) = re.findall(r"^test_it='(.*)'$", read(".ci/run"), re.MULTILINE)
    assert f"- run: {line}\n" in read(".github/workflows/tests.yml")


def test_the_workflow_tests_every_python_that_is_promised():
    promised = re.findall(r"Python :: (3\.\d+)", read("pyproject.toml"))
    (listed,) = re.findall(r"python: \[(.*)\]", read(".github/workflows/tests.yml"))
    assert re.findall(r"3\.\d+", listed) == promised


@pytest.mark.parametrize("name", ["README.md", "docs/start.md"])
def test_pages_install_as_messages_say(name):
    """From a copy of the repository, until there is a release."""
    said = published.how_to_install("cli,report")
    assert said.partition("pip ")[2] in read(name)


def test_estimators_link_to_their_page_once_there_is_a_site(monkeypatch):
    km = proximity_kernel.ProximityKMeans()
    assert km._get_doc_link() == ""
    monkeypatch.setattr(published, "SITE", "https://example.org")
    page = "generated/api/proximity_kernel.ProximityKMeans.html"
    assert km._get_doc_link() == f"https://example.org/{page}"
    assert page in km._repr_html_()
