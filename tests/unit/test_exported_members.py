"""The public door is exact: `__all__` names what is there, and all of it, in order."""

import subprocess
import sys
import types

import pytest

import proximity_kernel


def test_all_is_sorted_without_repeats():
    assert list(proximity_kernel.__all__) == sorted(set(proximity_kernel.__all__))


def test_each_name_is_found_and_has_a_home():
    assert sorted(proximity_kernel._HOMES) == proximity_kernel.__all__
    for name in proximity_kernel.__all__:
        assert getattr(proximity_kernel, name).__name__ == name
    assert set(proximity_kernel.__all__) <= set(dir(proximity_kernel))


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(AttributeError, match="no attribute 'ProximityKernell'"):
        _ = proximity_kernel.ProximityKernell


def test_nothing_heavy_is_imported_before_it_is_asked_for():
    code = (
        "import sys, proximity_kernel, proximity_kernel.cli, proximity_kernel.io; "
        "proximity_kernel.read_table; print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"numpy", "numba", "sklearn", "pandas", "pyarrow", "rich"}
    assert not heavy & set(done.stdout.split())


def test_the_reader_is_exported():
    assert proximity_kernel.read_table is proximity_kernel.io.read_table


def test_all_is_what_the_namespace_holds():
    for name in proximity_kernel.__all__:
        getattr(proximity_kernel, name)  # there from the first use on
    # Submodules become attributes when something imports them; they are not members.
    members = {
        name
        for name, value in vars(proximity_kernel).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert members == set(proximity_kernel.__all__)
