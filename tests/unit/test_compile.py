"""The word to the user when loops are compiled, and where compiled code is kept."""

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from proximity_kernel import ProximityKernel
from proximity_kernel import _compile as compiling
from proximity_kernel import _row_summary as row_summary
from proximity_kernel._cascade import match_rows
from proximity_kernel._pairwise import estimate_cells, write_log_odds
from proximity_kernel._row_summary import count_codes

pytestmark = pytest.mark.slow

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
    assert "when a function is first used" in said[0]
    assert said[1] == ""


def test_a_function_without_a_module_can_be_compiled_beside_us():
    """As generated code has none, and the listener sees every compilation."""
    namespace = {}
    exec("def add_one(x): return x + 1", namespace)
    assert numba.njit(namespace["add_one"])(1) == 2


def test_compiled_code_is_kept_per_version_of_all_loops(monkeypatch):
    def key(digest):
        monkeypatch.setattr(compiling, "_DIGEST", digest)
        return compiling._add_cache_key(_lone_loop).__closure__[0].cell_contents

    assert key("one") == "one"
    assert key("two") == "two"
    assert compiling._add_cache_key(_lone_loop)(3) == 6


def _lone_loop(x):
    return 2 * x


def test_the_digest_covers_the_files_with_loops():
    folder = Path(compiling.__file__).parent
    loop = re.compile(r"^@(compiled|inlined|intrinsic)$", re.MULTILINE)
    with_loops = [
        path for path in folder.rglob("*.py") if loop.search(path.read_text())
    ]
    assert {path.parent for path in with_loops} == {folder}
    with_loops.append(Path(compiling.__file__))
    digest = hashlib.sha256()
    for path in sorted(with_loops):
        digest.update(path.read_bytes())
    assert digest.hexdigest() == compiling._DIGEST


def test_a_read_only_installation_still_works(monkeypatch):
    def no_place_to_write(_):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(compiling, "_Cache", no_place_to_write)
    double = compiling.compiled(lambda x: 2 * x)
    assert double(21) == 42


ONE_LOOP = """
import resource, sys
import numpy as np
from proximity_kernel._kmeans import count_alike
limit = int(sys.argv[1])
if limit:  # the largest file that can be written: as a full disk, in small
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
data, indices, indptr = np.ones(4), np.array([0, 1, 0, 2]), np.array([0, 2, 4])
alike = np.zeros(2, np.int32)
count_alike(data, indices, indptr, alike)
print(alike)
"""


def run_one_loop(folder, limit=0):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", ONE_LOOP, str(limit)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip


def test_a_full_disk_compiles_in_memory_and_says_so_once(tmp_path):
    done = run_one_loop(tmp_path, limit=10)
    assert done.stdout == "[0 1]\n"
    assert done.stderr.count("cannot save its compiled loops") == 1
    assert "NUMBA_CACHE_DIR" in done.stderr


def cut(content):
    return content[: len(content) // 2]


def overwrite(content):
    middle = len(content) // 2
    return content[:middle] + bytes(200) + content[middle + 200 :]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with the code of one loop."""
    folder = tmp_path_factory.mktemp("compiled")
    run_one_loop(folder)
    return folder


@pytest.mark.parametrize("damage", [cut, overwrite, lambda _: b""])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_code_on_disk_is_compiled_again(compiled, tmp_path, damage, ending):
    """The code is under a checksum: numba alone would run it."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    (path,) = tmp_path.rglob(f"*.{ending}")
    path.write_bytes(damage(path.read_bytes()))
    again, healed = run_one_loop(tmp_path), run_one_loop(tmp_path)
    assert again.stdout == healed.stdout == "[0 1]\n"
    assert "compiling" in again.stderr
    assert healed.stderr == ""


@pytest.mark.parametrize(
    ("module", "told"),
    [("proximity_other.x", False), ("proximity_kernel.x", True), (None, False)],
)
def test_only_our_own_loops_are_announced(caplog, module, told):
    notice = compiling._Notice()
    function = type("function", (), {"__module__": module})
    dispatcher = type("dispatcher", (), {"py_func": function})
    event = type("event", (), {"data": {"dispatcher": dispatcher}})
    notice.on_start(event)
    notice.on_start(event)
    notice.on_end(event)
    assert len(caplog.records) == told


@pytest.mark.parametrize(
    ("matching", "loops"),
    [
        ("pairwise", [count_codes, write_log_odds, estimate_cells]),
        ("cascade", [match_rows]),
    ],
)
def test_a_loop_is_compiled_for_one_layout(matching, loops):
    table = [[1.0, 2.0], [2.0, None], [3.0, 1.0], [None, 2.0]]
    ProximityKernel(matching=matching).fit_transform(table)
    before = [len(loop.signatures) for loop in loops]
    fitted = [
        ProximityKernel(matching=matching).fit(part) for part in (table, table[::-1])
    ]
    fitted.append(ProximityKernel(matching=matching).fit_batches([table, table]))
    ProximityKernel(matching=matching).fit([[1.0], [2.0], [None]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_summary, "MOST_CODES", 0)
        fitted.append(ProximityKernel(matching=matching).fit(table))
    for pk in [*fitted, *(pickle.loads(pickle.dumps(pk)) for pk in fitted)]:
        pk.transform(table)
        pk.provenance(table)
    assert [len(loop.signatures) for loop in loops] == before
