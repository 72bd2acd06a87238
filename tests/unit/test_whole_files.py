"""Files are there whole or not at all, private ones stay private, leftovers go."""

import os
import signal
import stat
import subprocess
import sys
import textwrap

import pytest

from proximity_kernel import ProximityKernel
from proximity_kernel._shared.whole_files import name_beside, whole_file
from proximity_kernel.report import TableReport

TABLE = [[1.0, "a"], [2.0, "b"], [None, "b"], [1.5, "a"]]


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "private.txt"
    path.write_text("old")
    path.chmod(mode)
    with whole_file(path) as part:
        readable = mode | stat.S_IRUSR | stat.S_IWUSR
        assert mode_of(part) == readable  # from the first byte on
        part.write_text("new")
    assert path.read_text() == "new"
    assert mode_of(path) == mode


def test_models_and_reports_that_are_private_stay_private(tmp_path):
    model, page = tmp_path / "m.model", tmp_path / "page.html"
    for path in (model, page):
        path.touch(0o600)
    ProximityKernel().fit(TABLE).save(model)
    TableReport(TABLE).write_html(page)
    assert mode_of(model) == mode_of(page) == 0o600
    assert min(model.stat().st_size, page.stat().st_size) > 0


def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    (tmp_path / "plain").touch()
    with whole_file(tmp_path / "new") as part:
        part.touch()
    assert mode_of(tmp_path / "new") == mode_of(tmp_path / "plain")


def test_a_file_is_on_the_disk_before_it_is_moved(tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, type(tmp_path).replace
    monkeypatch.setattr(os, "fsync", lambda fd: done.append("sync") or sync(fd))
    monkeypatch.setattr(
        type(tmp_path),
        "replace",
        lambda part, target: done.append("move") or replace(part, target),
    )
    with whole_file(tmp_path / "a") as part:
        part.write_text("text")
    assert done == ["sync", "move"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeError), whole_file(path) as part:
        part.write_text("half \udc00", encoding="utf-8")
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from proximity_kernel._shared.whole_files import whole_file
    with whole_file(Path(sys.argv[1])) as part:
        part.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
    """
)


def test_what_a_killed_writer_left_is_removed_by_the_next_one(tmp_path):
    path = tmp_path / "[a]*.csv"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(names_in(tmp_path)) == 1
    other = tmp_path / ".mine.part"
    other.touch()
    with whole_file(path) as part:
        part.write_text("whole")
    assert names_in(tmp_path) == [".mine.part", "[a]*.csv"]


def test_a_writer_at_work_is_left_alone(tmp_path):
    path = tmp_path / "a.txt"
    with whole_file(path) as first:
        first.write_text("first")
        with whole_file(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
        assert first.read_text() == "first"
    assert path.read_text() == "first"


def test_a_file_removed_before_it_is_locked_is_created_again(tmp_path, monkeypatch):
    taken = []

    def name_and_lose(path):
        taken.append(name_beside(path))
        return taken[-1]

    def lock_late(file, *, wait=True):  # noqa: ARG001  (as the other)
        if len(taken) == 1:
            taken[0].unlink()
        return True

    home = "proximity_kernel._shared.whole_files"
    monkeypatch.setattr(f"{home}.name_beside", name_and_lose)
    monkeypatch.setattr(f"{home}._lock", lock_late)
    with whole_file(tmp_path / "a") as part:
        part.write_text("text")
    assert len(taken) == 2
    assert (tmp_path / "a").read_text() == "text"
