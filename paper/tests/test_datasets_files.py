"""The data home, and downloads from a server on this machine that misbehaves."""

import hashlib
import io
import socket
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pooch
import pytest

from proximity_kernel_paper.datasets import _download, list_datasets, load
from proximity_kernel_paper.datasets._catalogue import Column, RawFile, Table, find
from proximity_kernel_paper.datasets._files import find_home, read_files
from proximity_kernel_paper.datasets._load import read

RAW = b"1,a\n?,b\n"
OTHER = b"1,a\n2,b\n"


@dataclass
class Server:
    """Answers by path; the last of several answers is given again and again."""

    base: str
    answers: dict[str, list[tuple[int, bytes, int]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def put(self, path, *answers):
        """Set the answers: contents, or (status, content, length that is promised)."""
        full = [a if isinstance(a, tuple) else (200, a, len(a)) for a in answers]
        self.answers[f"/{path}"] = full
        return f"{self.base}/{path}"

    def answer(self, path):
        self.asked.append(path)
        left = self.answers.get(path, [(404, b"", 0)])
        return left.pop(0) if len(left) > 1 else left[0]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, content, length = server.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = Server(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield server
        http.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """The pauses that were asked for, and not made."""
    seconds = []
    monkeypatch.setattr(_download, "wait", seconds.append)
    return seconds


def zipped(**contents):
    """A ZIP of files, as the archive makes them: with some more beside."""
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Index", "about these files")
        for name, content in contents.items():
            archive.writestr(name, content)
    return blob.getvalue()


def made_up(address, *, wrapping=(), raw=RAW, names=("made.up",)):
    digest = hashlib.sha256(raw).hexdigest()
    return Table(
        name="made_up",
        title="Made up",
        page="https://example.org/made_up",
        licence="none",
        citation="none",
        files=tuple(RawFile(name, digest, len(raw)) for name in names),
        format="delimited",
        columns=(Column("x", "numeric"), Column("y", "nominal", role="target")),
        counts={"rows": 2, "missing_cells": 1, "classes": 2},
        address=address,
        wrapping=tuple(wrapping),
    )


def snapshot(folder):
    """Every path below a folder, with when it was written."""
    return {path: path.stat().st_mtime_ns for path in [folder, *folder.rglob("*")]}


def files_in(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


# ------------------------------------------------------------------- the data home


def test_home_as_given_then_environment_then_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PROXIMITY_KERNEL_DATA", str(tmp_path / "environment"))
    assert find_home(tmp_path / "given") == tmp_path / "given"
    assert find_home() == tmp_path / "environment"
    monkeypatch.delenv("PROXIMITY_KERNEL_DATA")
    assert find_home() == Path(pooch.os_cache("proximity-kernel"))


def test_files_at_hand_are_only_read(home):
    before = snapshot(home)
    for name in list_datasets():
        load(name, home)
    assert snapshot(home) == before


def test_read_only_home(tmp_path):
    table = made_up("http://127.0.0.1:9/nobody")
    folder = tmp_path / "made_up"
    folder.mkdir()
    (folder / "made.up").write_bytes(RAW)
    (folder / "made.up").chmod(0o444)
    folder.chmod(0o555)
    try:
        assert len(read(table, tmp_path).frame) == 2
    finally:
        folder.chmod(0o755)


def test_another_file_in_its_place_is_refused_and_left_alone(tmp_path, server):
    address = server.put("made.up", RAW)
    path = tmp_path / "made_up" / "made.up"
    path.parent.mkdir()
    path.write_bytes(OTHER)
    with pytest.raises(ValueError, match="Move it away") as caught:
        read(made_up(address), tmp_path)
    digests = [hashlib.sha256(content).hexdigest() for content in (RAW, OTHER)]
    for said in (str(path), *digests):
        assert said in str(caught.value)
    assert path.read_bytes() == OTHER
    assert server.asked == []


# ------------------------------------------------------------------------ downloads


def test_download_of_a_plain_file(server, tmp_path, waits):
    table = made_up(server.put("made.up", RAW))
    dataset = read(table, tmp_path / "new" / "home")
    assert dataset.frame["x"].isna().to_list() == [False, True]
    assert (tmp_path / "new/home/made_up/made.up").read_bytes() == RAW
    assert files_in(tmp_path) == ["made.up"]
    read(table, tmp_path / "new" / "home")
    assert server.asked == ["/made.up"]  # once: now it is at hand
    assert waits == []


@pytest.mark.parametrize("member", ["made.up", "some/folder/made.up"])
def test_download_of_a_zip(server, tmp_path, member):
    address = server.put("made+up.zip", zipped(**{member: RAW}))
    assert len(read(made_up(address, wrapping=["zip"]), tmp_path).frame) == 2
    assert files_in(tmp_path) == ["made.up"]


def test_only_what_is_absent_is_written(server, tmp_path):
    address = server.put("two.zip", zipped(one=RAW, two=RAW))
    table = made_up(address, wrapping=["zip"], names=("one", "two"))
    one = tmp_path / "made_up" / "one"
    one.parent.mkdir()
    one.write_bytes(RAW)
    before = one.stat().st_mtime_ns
    assert len(read(table, tmp_path).frame) == 4
    assert files_in(tmp_path) == ["one", "two"]
    assert one.stat().st_mtime_ns == before


BROKEN = {
    "truncated": (200, RAW[:4], len(RAW)),
    "empty": (200, b"", 0),
    "wrong digest": OTHER,
    "bad gateway": (502, b"try later", 9),
    "too many requests": (429, b"", 0),
}
BROKEN_ZIP = {
    "truncated": (200, zipped(**{"made.up": RAW})[:60], 500),
    "half a ZIP": zipped(**{"made.up": RAW})[:60],
    "a page that says sorry": b"<html>sorry</html>",
    "wrong digest": zipped(**{"made.up": OTHER}),
    "without the file": zipped(other=RAW),
    "the file twice": zipped(**{"a/made.up": RAW, "b/made.up": RAW}),
}
ALL_BROKEN = [
    *(pytest.param((), RAW, answer, id=name) for name, answer in BROKEN.items()),
    *(
        pytest.param(("zip",), zipped(**{"made.up": RAW}), answer, id=f"ZIP, {name}")
        for name, answer in BROKEN_ZIP.items()
    ),
]


@pytest.mark.parametrize(("wrapping", "good", "bad"), ALL_BROKEN)
def test_a_failure_leaves_nothing_and_says_what_to_do(
    server, tmp_path, waits, wrapping, good, bad
):
    table = made_up(server.put("it", bad), wrapping=wrapping)
    with pytest.raises(OSError, match="4 attempts to download") as caught:
        read(table, tmp_path)
    assert list(tmp_path.iterdir()) == []
    for said in (
        table.address,
        table.page,
        str(tmp_path / "made_up" / "made.up"),
        table.files[0].sha256,
    ):
        assert said in str(caught.value)
    assert len(server.asked) == 4
    assert len(waits) == 3
    assert waits == sorted(set(waits))  # each longer than the one before
    server.put("it", good)
    assert len(read(table, tmp_path).frame) == 2  # and the failure has no after-effect


@pytest.mark.parametrize(("wrapping", "good", "bad"), ALL_BROKEN)
def test_good_after_bad(server, tmp_path, waits, wrapping, good, bad):
    table = made_up(server.put("it", bad, bad, good), wrapping=wrapping)
    assert len(read(table, tmp_path).frame) == 2
    assert files_in(tmp_path) == ["made.up"]
    assert len(waits) == 2


def test_nobody_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as taken:  # a port where nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/made.up"
        with pytest.raises(OSError, match=r"put the raw file here: .*made\.up"):
            read(made_up(address), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_many_at_once(server, tmp_path):
    table = made_up(server.put("made.up", RAW))
    with ThreadPoolExecutor(8) as pool:
        read_by_all = list(pool.map(lambda _: read_files(table, tmp_path), range(24)))
    assert read_by_all == [[RAW]] * 24
    assert files_in(tmp_path) == ["made.up"]


def test_waiting_is_sleeping(monkeypatch):
    slept = []
    monkeypatch.undo()  # the fixture's wait
    monkeypatch.setattr(_download.time, "sleep", slept.append)
    _download.wait(1.5)
    assert slept == [1.5]


# ----------------------------------------------------------------------------- RAR


def test_rar_without_a_program_says_so_at_once(server, tmp_path, monkeypatch, waits):
    address = server.put("made+up.zip", zipped(**{"It.rar": RAW}))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OSError, match="RAR") as caught:
        read(made_up(address, wrapping=["zip", "rar"]), tmp_path / "home")
    assert str(tmp_path / "home" / "made_up" / "made.up") in str(caught.value)
    assert "bsdtar" in str(caught.value)
    assert waits == []
    assert not (tmp_path / "home").exists()


# ----------------------------------------------------------------- the real files


@pytest.mark.parametrize("name", [n for n in list_datasets() if n != "penguins"])
def test_every_table_as_the_publisher_wraps_it(
    home, server, tmp_path, monkeypatch, name
):
    table = find(name)
    raw = {file.name: (home / name / file.name).read_bytes() for file in table.files}
    served = next(iter(raw.values()))
    if "rar" in table.wrapping:
        # Stands for a RAR: what is taken out of it is the file itself.
        raw = {"Wrapped.rar": served}
        monkeypatch.setattr(
            _download,
            "OPENERS",
            _download.OPENERS | {"rar": lambda blob, _: blob},
        )
    if table.wrapping:
        served = zipped(**raw)
    local = replace(table, address=server.put("table", served))
    fetched, expected = read(local, tmp_path), load(name, home)
    assert fetched.frame.equals(expected.frame)  # dtypes and all
    assert fetched.target.equals(expected.target)
    assert files_in(tmp_path) == sorted(file.name for file in table.files)
