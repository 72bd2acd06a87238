"""The packaged table, against what its README says."""

import hashlib
import sys
from importlib.resources import files

import pytest

from proximity_kernel._shared.extras import require
from proximity_kernel.datasets import load_penguins


def test_penguins():
    penguins = load_penguins()
    assert penguins.shape == (344, 8)
    assert penguins.isna().sum().to_dict() == {
        "species": 0,
        "island": 0,
        "bill_length_mm": 2,
        "bill_depth_mm": 2,
        "flipper_length_mm": 2,
        "body_mass_g": 2,
        "sex": 11,
        "year": 0,
    }
    assert penguins["species"].value_counts().to_dict() == {
        "Adelie": 152,
        "Gentoo": 124,
        "Chinstrap": 68,
    }


def test_penguins_file_is_the_one_described():
    folder = files("proximity_kernel") / "penguins"
    digest = hashlib.sha256((folder / "penguins.csv").read_bytes()).hexdigest()
    assert digest in (folder / "README.md").read_text()


def test_without_pandas_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"\.\[cli\]"):
        load_penguins()


def test_a_package_broken_inside_is_not_called_absent(tmp_path, monkeypatch):
    (tmp_path / "broken_inside.py").write_text("import no_such_module\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        require("broken_inside", extra="cli")
