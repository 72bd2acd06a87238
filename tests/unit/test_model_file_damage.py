"""Model files that are damaged, foreign, newer or crafted: refused, and no crash."""

import io
import json
import os
import pickle
import tracemalloc
import zipfile

import numpy as np
import pytest
from strategies import mixed_table

from proximity_kernel import (
    ModelFileError,
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
)
from proximity_kernel import _saving as archive_module
from proximity_kernel.model_file import load_model

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(scope="module")
def table():
    return mixed_table(60, 5, 0.25, 0)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small file, as bytes."""
    rows = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
    path = tmp_path_factory.mktemp("small") / "m"
    ProximityNeighbors(2).fit(rows).save(path)
    return path.read_bytes()


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=r"\S") as caught:
        load_model(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_no_byte_can_change_unseen(small, tmp_path):
    path = tmp_path / "m"
    for at in range(0, len(small), 7):
        changed = bytearray(small)
        changed[at] ^= 1 << (at % 8)
        refused(path, bytes(changed))


def test_cut_files_are_refused(small, tmp_path):
    for size in [*range(0, len(small), 101), len(small) - 1]:
        refused(tmp_path / "m", small[:size])
    assert "damaged" in refused(tmp_path / "m", small[:-1])
    assert "empty" in refused(tmp_path / "m", b"")
    refused(tmp_path / "m", small + b"\0")


def test_foreign_files_are_refused(tmp_path):
    path = tmp_path / "m"
    assert "no model file" in refused(path, b"\x89PNG\r\n\x1a\n" + bytes(100))
    assert "no model file" in refused(path, pickle.dumps(ProximityKernel()))
    file = io.BytesIO()
    np.savez(file, a=np.zeros(3))
    assert "npz" in refused(path, file.getvalue())
    with pytest.raises(ModelFileError, match="does not exist"):
        load_model(tmp_path / "none")
    with pytest.raises(ModelFileError, match="folder"):
        load_model(tmp_path)
    with pytest.raises(TypeError):
        load_model(3)
    assert issubclass(ModelFileError, ValueError)


def test_pickles_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    entry = io.BytesIO()
    np.save(entry, np.array([Trap()], object), allow_pickle=True)
    digest = {"dtype": "|O", "shape": [1], "sha256": "0"}
    _forge(tmp_path / "m", {"arrays": {"rows": digest}}, {"rows": entry.getvalue()})
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "m")
    assert not (tmp_path / "sprung").exists()


def _forge(path, header, entries=()):
    """Write a file with a right seal, whatever is in it."""
    header = {
        "format": archive_module.FORMAT,
        "format_version": archive_module.FORMAT_VERSION,
        **header,
    }
    with path.open("w+b") as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = archive_module._SEAL + b"0" * 64
            archive.writestr(archive_module._HEADER, json.dumps(header))
            for name, content in dict(entries).items():
                archive.writestr(f"{name}.npy", content)
        archive_module._seal(file)


def test_older_newer_and_odd_headers_are_refused(tmp_path):
    path = tmp_path / "m"
    for version in range(1, archive_module.FORMAT_VERSION):
        _forge(path, {"format_version": version})
        with pytest.raises(ModelFileError, match=rf"format {version}, older .* again"):
            load_model(path)
    _forge(path, {"format_version": 99, "library_version": "9.9"})
    with pytest.raises(ModelFileError, match=r"format 99, newer .* 9\.9"):
        load_model(path)
    for header in (
        {"format_version": "1"}, {"format": "x"}, {}, {"arrays": []}, {"arrays": {}},
        {"arrays": {}, "class": "ProximityKernel", "notes": {}},
        {"arrays": {"a": {}}}, {"arrays": {}, "class": 3, "notes": []},
    ):  # fmt: skip
        _forge(path, header)
        with pytest.raises(ModelFileError):
            load_model(path)
    _forge(path, {"arrays": {}, "class": "Thing", "notes": {}})
    with pytest.raises(ModelFileError, match="holds a Thing"):
        load_model(path)
    with path.open("w+b") as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = archive_module._SEAL + b"0" * 64
            archive.writestr(archive_module._HEADER, "[" * 200_000)
        archive_module._seal(file)
    with pytest.raises(ModelFileError):
        load_model(path)


@pytest.mark.parametrize("entry", ["header", "array"])
def test_a_compressed_entry_is_refused_before_it_is_inflated(tmp_path, entry):
    """A megabyte could become gigabytes."""
    name = archive_module._HEADER if entry == "header" else "rows.npy"
    with (tmp_path / "m").open("w+b") as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = archive_module._SEAL + b"0" * 64
            if entry == "array":
                archive.writestr(archive_module._HEADER, "{}")
            archive.writestr(name, b" " * 200_000_000, zipfile.ZIP_DEFLATED)
        archive_module._seal(file)
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="compressed"):
        load_model(tmp_path / "m")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_entries_larger_than_the_file_are_refused(tmp_path):
    """Many entries could share the same bytes."""
    _forge(tmp_path / "m", {"arrays": {}}, {"rows": bytes(1000)})
    content = (tmp_path / "m").read_bytes()
    size, huge = (1000).to_bytes(4, "little"), (10**9).to_bytes(4, "little")
    assert content.count(size) >= 2
    (tmp_path / "m").write_bytes(content.replace(size, huge))
    with (tmp_path / "m").open("r+b") as file:
        archive_module._seal(file)
    with pytest.raises(ModelFileError, match="larger than the file"):
        load_model(tmp_path / "m")


def test_another_class_is_named(tmp_path, table):
    ProximityKernel().fit(table).save(tmp_path / "m")
    with pytest.raises(
        ModelFileError, match="holds a ProximityKernel, not a ProximityKMeans"
    ):
        ProximityKMeans.load(tmp_path / "m")
