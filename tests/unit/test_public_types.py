"""What a type checker knows of the public names, seen from a user's program."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import proximity_kernel

SRC = Path(__file__).parents[2] / "src"

# polars has types, pandas has none; what is true of one frame is true of all.
CALLS = """\
from typing import assert_type
import numpy as np
import polars as pl
from numpy.typing import NDArray
from proximity_kernel import ProximityImputer, ProximityKernel, ProximityNeighbors

Rows = list[list[float]]

def use(frame: pl.DataFrame, array: NDArray[np.float64], rows: Rows) -> None:
    kernel, imputer = ProximityKernel(), ProximityImputer()
    assert_type(imputer.transform(frame), pl.DataFrame)
    assert_type(imputer.transform(array), NDArray[np.float64])
    assert_type(imputer.uncertainty(rows), Rows)
    assert_type(imputer.interval(frame), tuple[pl.DataFrame, pl.DataFrame])
    assert_type(kernel.fit(frame), ProximityKernel)
    assert_type(kernel.set_params(n_bins=3), ProximityKernel)
    assert_type(kernel.transform(frame).shape, tuple[int, ...])
    assert_type(imputer.fit_transform(frame), pl.DataFrame)
    assert_type(imputer.transform(rows), Rows)
    assert_type(imputer.draw(frame), list[pl.DataFrame])
    near = ProximityNeighbors().kneighbors(frame, return_distance=False)
    assert_type(near, NDArray[np.int64])
    fitted = ProximityNeighbors().fit(frame)
    assert_type(fitted.kneighbors(rows, 3, False), NDArray[np.int64])
    assert_type(fitted.kneighbors(rows, 3)[1], NDArray[np.int64])
    assert_type(kernel.n_features_in_, int)
    assert_type(fitted.feature_names_in_, NDArray[np.object_])
"""


# Large packages that are no part of a public type; if one were, it would be Any here,
# and fail. Reading them takes three quarters of mypy's time.
SETTINGS = """\
[mypy]
[mypy-torch.*,dask.*,distributed.*,numba.*,hypothesis.*,matplotlib.*,mypy.*,coverage.*]
follow_imports = skip
"""


@pytest.fixture(scope="module")
def check(request):
    """Check a program as mypy does without any setting of ours for our modules."""
    cache = request.config.cache.mkdir("public_types")
    settings = Path(cache) / "mypy.ini"
    settings.write_text(SETTINGS)

    def run(path):
        options = [f"--config-file={settings}", "--ignore-missing-imports"]
        done = subprocess.run(
            [sys.executable, "-m", "mypy", *options, "--cache-dir", cache, path],
            env=os.environ | {"MYPYPATH": str(SRC)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stderr
        return done.stdout

    return run


def list_expressions():
    for name in proximity_kernel.__all__:
        found = getattr(proximity_kernel, name)
        if not inspect.isclass(found):
            yield f"pk.{name}"
        elif not issubclass(found, Exception):
            methods = (one for one in dir(found) if not one.startswith("_"))
            yield from (f"pk.{name}().{one}" for one in methods)


@pytest.mark.slow
def test_no_public_call_gives_any(check, tmp_path):
    path = tmp_path / "program.py"
    asked = list(list_expressions())
    lines = [f"reveal_type({one})" for one in asked]
    path.write_text("\n".join(["import proximity_kernel as pk", *lines]))
    said = re.findall(r'Revealed type is "(.*)"', check(path))
    assert len(said) == len(asked) > 80
    found = zip(asked, said, strict=True)
    unknown = [one for one, told in found if told == "Any" or "-> Any" in told]
    assert unknown == []


def test_a_table_keeps_its_type(check, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(CALLS)
    assert "Success" in check(path)
    path.write_text(CALLS.replace("(rows), Rows)", "(rows), pl.Series)"))
    assert "assert-type" in check(path)
