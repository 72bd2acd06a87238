"""The public door is exact: `__all__` names what is there, and all of it, in order."""

import types

import proximity_kernel


def test_all_is_sorted_without_repeats():
    assert list(proximity_kernel.__all__) == sorted(set(proximity_kernel.__all__))


def test_all_is_what_the_namespace_holds():
    # Submodules become attributes when something imports them; they are not members.
    members = {
        name
        for name, value in vars(proximity_kernel).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert members == set(proximity_kernel.__all__)
