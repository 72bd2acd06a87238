"""Crafted model files: little memory, no foreign files opened, short messages."""

import io
import pickle
import shutil
import tracemalloc
from pathlib import Path
from zoneinfo import TZPATH

import numpy as np
import pandas as pd
import pytest

import proximity_kernel.model_file
from proximity_kernel import (
    ModelFileError,
    ProximityImputer,
    ProximityKernel,
    ProximityKNNClassifier,
    ProximityNeighbors,
)
from proximity_kernel import _saving as saving
from proximity_kernel.model_file import load_model

pytestmark = pytest.mark.filterwarnings("error")

ROWS = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]
LONG = 4_000
TEXTS = ["x" * LONG, *["y"] * LONG]  # 20 kB, and 64 MB as an array of text
MOST = 32 << 20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m"


def craft(estimator, path, change):
    """Save an estimator, change what is in the file, and seal it again."""
    estimator.save(path)
    header, arrays, _ = saving.read_archive(path)
    change(header, arrays)
    saving.write_archive(path, header, arrays)
    return path


def peak_of_loading(path):
    """The most memory that loading took, and whether it ended with an error."""
    tracemalloc.start()
    try:
        load_model(path)
    except ModelFileError:
        refused = True
    else:
        refused = False
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, refused


def put_option(value):
    return lambda header, _: header["options"].update(categorical_features=value)


TEXT_ARRAYS = {
    "an array": {"array": ["<U1", [len(TEXTS)], TEXTS]},
    "arrays in a list": [{"array": ["<U1", [len(TEXTS)], TEXTS]}] * 5,
    "an array in an array": {"array": ["|O", [1], [{"array": ["<U1", [4001], TEXTS]}]]},
}


@pytest.mark.parametrize("value", TEXT_ARRAYS.values(), ids=TEXT_ARRAYS)
def test_one_long_text_does_not_make_an_array_of_long_texts(value, path):
    craft(ProximityKernel().fit(ROWS), path, put_option(value))
    assert path.stat().st_size < 200_000
    peak, refused = peak_of_loading(path)
    assert peak < MOST
    assert refused


def test_one_long_class_does_not_make_long_classes(path):
    def change(header, _):
        learnt = header["learnt"]
        plain = type(learnt["classes"]) is list
        learnt["classes"] = TEXTS if plain else {"array": ["<U", [4001], TEXTS]}

    craft(ProximityKNNClassifier(1).fit(ROWS, list("abcde")), path, change)
    peak, _ = peak_of_loading(path)
    assert peak < MOST


@pytest.mark.parametrize(
    "texts", [["a", "bc"], ["x" * LONG, "y"], [], ["", ""], TEXTS[:200]], ids=len
)
def test_honest_arrays_of_text_survive(texts):
    """As an array, or as a list if one text is much longer than the others."""
    array = np.array(texts, str)
    again = saving.decode(saving.encode(array, "it"))
    assert list(again) == texts
    assert (type(again) is list) == (len(texts) == 200)


def test_classes_keep_their_type(path):
    for y in (["a", "bc", "a", "a"], [1, 2, 1, 1, 2], TEXTS[:5], [True, False]):
        near = ProximityKNNClassifier(1).fit(ROWS[: len(y)], y)
        near.save(path)
        again = load_model(path)
        assert again.classes_.tolist() == near.classes_.tolist()
        assert again.predict(ROWS).tolist() == near.predict(ROWS).tolist()
    near = ProximityKNNClassifier(1).fit(ROWS, np.array(list("abcab"), object))
    near.save(path)
    assert load_model(path).classes_.dtype == object


def test_equal_rows_are_not_expanded(path):
    """A wide row that occurs often would take the product of both sizes."""
    labels = [[f"l{k}"] for k in range(2000)]
    kernel = ProximityKernel(max_categories=2000, n_bins=4)

    def change(_, arrays):
        arrays["data"] = np.full(2000, 1 / 2000, np.float32)
        arrays["indices"] = np.arange(2000, dtype=np.int32)
        arrays["indptr"] = np.array([0, 2000])
        arrays["inverse"] = np.zeros(20_000, np.int64)

    craft(ProximityNeighbors(1, kernel=kernel).fit(labels * 2), path, change)
    peak, _ = peak_of_loading(path)
    assert peak < 300_000_000  # 480 MB for the expanded rows alone


def test_an_index_of_empty_rows_is_refused(path):
    table = np.arange(4000.0).reshape(2, 2000)

    def change(_, arrays):
        arrays["data"] = np.zeros(0, np.float32)
        arrays["indices"] = np.zeros(0, np.int32)
        arrays["indptr"] = np.zeros(100_001, np.int64)
        arrays["inverse"] = np.arange(100_000)

    craft(ProximityNeighbors(1).fit(table), path, change)
    peak, refused = peak_of_loading(path)
    assert refused
    assert peak < 400_000_000  # 200 MB for the classes of cells, more for the rest


def test_the_bitmaps_of_a_crafted_cascade_are_refused(path):
    labels = [[f"l{k}"] for k in range(60_000)]
    kernel = ProximityKernel(max_categories=65_000, matching="cascade")
    few = kernel.fit([["a"], ["b"]])

    def change(header, arrays):
        feature = header["learnt"]["features"][0]
        feature["categories"] = [label for (label,) in labels]
        feature["spread"] = [0.5] * 60_000
        arrays["rows"] = np.arange(60_000, dtype=np.uint16)[:, None]
        arrays["counts"] = np.ones(60_000, np.int64)

    craft(few, path, change)
    assert path.stat().st_size < 3_000_000
    with pytest.raises(ModelFileError, match="bitmaps of the cascade would take"):
        load_model(path)


def test_a_model_that_could_not_be_loaded_is_not_saved(path, monkeypatch):
    monkeypatch.setattr(saving, "FREE_BYTES", 0)
    monkeypatch.setattr(saving, "GROWTH", 1)
    kernel = ProximityKernel(max_categories=600, matching="cascade")
    imputer = ProximityImputer(kernel=kernel).fit([[f"l{k}"] for k in range(600)] * 3)
    with pytest.raises(ValueError, match="when loaded, would take"):
        imputer.save(path)
    assert pickle.loads(pickle.dumps(imputer)).n_features_in_ == 1
    assert not path.exists()


@pytest.fixture
def zone(tmp_path):
    """A copy of a time zone's file, where no time zone should be looked up."""
    found = [Path(folder, "Europe/Berlin") for folder in TZPATH]
    found = [file for file in found if file.exists()]
    if not found:
        pytest.skip("this system has no files of time zones")
    return shutil.copy(found[0], tmp_path / "zone")


@pytest.mark.parametrize("name", ["dateutil/{}", "{}", "tzlocal()", "../{}", ":{}"])
def test_only_names_of_time_zones_are_looked_up(name, zone, path):
    day = pd.Timestamp("2020-05-01", tz="Europe/Berlin")
    days = pd.Categorical([day, day + pd.Timedelta("1D")])
    pk = ProximityKernel().fit(pd.DataFrame({"day": pd.IntervalIndex.from_arrays(
        pd.DatetimeIndex(days), pd.DatetimeIndex(days) + pd.Timedelta("1h")
    ).astype("category")}))  # fmt: skip

    def change(header, _):
        text = header["learnt"]["features"][0]["categories"]
        for interval in text:
            for moment in interval["Interval"][:2]:
                assert moment["Timestamp"][1] == "Europe/Berlin"
                moment["Timestamp"][1] = name.format(zone)

    craft(pk, path, lambda *_: None)
    assert load_model(path).categories_[0].tolist() == pk.categories_[0].tolist()
    craft(pk, path, change)
    with pytest.raises(ModelFileError, match="unknown time zone"):
        load_model(path)


@pytest.mark.parametrize("text", ["now", "2020-01-01 5:00 EST", "", 3, None])
def test_times_are_written_in_digits(text):
    with pytest.raises((ValueError, TypeError)):
        saving.decode({"Timestamp": [text]})


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "UTC", "America/Argentina/Ushuaia", "+02:00", None]
)
def test_times_keep_their_zone(zone):
    moment = pd.Timestamp("2020-07-01T05:06:07.123456789", tz=zone)
    again = saving.decode(saving.encode(moment, "it"))
    assert (again, again.utcoffset()) == (moment, moment.utcoffset())
    assert str(again.tz) == str(moment.tz)


def test_other_formats_are_told_apart(path):
    for found, age in ((1, "older"), (2, "older"), (4, "older"), (6, "newer")):
        craft(
            ProximityKernel().fit(ROWS),
            path,
            lambda header, _, found=found: header.update(format_version=found),
        )
        with pytest.raises(ModelFileError, match=f"format {found}, {age} than the 5"):
            load_model(path)


WORDS = "\x1b[31m" + "secret " * 1000
REPEATING = {
    "a type": put_option({WORDS: 1}),
    "a class": lambda header, _: header.update({"class": WORDS}),
    "a kind": lambda header, _: header["learnt"]["features"][0].update(kind=WORDS),
    "a form": lambda header, _: header["learnt"]["features"][0].update(form=WORDS),
    "a writer": lambda header, _: header.update(
        format_version=9, library_version=WORDS
    ),
    "an option": lambda header, _: header["options"].update(matching=WORDS),
    "a new option": lambda header, _: header["options"].update({WORDS: 1}),
}


@pytest.mark.parametrize("change", REPEATING.values(), ids=REPEATING)
def test_messages_are_short_and_without_escapes(change, path):
    craft(ProximityKernel().fit(ROWS), path, change)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value).replace(str(path), "")
    assert len(message) < 600
    assert message.isprintable()


def test_a_file_is_the_same_bytes_each_time():
    pk = ProximityKernel().fit(ROWS)
    files = [io.BytesIO(), io.BytesIO()]
    for file in files:
        saving.write_estimator(pk, file)
    assert files[0].getvalue() == files[1].getvalue()


def test_the_public_names():
    public = {"TRUSTED_TYPES", "ModelFileError", "load_model"}
    assert set(proximity_kernel.model_file.__all__) == public
    for name in ("load_with_notes", "save_model"):
        assert not hasattr(proximity_kernel.model_file, name)
    assert not hasattr(ProximityNeighbors, "kernel_class")
