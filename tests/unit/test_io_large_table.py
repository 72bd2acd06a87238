"""Tables in batches: the same cells as the whole table, and what was assumed."""

import pandas as pd
import pytest
from command_line import make_table

from proximity_kernel.io import (
    InputError,
    open_large_table,
    read_table,
    typed_files,
)
from proximity_kernel.io.read import open_large


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(typed_files, "BATCH_ROWS", 128)
    path = tmp_path / "t.parquet"
    values = make_table(500)[0]
    values.insert(0, "code", [f"k{i}" for i in range(500)])
    values.to_parquet(path, row_group_size=100)
    return str(path)


def test_batches_hold_the_rows_of_the_whole_table(path):
    whole, table = read_table(path), open_large_table(path)
    assert table.schema == whole.schema
    starts, batches = zip(*table.read(), strict=True)
    assert starts == (0, 128, 256, 384)
    frames = [batch.frame.astype({"sex": object, "ward": object}) for batch in batches]
    pd.testing.assert_frame_equal(
        pd.concat(frames, ignore_index=True),
        whole.frame.astype({"sex": object, "ward": object}),
    )
    ids = pd.concat([batch.ids for batch in batches], ignore_index=True)
    pd.testing.assert_frame_equal(ids, whole.ids)
    assert table.assumptions[0] == whole.assumptions[0]
    assert "batches of 128 rows" in table.assumptions[1]


def test_an_earlier_schema_is_kept(path):
    schema = read_table(path, drop="age").schema
    table = open_large_table(path, schema=schema)
    assert all("age" not in batch.frame for _, batch in table.read())


def test_other_files_have_no_batches(path, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert open_large(path).n_rows == 500
    assert open_large(str(tmp_path / "t.csv")) is None
    with pytest.raises(InputError, match="not a Parquet or Arrow file"):
        open_large_table(str(tmp_path / "t.csv"))
    with pytest.raises(InputError, match="`sep`"):
        open_large_table(path, sep=";")


def test_an_index_of_pandas_comes_first_in_batches_too(tmp_path):
    frame = pd.DataFrame({"x": range(40), "y": list("ab") * 20})
    frame.index = pd.Index([f"k{i}" for i in range(40)], name="key")
    frame.to_parquet(tmp_path / "t.parquet")
    table = open_large_table(str(tmp_path / "t.parquet"))
    assert table.schema == read_table(tmp_path / "t.parquet").schema
    assert table.schema.names("id") == ["key"]
