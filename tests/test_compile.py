"""The word to the user when loops are compiled, and where compiled code is kept."""

import os
import subprocess
import sys

import numba
import pytest

from proximity_kernel import _compile

FIRST_CALL = """
from proximity_kernel import ProximityKernel
ProximityKernel().fit_transform([[1.0, "a"], [None, "b"], [2.0, "a"]])
"""


def test_only_the_first_process_is_told(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", FIRST_CALL],
            env=environment, capture_output=True, text=True, check=True,
        ).stderr
        for _ in range(2)
    ]  # fmt: skip
    assert said[0].count("compiling") == 1
    assert "once in this environment" in said[0]
    assert said[1] == ""


def test_a_read_only_installation_still_works(monkeypatch):
    njit = numba.njit

    def no_place_to_write(*args, cache=False, **options):
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*args, **options)

    monkeypatch.setattr(numba, "njit", no_place_to_write)
    double = _compile.compiled(lambda x: 2 * x)
    assert double(21) == 42


@pytest.mark.parametrize(("module", "told"), [("other", False), ("kernel", True)])
def test_only_our_own_loops_are_announced(caplog, module, told):
    notice = _compile._Notice()
    function = type("function", (), {"__module__": f"proximity_{module}.x"})
    dispatcher = type("dispatcher", (), {"py_func": function})
    event = type("event", (), {"data": {"dispatcher": dispatcher}})
    notice.on_start(event)
    notice.on_start(event)
    notice.on_end(event)
    assert len(caplog.records) == told
