"""Downloads that cannot succeed: damaged, endless, refused, or with no place to go."""

import os
import shutil
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pooch
import pytest
import test_datasets_files as files

from proximity_kernel_paper.datasets import _download, describe
from proximity_kernel_paper.datasets._catalogue import find
from proximity_kernel_paper.datasets._load import read

server, waits = files.server, files.waits
RAW = files.RAW


def says_what_to_do(error, table, folder):
    place = f"put the raw file here: {folder / 'made_up' / 'made.up'}"
    said = str(error.value)
    return place in said and table.page in said and table.files[0].sha256 in said


# ---------------------------------------------------------------------------- ZIP


def flipped(blob, at, to=None):
    changed = blob[at] ^ 0xFF if to is None else to
    return blob[:at] + bytes([changed]) + blob[at + 1 :]


def damaged():
    """A ZIP, with a byte changed in the data, the flags or the method."""
    whole = files.zipped(**{"made.up": RAW})
    data = whole.index(b"made.up") + len("made.up")
    entry = whole.rindex(b"PK\x01\x02")  # of made.up, in the list at the end
    local = whole.rindex(b"PK\x03\x04")
    return {
        "data": flipped(whole, data),
        "encrypted": flipped(flipped(whole, entry + 8, 1), local + 6, 1),
        "no such method": flipped(whole, entry + 10, 99),
        "LZMA": flipped(whole, entry + 10, 14),
        "BZIP2": flipped(whole, entry + 10, 12),
        "shorter": flipped(whole, entry + 20, 2),
    }


@pytest.mark.parametrize("how", damaged())
def test_a_damaged_zip_is_fetched_again(server, tmp_path, waits, how):
    bad = damaged()[how]
    table = files.made_up(server.put("it", bad), wrapping=["zip"])
    with pytest.raises(OSError, match="4 attempts to download") as caught:
        read(table, tmp_path)
    assert says_what_to_do(caught, table, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(waits) == 3
    server.put("it", bad, files.zipped(**{"made.up": RAW}))
    assert len(read(table, tmp_path).frame) == 2


def test_a_zip_damaged_anywhere_is_right_or_a_value_error():
    whole = files.zipped(**{"made.up": RAW * 20})
    for at in range(len(whole)):
        for to in (0, 1, 8, 14, 255, None):
            with suppress(ValueError):
                found = _download.unwrap(flipped(whole, at, to), ["zip"], "made.up")
                assert found == RAW * 20


# ------------------------------------------------------------------------- waiting


@pytest.fixture
def slow(monkeypatch):
    """A server that says its answer byte by byte, without end."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    over = threading.Event()
    threads, opening, left = [], [b""], []

    def serve(connection):
        with connection:
            try:
                connection.recv(4096)
                connection.sendall(opening[0])
                while not over.wait(0.01):
                    connection.sendall(b"x")
            except OSError:
                left.append(connection)

    def accept():
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            threads.append(threading.Thread(target=serve, args=(connection,)))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.05)
        threads.append(threading.Thread(target=accept))
        threads[0].start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/it", opening, left
        over.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize(
    "opening",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nX-Long: ", id="head"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", id="body"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n", id="body of unknown length"),
    ],
)
def test_a_server_that_trickles_meets_the_deadline(
    slow, tmp_path, monkeypatch, waits, opening
):
    address, said, _ = slow
    said[0] = opening
    monkeypatch.setattr(_download, "DEADLINE", 0.2)
    table = files.made_up(address)
    start = time.monotonic()
    with pytest.raises(OSError, match=r"4 attempts .* more than 0\.2 sec") as caught:
        read(table, tmp_path)
    assert time.monotonic() - start < 20
    assert says_what_to_do(caught, table, tmp_path)
    assert len(waits) == 3
    assert list(tmp_path.iterdir()) == []


def test_the_connection_is_given_up_at_the_deadline(slow, tmp_path, monkeypatch):
    response = pytest.importorskip("urllib3").HTTPResponse
    if not hasattr(response, "shutdown"):
        pytest.skip("this urllib3 cannot")
    address, said, left = slow
    said[0] = b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n"
    monkeypatch.setattr(_download, "DEADLINE", 0.3)
    monkeypatch.setattr(_download, "PAUSES", ())
    with pytest.raises(OSError, match="1 attempts"):
        read(files.made_up(address), tmp_path)
    until = time.monotonic() + 20
    while not left and time.monotonic() < until:
        time.sleep(0.01)
    assert left


def test_timeouts_to_connect_and_to_read(server, tmp_path, monkeypatch):
    asked = []
    real = pooch.HTTPDownloader
    monkeypatch.setattr(
        pooch, "HTTPDownloader", lambda **given: asked.append(given) or real(**given)
    )
    read(files.made_up(server.put("made.up", RAW)), tmp_path)
    assert [given["timeout"] for given in asked] == [(10, 60)]


# ------------------------------------------------------------------------- refused


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_a_refusal_is_final(server, tmp_path, waits, status):
    table = files.made_up(server.put("it", (status, b"", 0), RAW))
    with pytest.raises(OSError, match=f"cannot be downloaded: {status} ") as caught:
        read(table, tmp_path)
    assert says_what_to_do(caught, table, tmp_path)
    assert (server.asked, waits) == (["/it"], [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_later_is_no_refusal(server, tmp_path, waits, status):
    table = files.made_up(server.put("it", (status, b"", 0), RAW))
    assert len(read(table, tmp_path).frame) == 2
    assert len(waits) == 1


# ----------------------------------------------------------------------------- RAR

ARGUMENTS = ("-xf", "archive.rar")
OPEN = 'test "$*" = "-xf archive.rar" && mkdir It && cp archive.rar It/made.up'
unix_only = pytest.mark.skipif(os.name != "posix", reason="the program is a script")


@pytest.fixture
def rar(server, tmp_path, monkeypatch):
    """Read a table in a RAR with programs of our own, given by their scripts."""

    def read_with(**scripts):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name, script in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{script}\n")
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setattr(_download, "UNPACKERS", dict.fromkeys(scripts, ARGUMENTS))
        address = server.put("it", files.zipped(**{"It.rar": RAW}))
        table = files.made_up(address, wrapping=["zip", "rar"])
        return table, lambda: read(table, tmp_path / "home")

    return read_with


@unix_only
@pytest.mark.parametrize(
    "first",
    [
        "exit 1",
        "echo half > made.up; mkdir a; cp made.up a; exit 2",
        "exit 0",
        "sleep 20",
        "exec sleep 20",
    ],
)
def test_rar_by_the_next_program(rar, server, monkeypatch, waits, first):
    monkeypatch.setattr(_download, "UNPACKING", 0.5)
    _, go = rar(bsdtar=first, unrar=OPEN)
    assert len(go().frame) == 2
    assert (server.asked, waits) == (["/it"], [])


@unix_only
def test_rar_that_no_program_opens(rar, server, tmp_path, monkeypatch, waits):
    monkeypatch.setattr(_download, "UNPACKING", 0.5)
    table, go = rar(bsdtar="echo damaged >&2; exit 1", unrar="sleep 20")
    with pytest.raises(OSError, match=r"bsdtar .*damaged.* unrar .*timed") as caught:
        go()
    assert says_what_to_do(caught, table, tmp_path / "home")
    assert (server.asked, waits) == (["/it"], [])
    assert not (tmp_path / "home").exists()


@unix_only
def test_rar_program_that_asks_gets_no_answer(rar):
    _, go = rar(bsdtar=f"read answer && exit 1; {OPEN}")
    assert len(go().frame) == 2


# ------------------------------------------------------------------- the data home


def test_describe_notes_a_wrong_file_and_counts_the_others(home, tmp_path):
    for name in ("cancer", "voting"):
        shutil.copytree(home / name, tmp_path / name)
    path = tmp_path / "cancer" / find("cancer").files[0].name
    path.chmod(0o644)
    path.write_bytes(b"another")
    table = describe(tmp_path)
    assert str(path) in table.loc["cancer", "note"]
    assert "Move it away" in table.loc["cancer", "note"]
    assert table.loc["cancer", list(_counts())].isna().all()
    assert table.loc["cancer", "paper_rows"] == 699
    assert table.loc["voting", "rows"] == 435
    assert table.loc["horse", "note"].startswith("Absent: ")


def _counts():
    return ("rows", "features", "missing_cells", "missing_percent", "classes")


@pytest.mark.parametrize("step", ["mkdir", "write_bytes", "replace"])
def test_a_home_that_cannot_be_written_to(server, tmp_path, monkeypatch, step):
    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    table = files.made_up(server.put("made.up", RAW))
    with monkeypatch.context() as patch:
        patch.setattr(Path, step, refuse)
        with pytest.raises(OSError, match="could not be written") as caught:
            read(table, tmp_path)
    assert says_what_to_do(caught, table, tmp_path)
    assert "PROXIMITY_KERNEL_DATA" in str(caught.value)
    assert isinstance(caught.value.__cause__, PermissionError)
    assert files.files_in(tmp_path) == []
