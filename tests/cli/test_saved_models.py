"""What files of --save-model reveal, and what happens if their notes are crafted."""

import pandas as pd
import pytest
from command_line import run_inside

from proximity_kernel import _saving as saving


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
