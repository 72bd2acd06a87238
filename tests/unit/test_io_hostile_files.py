"""Files that were damaged or made to harm: a clean message, and no crash."""

import gzip
import io
import random

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from proximity_kernel.io import InputError, excel, files, open_large_table, read_table


def make_table(n_rows=60):
    group = np.arange(n_rows) % 3
    return pa.table(
        {
            "code": [f"p{i}" for i in range(n_rows)],
            "x": [None if i % 5 == 0 else i / 7 for i in range(n_rows)],
            "kind": pa.array([["a", "bc", ""][g] for g in group]).dictionary_encode(),
            "list": pa.array([[int(g)] * int(g) for g in group]),
            "flag": pa.array([bool(g) for g in group]),
            "day": pa.array(group.astype("int32")).cast(pa.date32()),
        }
    )


def write(kind):
    """The bytes of a file of a type."""
    table, data = make_table(), io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, data, compression="none")
    elif kind == "xlsx":
        table.drop_columns(["list"]).to_pandas().to_excel(data, index=False)
    elif kind == "gzip":
        text = table.drop_columns(["list"]).to_pandas().to_csv(index=False)
        data.write(gzip.compress(text.encode()))
    else:
        opener = ipc.new_stream if kind == "stream" else ipc.new_file
        options = ipc.IpcWriteOptions(compression="lz4" if kind == "packed" else None)
        with opener(data, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=25)
    return data.getvalue()


def damage(data, seed):
    """Change a few bytes, mostly near the ends, where the files say what they hold."""
    rng = random.Random(seed)
    data = bytearray(data)
    for _ in range(rng.choice([1, 2, 8])):
        near = rng.randrange(min(1500, len(data)))
        at = rng.choice([near, -1 - near, rng.randrange(len(data))])
        data[at] = rng.randrange(256)
    return bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)


@pytest.mark.parametrize(
    "kind", ["arrow", "packed", "stream", "parquet", "xlsx", "gzip"]
)
def test_damaged_files_are_read_or_refused(kind):
    data, said = write(kind), []
    for seed in range(15 if kind == "xlsx" else 150):
        try:
            read_table(io.BytesIO(damage(data, seed)))
        except InputError as error:
            said.append(str(error))
    assert said
    assert all(line.startswith("buffer: ") for line in said)


def test_damaged_batches_are_read_or_refused(tmp_path):
    data, path, said = write("arrow"), tmp_path / "t.arrow", []
    for seed in range(60):
        path.write_bytes(damage(data, seed))
        try:
            list(open_large_table(str(path)).read())
        except InputError as error:
            said.append(str(error))
    assert said
    assert all(str(path) in line for line in said)


@pytest.mark.parametrize("kind", ["gzip", "xlsx"])
def test_content_that_is_too_large_is_refused(monkeypatch, kind):
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    data = io.BytesIO()
    if kind == "gzip":
        data.write(gzip.compress(b"a,b\n" + b"1,2\n" * 2**19))
    else:
        frame = pd.DataFrame(np.zeros((2000, 20), int))
        frame.to_excel(data, index=False)
    assert len(data.getvalue()) < 2**20
    data.seek(0)
    with pytest.raises(InputError, match=r"content is larger than 0.000976562 GiB"):
        read_table(data)


def test_a_sheet_of_empty_cells_is_refused_or_read_quickly(tmp_path, monkeypatch):
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, 2])
    book.active.append([2, 4])
    book.active.cell(1_048_576, 16_384).value = None
    book.save(tmp_path / "far.xlsx")
    assert read_table(tmp_path / "far.xlsx").frame.shape == (2, 2)
    monkeypatch.setattr(excel, "_MAX_CELLS", 50_000)
    for i in range(2, 12):
        book.active.cell(i, 16_384).value = i
    book.save(tmp_path / "wide.xlsx")
    with pytest.raises(InputError, match="more than 50,000 cells"):
        read_table(tmp_path / "wide.xlsx")
