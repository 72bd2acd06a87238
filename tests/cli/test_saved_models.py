"""What files of --save-model reveal, and what happens if their notes are crafted."""

import numpy as np
import pandas as pd
import pytest
from command_line import run_inside

from proximity_kernel import ProximityKMeans, read_table
from proximity_kernel import _saving as saving
from proximity_kernel.io import InputError


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(
        {
            "case": [f"CASE-{k:03}" for k in range(30)],
            "x": [k % 7 + 0.5 for k in range(30)],
            "c": list("ab") * 15,
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def save_model(command, table, tmp_path, *more):
    model = tmp_path / "m.pk"
    options = ("--save-model", model, "-o", tmp_path / "out.csv", *more)
    assert run_inside(command, table, *options) == 0
    return model


def test_neighbors_says_that_the_ids_are_saved(table, tmp_path, capfd):
    """They are needed to name the neighbors of new rows."""
    model = save_model("neighbors", table, tmp_path)
    assert "m.pk, with the ids of all rows ('case')" in capfd.readouterr().err
    assert model.read_bytes().count(b"CASE-") == 30


def test_a_dropped_id_is_not_saved(table, tmp_path, capfd):
    model = save_model("neighbors", table, tmp_path, "--drop", "case")
    assert "ids of all rows" not in capfd.readouterr().err
    assert b"CASE-" not in model.read_bytes()
    out = tmp_path / "again.csv"
    assert run_inside("neighbors", table, "--model", model, "-o", out) == 0
    assert "neighbor_case" not in pd.read_csv(out)


@pytest.mark.parametrize("command", ["cluster", "outliers", "represent", "impute"])
def test_other_models_hold_no_ids(command, table, tmp_path, capfd):
    model = save_model(command, table, tmp_path)
    assert "ids of all rows" not in capfd.readouterr().err
    assert b"CASE-" not in model.read_bytes()


def crafted(notes):
    """Notes that do not fit the model."""
    schema, cases = notes["schema"], notes["ids"]["case"]
    wrong = {"kind": "words", "format": "d:m:y", "unit": "kg, ell", "missing": [1]}
    used = [{**one, "role": "used"} for one in schema["columns"]]
    return {
        "a number": {"schema": 3},
        "nothing": {"schema": {}},
        "columns of numbers": {"schema": {"columns": [1], "missing": []}},
        "a column less": {"schema": {**schema, "columns": schema["columns"][:1]}},
        "other columns": {"schema": {**schema, "columns": used}},
        "an order of none": {
            "schema": {**schema, "columns": [{**schema["columns"][0], "order": None}]}
        },
        **{
            f"an unknown {name}": {
                **notes,
                "schema": {
                    **schema,
                    "columns": [{**one, name: value} for one in schema["columns"]],
                },
            }
            for name, value in wrong.items()
        },
        "an id less": {**notes, "ids": {"case": cases[:-1]}},
        "ids of numbers": {**notes, "ids": {"case": list(range(30))}},
        "ids that are one": {**notes, "ids": 5},
        "ids that are a text": {**notes, "ids": {"case": 5}},
    }


def test_crafted_notes_end_with_a_message(table, tmp_path, capfd):
    model = save_model("neighbors", table, tmp_path)
    header, arrays, _ = saving.read_archive(model)
    for name, notes in crafted(header["notes"]).items():
        saving.write_archive(model, {**header, "notes": notes}, arrays)
        capfd.readouterr()
        assert run_inside("neighbors", table, "--model", model) == 2, name
        assert "does not match its model" in capfd.readouterr().err, name


FORMATS = {
    "%d.%m.%Y": 0, "%Y-%m-%d": 0, "%m/%d/%Y %H:%M": 7, "%d %b %Y": 0, "%B %d, %Y": 0,
    "%d/%m/%y": 0, "%Y%m%d": 0, "%Y-%m-%dT%H:%M:%S+05:30": 11,
}  # fmt: skip
NUMBERS = {
    "{:.2f}": 1.25, "{:,.1f} kg": 800.5, "${:,.2f}": 1100.25, "{:.0f}": 3.0,
    "{:.0f} cm": 1.0, "{} %": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("form", [*FORMATS, *NUMBERS])
def test_a_column_without_observed_cells_is_written_as_at_fit(tmp_path, form):
    n = 40
    if form in FORMATS:
        hours = pd.to_timedelta(FORMATS[form] * np.arange(n), "h")
        days = pd.Timestamp("2020-01-29") + pd.to_timedelta(9 * np.arange(n), "D")
        cells = (days + hours).strftime(form).to_series(index=range(n))
    else:
        values = NUMBERS[form] * (1 + np.arange(n))
        cells = pd.Series([form.format(value) for value in values])
    rows = pd.DataFrame({"v": cells, "w": np.arange(n), "g": ["a", "b"] * (n // 2)})
    rows.loc[5:8, "v"] = ""
    paths = [tmp_path / name for name in ("fit.csv", "new.csv", "0.csv", "1.csv")]
    rows.to_csv(paths[0], index=False)
    rows[5:7].to_csv(paths[1], index=False)
    model = tmp_path / "m"
    options = ("-o", paths[2], "--save-model", model, "--quiet")
    assert run_inside("impute", paths[0], *options) == 0
    options = ("-o", paths[3], "--model", model, "--quiet")
    assert run_inside("impute", paths[1], *options) == 0
    beside, alone = (pd.read_csv(path, dtype=str)["v"] for path in paths[2:])
    assert alone.tolist() == beside[5:7].tolist()


@pytest.mark.parametrize("example", ["x", "", 3, None, "2020-01-01", "1.2.3.4", "((("])
def test_a_crafted_example_ends_with_a_message(tmp_path, capfd, example):
    rows = pd.DataFrame({"v": [f"{i}.1.2020" for i in range(1, 31)], "w": range(30)})
    rows.loc[3, "v"] = ""
    path, model = tmp_path / "t.csv", tmp_path / "m"
    rows.to_csv(path, index=False)
    options = ("-o", tmp_path / "o.csv", "--quiet")
    assert run_inside("impute", path, *options, "--save-model", model) == 0
    header, arrays, _ = saving.read_archive(model)
    for examples in ({"v": example}, {"nope": "1.2.2020"}, [example], 3):
        notes = {**header["notes"], "examples": examples}
        saving.write_archive(model, {**header, "notes": notes}, arrays)
        capfd.readouterr()
        assert run_inside("impute", path, *options, "--model", model) == 2
        assert "does not match its model" in capfd.readouterr().err


def test_a_model_of_the_command_line_reads_new_rows_in_python(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        f"P{i},{i % 28 + 1}.02.2020,{rng.normal():.2f},{'ab'[i % 2]}" for i in range(60)
    ]
    old, new, model = (tmp_path / name for name in ("old.csv", "new.csv", "m.model"))
    old.write_text("\n".join(["id,seen,x,kind", *rows]))
    new.write_text("id,seen,x,kind\nP99,,,a\n")
    out = tmp_path / "out.csv"
    assert run_inside("cluster", old, "-k", "2", "--save-model", model, "-o", out) == 0
    assert run_inside("cluster", new, "--model", model, "-o", out) == 0
    table = read_table(new, schema=model)
    found = ProximityKMeans.load(model).predict(table.frame)
    assert found.tolist() == pd.read_csv(out)["cluster"].tolist()
    ProximityKMeans(2).fit(read_table(old).frame).save(model)
    with pytest.raises(InputError, match=r"m\.model: this model has no schema of a"):
        read_table(new, schema=str(model))
