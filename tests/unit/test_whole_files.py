"""Files are there whole or not at all, private ones stay private, leftovers go."""

import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from proximity_kernel import ModelFileError, ProximityKernel, TableReport
from proximity_kernel._shared.whole_files import name_beside, whole_file

TABLE = [[1.0, "a"], [2.0, "b"], [None, "b"], [1.5, "a"]]


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o220, 0o755])
def test_a_replaced_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "private.txt"
    path.write_text("old")
    path.chmod(mode)
    with whole_file(path) as file:
        readable = mode | stat.S_IRUSR | stat.S_IWUSR
        assert mode_of(Path(file.name)) == readable  # from the first byte on
        file.write(b"new")
    assert mode_of(path) == mode
    path.chmod(0o600)
    assert path.read_text() == "new"


@pytest.mark.parametrize("mode", [0o444, 0o400, 0o555])
def test_a_read_only_file_is_not_replaced(tmp_path, mode):
    path = tmp_path / "kept.html"
    path.write_text("old")
    path.chmod(mode)
    with pytest.raises(PermissionError, match="read-only"):
        TableReport(TABLE).write_html(path)
    with pytest.raises(ModelFileError, match="cannot be written: It is read-only"):
        ProximityKernel().fit(TABLE).save(path)
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["kept.html"]


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
    with whole_file(tmp_path / "new"):
        pass
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
    with whole_file(tmp_path / "a") as file:
        file.write(b"text")
    assert done == ["sync", "move"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(UnicodeError), whole_file(path) as file:
        file.writelines(one.encode() for one in ("half ", "\udc00"))
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["a.txt"]


KILLED = textwrap.dedent(
    """
    import os, signal, sys
    from pathlib import Path
    from proximity_kernel._shared.whole_files import whole_file
    with whole_file(Path(sys.argv[1])) as file:
        file.write(b"half")
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
    with whole_file(path) as file:
        file.write(b"whole")
    assert names_in(tmp_path) == [".mine.part", "[a]*.csv"]


def test_a_writer_at_work_is_left_alone(tmp_path):
    path = tmp_path / "a.txt"
    with whole_file(path) as first:
        first.write(b"first")
        with whole_file(path) as second:
            second.write(b"second")
        assert path.read_text() == "second"
        assert Path(first.name).exists()
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
    with whole_file(tmp_path / "a") as file:
        file.write(b"text")
    assert len(taken) == 2
    assert (tmp_path / "a").read_text() == "text"


# ------------------------------------------------------------------ devices and pipes


@pytest.fixture
def null(tmp_path):
    """A device of our own that loses what is written to it."""
    path = tmp_path / "null"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.write_bytes(b"")
    except (OSError, AttributeError):
        pytest.skip("devices cannot be made here")
    return path


@pytest.fixture
def pipe(tmp_path):
    """A named pipe, and a function that returns what was written to it."""
    path, held = tmp_path / "pipe", []
    try:
        os.mkfifo(path)
    except (OSError, AttributeError):
        pytest.skip("pipes have no names here")
    reader = threading.Thread(target=lambda: held.append(path.read_bytes()))
    reader.daemon = True
    reader.start()

    def read():
        reader.join(30)
        assert stat.S_ISFIFO(path.stat().st_mode)
        return held[0]

    return path, read


def save_kernel(path):
    ProximityKernel().fit(TABLE).save(path)


def write_page(path):
    TableReport(TABLE).write_html(path)


@pytest.mark.parametrize("write", [save_kernel, write_page])
def test_a_device_is_written_to_and_stays(null, write):
    write(null)
    assert stat.S_ISCHR(null.stat().st_mode)
    assert names_in(null.parent) == ["null"]


@pytest.mark.parametrize("write", [save_kernel, write_page])
def test_a_pipe_gets_what_a_file_would_get(pipe, tmp_path, write):
    path, read = pipe
    write(path)
    write(tmp_path / "file")
    assert read() == (tmp_path / "file").read_bytes()


def test_a_model_travels_through_a_pipe(pipe, tmp_path):
    path, read = pipe
    save_kernel(path)
    (tmp_path / "copy").write_bytes(read())
    assert ProximityKernel.load(tmp_path / "copy").n_features_in_ == 2


def test_a_disk_or_a_socket_is_left_alone(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(str(path))
        except OSError:
            pytest.skip("sockets have no names here")
        with pytest.raises(OSError, match="a disk or a socket"):
            write_page(path)
        with pytest.raises(ModelFileError, match="a disk or a socket"):
            save_kernel(path)
    assert stat.S_ISSOCK(path.stat().st_mode)


def test_a_pipe_with_the_name_of_a_leftover_does_not_hold_writers_up(tmp_path):
    try:
        os.mkfifo(tmp_path / f".a.txt.{'0' * 32}.part")
    except (OSError, AttributeError):
        pytest.skip("pipes have no names here")
    signal.alarm(20)  # ends the tests if it waits
    with whole_file(tmp_path / "a.txt") as file:
        file.write(b"text")
    signal.alarm(0)
    assert len(names_in(tmp_path)) == 2


STDOUT = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from proximity_kernel._shared.whole_files import whole_file
    print("before", flush=True)
    with whole_file(Path(sys.argv[1])) as file:
        file.write(b"held\\n")
    print("after")
    """
)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only where it exists")
@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_standard_output_by_its_name_is_continued(tmp_path, kind):
    log, link = tmp_path / "log", tmp_path / "stdout"
    log.write_text("old\n")
    link.symlink_to("/proc/self/fd/1")  # ours, not the one of the machine
    with log.open("a") as file:
        target = subprocess.PIPE if kind == "pipe" else file
        command = [sys.executable, "-c", STDOUT, link]
        done = subprocess.run(command, stdout=target, check=True)
    held = done.stdout or log.read_bytes().removeprefix(b"old\n")
    assert held == b"before\nheld\nafter\n"
    assert link.is_symlink()


def test_a_long_name_of_several_bytes_a_letter_can_be_written(tmp_path):
    path = tmp_path / ("日" * 75 + ".csv")
    with whole_file(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"
    assert list(tmp_path.iterdir()) == [path]
