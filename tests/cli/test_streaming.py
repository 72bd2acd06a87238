"""Files in batches: the same results as in memory, and nothing held or left behind.

Batches are made small, so that small files have many, and every pass, cut and merge is
met. The truth is the same command with the file read whole (`--no-stream`).
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from command_line import run_inside

from proximity_kernel import ProximityKernel, ProximityKMeans
from proximity_kernel import _row_summary as row_summary
from proximity_kernel.cli import fitting
from proximity_kernel.io import read, typed_files
from proximity_kernel.model_file import load_model

N_ROWS = 900


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(typed_files, "BATCH_ROWS", 128)
    monkeypatch.setattr(read, "SAMPLE_ROWS", 400)


def make_frame(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    frame = pd.DataFrame(
        {
            "patient_id": [f"P{i:05d}" for i in range(n_rows)],
            "age": np.round(40 + 15 * group + rng.normal(0, 4, n_rows)),
            "weight": 60 + 10 * group + rng.normal(0, 8, n_rows),
            "ward": np.array(["north", "south", "east"])[group],
            "score": [f"{x:.1f}" for x in rng.normal(group, 0.5)],
            "visit": pd.Timestamp("2020-01-01") + pd.to_timedelta(group * 90, "D"),
            "smoker": rng.random(n_rows) < 0.3 + 0.2 * group,
        }
    )
    frame = frame.astype({"smoker": "boolean"})
    for name in frame.columns[1:]:
        frame.loc[rng.random(n_rows) < 0.15, name] = None
    frame.loc[rng.random(n_rows) < 0.1, "ward"] = "?"
    return frame


def write(path, frame, rows=100):
    """A file in groups of so many rows."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if path.suffix == ".arrow":
        with ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    else:
        pq.write_table(table, path, row_group_size=rows)
    return path


def both(place, command, path, *options, ending="parquet"):
    """What a command writes of a file, whole and in batches."""
    results = []
    for how in ("--no-stream", "--stream"):
        output = place / f"out{how}.{ending}"
        assert run_inside(command, path, how, "-o", output, *options) == 0
        results.append(output)
    return results


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("rows", [7, 100, N_ROWS])
def test_vectors_are_those_of_the_whole_file(tmp_path, ending, rows):
    path = write(tmp_path / f"t.{ending}", make_frame(), rows)
    whole, batched = both(tmp_path, "represent", path)
    assert pq.read_table(whole).equals(pq.read_table(batched))
    assert pq.read_table(batched).num_rows == N_ROWS


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_text_is_the_same_to_the_byte(tmp_path, ending):
    path = write(tmp_path / "t.parquet", make_frame(300))
    whole, batched = both(tmp_path, "represent", path, ending=ending)
    assert whole.read_bytes() == batched.read_bytes()


def test_arrow_files_hold_the_same(tmp_path):
    path = write(tmp_path / "t.parquet", make_frame(300))
    whole, batched = both(tmp_path, "represent", path, ending="arrow")
    tables = [ipc.open_file(one).read_all() for one in (whole, batched)]
    assert tables[0].equals(tables[1])


def test_clusters_are_those_of_the_whole_file(tmp_path):
    path = write(tmp_path / "t.parquet", make_frame().drop(columns="patient_id"))
    profiles = tmp_path / "p.csv"
    whole, batched = both(tmp_path, "cluster", path, "-k", "3", "--profiles", profiles)
    assert pq.read_table(whole).equals(pq.read_table(batched))
    sizes = pd.read_parquet(batched)["cluster"].value_counts()
    told = pd.read_csv(profiles).groupby("cluster")["size"].first()
    assert told.to_dict() == sizes.to_dict()


def test_clusters_of_more_rows_than_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(row_summary, "SAMPLE", 60)  # distinct rows, to start from
    frame = make_frame()
    path = write(tmp_path / "t.parquet", frame)
    out = tmp_path / "c.parquet"
    options = ("-k", "3", "--save-model", tmp_path / "m.pk")
    assert run_inside("cluster", path, "--stream", "-o", out, *options) == 0
    found = pd.read_parquet(out)
    assert found["patient_id"].tolist() == frame["patient_id"].tolist()
    whole = ProximityKMeans(3, random_state=0).fit(frame.drop(columns="patient_id"))
    together = pd.crosstab(found["cluster"], whole.labels_).to_numpy()
    assert together.max(axis=1).sum() > 0.95 * N_ROWS
    model = load_model(tmp_path / "m.pk")
    assert not hasattr(model, "labels_")
    assert sum({p["cluster"]: p["size"] for p in model.profiles_}.values()) == N_ROWS


def test_a_column_that_begins_late(tmp_path):
    frame = make_frame()
    frame["late"] = np.where(np.arange(N_ROWS) < 500, np.nan, np.arange(N_ROWS) % 7)
    frame["later"] = np.where(np.arange(N_ROWS) < 700, None, frame["ward"])
    frame["marked"] = np.where(np.arange(N_ROWS) < 500, "NA", frame["score"])
    frame["never"] = pd.array([None] * N_ROWS, dtype="Float64")
    frame["unknown"] = "?"
    path = write(tmp_path / "t.parquet", frame)
    whole, batched = both(tmp_path, "represent", path)
    table = pq.read_table(batched)
    assert table.equals(pq.read_table(whole))
    starts = {name.partition(" ")[0] for name in table.column_names}
    assert {"late", "later", "marked"} <= starts
    assert not {"never", "unknown"} & starts


def test_categories_that_come_late_and_groups_without_rows(tmp_path):
    frame = make_frame()
    frame.loc[frame.index[-20:], "ward"] = "west"
    table = pa.Table.from_pandas(frame, preserve_index=False)
    path = tmp_path / "t.parquet"
    with pq.ParquetWriter(path, table.schema) as writer:
        for part in (table[:0], table[:450], table[:0], table[450:], table[:0]):
            writer.write_table(part)
    assert pq.ParquetFile(path).metadata.num_row_groups == 5
    whole, batched = both(tmp_path, "represent", path)
    assert pq.read_table(whole).equals(pq.read_table(batched))
    assert "ward west" in pq.read_table(batched).column_names


def test_ids_with_gaps_and_an_index(tmp_path):
    frame = make_frame(300).rename(columns={"patient_id": "name"})
    frame["number"] = pd.array([None, *range(299)], dtype="Int64")[::-1]
    path = tmp_path / "t.parquet"
    frame.set_index("name").to_parquet(path, row_group_size=70)
    whole, batched = both(tmp_path, "represent", path, "--id", "name,number")
    assert pq.read_table(whole).equals(pq.read_table(batched))
    assert pq.read_table(batched).schema.field("number").type == pa.int64()


def test_decimals_and_names_that_stand_twice(tmp_path, capfd):
    cells = pa.array([i % 4 for i in range(300)])
    wards = pa.array(make_frame(300)["ward"])
    columns = [cells, cells.cast(pa.decimal128(22, 2)), wards]
    table = pa.table(columns, names=["a", "a", "b"])
    path = tmp_path / "t.arrow"
    with ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=70)
    whole, batched = both(tmp_path, "represent", path)
    assert pq.read_table(whole).equals(pq.read_table(batched))
    assert "a_2 0" in pq.read_table(batched).column_names
    said = capfd.readouterr().err
    assert said.count("several columns are called 'a'") == 2  # once in each way


def test_a_model_reads_new_rows_in_batches(tmp_path):
    old, new = (make_frame(400, seed) for seed in (1, 2))
    model = tmp_path / "m.pk"
    first = write(tmp_path / "old.parquet", old)
    run_inside("represent", first, "--stream", "--save-model", model, "-o",
               tmp_path / "z.parquet")  # fmt: skip
    assert isinstance(load_model(model), ProximityKernel)
    path = write(tmp_path / "new.parquet", new.drop(columns="patient_id").assign(x=1))
    whole, batched = both(tmp_path, "represent", path, "--model", model)
    assert pq.read_table(whole).equals(pq.read_table(batched))
    assert pq.read_table(batched).column_names[0] == "row"


def test_what_is_printed(tmp_path, capfd):
    frame = make_frame()
    frame.loc[800, "score"] = "lost"
    frame.loc[5, frame.columns[1:]] = None
    path = write(tmp_path / "t.parquet", frame)
    assert run_inside("represent", path, "--stream", "--out", tmp_path / "z.csv") == 0
    said = capfd.readouterr().err
    assert f"t.parquet: {N_ROWS} rows, 7 columns" in said
    assert "in batches of 128 rows; columns inferred from the first 400" in said
    assert "taken as id, not compared: 'patient_id'" in said
    assert "rows 769 to 896: 1 cell read as missing, not a number: 'lost'" in said
    assert said.count("no observed cell") == 1
    assert "1 row has no observed cell" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("t.parquet", "-o", "z.npz"), "npz cannot be written in batches"),
        (("t.csv", "-o", "z.parquet"), "t.csv is not a Parquet or Arrow file"),
        (("none.parquet", "-o", "z.csv"), "there is no such file"),
        (("t.parquet", "--sep", ";"), "--sep"),
        (("empty.parquet",), "but no rows"),
        (("damaged.parquet",), "damaged"),
        (("cut.parquet", "-o", "z.parquet"), "damaged"),
        (("t.parquet", "--id", "no", "-o", "z.csv"), "no such column"),
        (("t.parquet", "-o", "t.parquet"), "this is an input file"),
    ],
)
def test_bad_input_is_told_and_leaves_nothing(
    tmp_path, monkeypatch, capfd, options, says
):
    monkeypatch.chdir(tmp_path)
    frame = make_frame(400)
    write(tmp_path / "t.parquet", frame)
    write(tmp_path / "empty.parquet", frame[:0])
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    (tmp_path / "damaged.parquet").write_bytes(data[:100])
    start = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(3).column(1)
    at = start.dictionary_page_offset
    data[at : at + 40] = b"\xff" * 40
    (tmp_path / "cut.parquet").write_bytes(data)
    there = sorted(tmp_path.iterdir())
    assert run_inside("represent", *options, "--stream") == 2
    assert says in capfd.readouterr().err
    assert sorted(tmp_path.iterdir()) == there


@pytest.mark.parametrize("command", ["represent", "cluster"])
def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch, command):
    path = write(tmp_path / "t.parquet", make_frame())
    kind = ProximityKernel if command == "represent" else ProximityKMeans
    calls, transform = [], kind.transform

    def stop(self, table):
        calls.append(len(list(tmp_path.iterdir())))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return transform(self, table)

    monkeypatch.setattr(kind, "transform", stop)
    out = tmp_path / "z.parquet"
    assert run_inside(command, path, "--stream", "-o", out) == 130
    assert len(calls) == 3
    assert list(tmp_path.iterdir()) == [path]


def test_large_files_are_read_in_batches_without_being_asked(
    tmp_path, monkeypatch, capfd
):
    monkeypatch.setattr(fitting, "LARGE", 300)
    for n_rows, in_batches in ((300, False), (301, True)):
        path = write(tmp_path / "t.parquet", make_frame(n_rows))
        assert run_inside("cluster", path, "-k", "2", "-o", tmp_path / "c.csv") == 0
        assert ("in batches" in capfd.readouterr().err) is in_batches
    assert run_inside("represent", path, "-o", tmp_path / "z.npz") == 0
    assert "in batches" not in capfd.readouterr().err
