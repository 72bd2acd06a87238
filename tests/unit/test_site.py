"""The reference on the site has the public names, all of them."""

import importlib
import re
from pathlib import Path

import pytest

import proximity_kernel

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = re.findall(
    r"module:: (\S+)\n\n\.\. autosummary::\n   :toctree: generated/api\n\n(.*?)\n```",
    (DOCS / "api.md").read_text(encoding="utf-8"),
    re.DOTALL,
)


@pytest.mark.parametrize(("module", "names"), REFERENCE, ids=lambda text: text[:40])
def test_the_reference_lists_the_public_names(module, names):
    exported = importlib.import_module(module).__all__
    if module != "proximity_kernel":  # its names are listed once
        exported = [name for name in exported if name not in proximity_kernel.__all__]
    assert sorted(names.split()) == sorted(exported)


def test_every_public_module_is_in_the_reference():
    listed = {module for module, _ in REFERENCE}
    public = {
        "",
        ".cluster",
        ".dask",
        ".datasets",
        ".explanation",
        ".io",
        ".kernel",
        ".model_file",
        ".outliers",
    }
    assert listed == {f"proximity_kernel{name}" for name in public}
