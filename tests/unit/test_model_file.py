"""Model files: the same answers after loading, and no bad file gets through."""

import datetime as dt
import json
import subprocess
import sys
import tempfile
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from strategies import (
    assert_same_bits,
    fitted,
    mixed_table,
    parameters,
    tables,
)

from proximity_kernel import (
    ModelFileError,
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
)
from proximity_kernel import _saving as archive
from proximity_kernel._model import Model
from proximity_kernel._saving import decode, encode, write_estimator
from proximity_kernel.model_file import _load_with_notes, load_model

ESTIMATORS = {
    "kernel": ProximityKernel(),
    "cascade": ProximityKernel(matching="cascade", sparse_output=False),
    "informative": ProximityKernel(
        [3, "auto"] * 4, missingness="informative", dtype="float64", normalize=True
    ),
    "clusters": ProximityKMeans(3, random_state=0, n_init=2),
    "auto clusters": ProximityKMeans(
        "auto", n_init=1, random_state=1, kernel=ProximityKernel(4, dtype=np.float64)
    ),
    "neighbours": ProximityNeighbors(4, radius=0.5),
    "neighbours of the paper": ProximityNeighbors(
        3, kernel=ProximityKernel(matching="cascade")
    ),
    "outliers": ProximityOutliers(contamination=0.1),
}


def make_table(n=120, seed=0):
    table = mixed_table(n, 6, 0.25, seed)
    rng = np.random.default_rng(seed)
    days = pd.Series(pd.to_datetime(rng.integers(0, 10**9, n), unit="s"))
    grade = pd.Categorical(
        rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"], True
    )
    table["day"] = days.mask(rng.random(n) < 0.2)
    table["grade"] = pd.Series(grade).mask(rng.random(n) < 0.2)
    return table


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def new():
    return make_table(60, seed=1)


def answers(estimator, table, new):
    """Everything that can be asked, as things to compare."""
    kernel = getattr(estimator, "kernel_", estimator)
    out = {
        "transform": kernel.transform(new),
        "kernel": kernel.kernel(new, table),
        "provenance": kernel.provenance(new),
        "names": kernel.get_feature_names_out(),
        "missingness": repr(kernel.missingness_),
        "groups": repr(kernel.bin_groups_),
    }
    if isinstance(estimator, ProximityKMeans):
        out |= {
            "predict": estimator.predict(new), "distances": estimator.transform(new),
            "labels": estimator.labels_, "profiles": repr(estimator.profiles_),
            "stability": repr(estimator.stability_),
            "rest": (estimator.inertia_, estimator.n_iter_, estimator.n_clusters_),
            "out": estimator.get_feature_names_out(),
        }  # fmt: skip
    if isinstance(estimator, ProximityNeighbors):
        out["near"], out["at"] = estimator.kneighbors(new)
        out["own"], out["own at"] = estimator.kneighbors()
        out["graph"] = estimator.radius_neighbors_graph(new, mode="distance")
    if isinstance(estimator, ProximityOutliers):
        out |= {
            "scores": estimator.score_samples(new), "odd": estimator.predict(new),
            "reasons": repr(estimator.reasons(new)), "offset": estimator.offset_,
        }  # fmt: skip
    return out


def assert_same_answers(left, right):
    assert left.keys() == right.keys()
    for name, one in left.items():
        other = right[name]
        if isinstance(one, np.ndarray) and one.dtype.kind == "O":
            assert one.tolist() == other.tolist(), name
        elif isinstance(one, np.ndarray) and one.dtype.kind == "V":
            assert one.dtype == other.dtype, name
            np.testing.assert_array_equal(one, other, name)
        elif isinstance(one, str | tuple | float):
            assert one == other, name
        else:
            assert_same_bits(one, other)


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_the_same_answers_after_loading(estimator, table, new, tmp_path):
    estimator = clone(estimator).fit(table)
    path = tmp_path / "it.model"
    assert estimator.save(path) is None
    for loaded in (type(estimator).load(str(path)), load_model(path)):
        assert type(loaded) is type(estimator)
        assert repr(loaded.get_params()) == repr(estimator.get_params())
        assert vars(loaded).keys() == vars(estimator).keys()
        assert_same_answers(answers(loaded, table, new), answers(estimator, table, new))
        assert loaded.feature_names_in_.tolist() == list(table.columns)
        loaded.save(tmp_path / "again.model")
        assert (tmp_path / "again.model").read_bytes() == path.read_bytes()
    again = clone(loaded).fit(table)
    assert_same_answers(answers(again, table, new), answers(estimator, table, new))


@settings(max_examples=25)
@given(tables(), parameters(), st.sampled_from(["ignorable", "informative", "auto"]))
def test_any_kernel_survives(both, options, missingness):
    frame, new = both
    pk = fitted(ProximityKernel(**options, missingness=missingness), frame)
    with tempfile.TemporaryDirectory() as folder:
        pk.save(f"{folder}/m")
        loaded = ProximityKernel.load(f"{folder}/m")
    assert_same_bits(loaded.transform(new), pk.transform(new))
    assert loaded.model_.types == pk.model_.types
    assert loaded.model_.missingness == pk.model_.missingness
    for left, right in zip(loaded.model_.typical, pk.model_.typical, strict=True):
        assert list(left.values) == list(right.values)
        assert left.spread.tolist() == right.spread.tolist()


def test_every_part_of_a_model_is_in_the_file():
    """Who adds a field to the model must say here how it is saved."""
    saved = {
        "types",
        "categorical_features",
        "bins",
        "missingness",
        "matcher",
        "typical",
        "totals",
        "n_samples",
        "leaf_counts",
        "feature_weights",
        "rarity",
    }
    assert {field.name for field in fields(Model)} == saved


LABELS = {
    "text": ["a", "b", "é", "", "\ud800", "NaN"],
    "integers": [1, 2, 2**70, -5],
    "floats": [0.1, 1e300, -2.5, 3.0],
    "booleans": [True, False],
    "dates": [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
    "moments": [dt.datetime(2020, 1, 1, 5, 0, 0, 7), dt.datetime(2021, 1, 1)],
    "durations": [dt.timedelta(1), dt.timedelta(2)],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_labels_keep_their_types(labels, tmp_path):
    rows = [[label] for label in labels * 2]
    pk = ProximityKernel(categorical_features=[0]).fit(rows)
    pk.save(tmp_path / "m")
    loaded = ProximityKernel.load(tmp_path / "m")
    assert repr(loaded.categories_) == repr(pk.categories_)
    assert_same_bits(loaded.transform(rows), pk.transform(rows))


@pytest.mark.parametrize(
    "categories",
    [
        pd.IntervalIndex.from_breaks([0, 1, 2.5]),
        pd.PeriodIndex(["2020-01", "2021-07"], freq="M"),
        # The clocks change in between.
        pd.IntervalIndex.from_breaks(
            pd.to_datetime(["2020-03-01", "2020-06-01", "2020-12-01"]).tz_localize(
                "Europe/Berlin"
            )
        ),
        pd.Index([b"a", b"\xff"]),
        pd.Index([("a", 1), ("b", 2)], tupleize_cols=False),
        pd.Index([dt.time(1), dt.time(2, 3, 4, 5)]),
    ],
    ids=lambda index: type(index[0]).__name__,
)
def test_odd_categories_keep_their_types(categories, tmp_path):
    column = pd.Categorical.from_codes([0, 1, 0, -1], categories)
    table = pd.DataFrame({"x": column, "y": [1.0, 2.0, 1.0, 1.0]})
    pk = ProximityKernel(max_categories=2).fit(table)
    pk.save(tmp_path / "m")
    loaded = ProximityKernel.load(tmp_path / "m")
    assert loaded.categories_[0].tolist() == pk.categories_[0].tolist()
    assert_same_bits(loaded.transform(table), pk.transform(table))
    imputer = ProximityImputer(kernel=ProximityKernel(max_categories=2)).fit(table)
    imputer.save(tmp_path / "i")
    again = ProximityImputer.load(tmp_path / "i")
    assert (
        again.transform(table)["x"].tolist() == imputer.transform(table)["x"].tolist()
    )


def test_what_cannot_be_saved_is_named(tmp_path):
    class Odd:
        def __lt__(self, other):
            return False

    column = pd.Categorical.from_codes([0, 1], [Odd(), Odd()])
    pk = ProximityKernel().fit(pd.DataFrame({"odd": column, "x": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"column 'odd' .* Odd"):
        pk.save(tmp_path / "m")
    with pytest.raises(NotFittedError):
        ProximityKernel().save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


OPTIONS = [
    {"categorical_features": np.array([False, True])},
    {"categorical_features": np.array([1])},
    {"categorical_features": ["x1"], "n_bins": (3, "auto")},
    {"n_bins": np.array([3, 4]), "dtype": np.dtype("float64")},
    {"n_bins": np.int64(3), "dtype": "float32", "max_categories": np.int32(7)},
    {"random_state": 7, "n_jobs": 1, "categorical_features": None},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_survive(options, tmp_path):
    table = pd.DataFrame({"x0": [1.0, 2.0, 3.0, None], "x1": [1, 2, 1, 2]})
    pk = ProximityKernel(**options).fit(table)
    pk.save(tmp_path / "m")
    loaded = ProximityKernel.load(tmp_path / "m")
    assert repr(loaded.get_params()) == repr(pk.get_params())
    assert_same_bits(loaded.transform(table), pk.transform(table))
    assert_same_bits(loaded.fit(table).transform(table), pk.transform(table))


def test_generators_are_not_saved_and_indices_become_lists(tmp_path, table):
    pk = ProximityKernel(random_state=np.random.RandomState(0))
    pk.set_params(categorical_features=table.columns[:1]).fit(table)
    pk.save(tmp_path / "m")
    loaded = ProximityKernel.load(tmp_path / "m")
    assert loaded.random_state is None
    assert loaded.categorical_features == list(table.columns[:1])
    pk.set_params(categorical_features=set(table.columns[:2]), dtype=float).fit(table)
    pk.save(tmp_path / "m")
    loaded = ProximityKernel.load(tmp_path / "m")
    assert loaded.categorical_features == sorted(table.columns[:2])
    assert loaded.transform(table).dtype == np.float64


def test_loading_leaves_the_warnings_of_other_threads_alone(
    tmp_path, table, monkeypatch
):
    ProximityKernel().fit(table).save(tmp_path / "m")
    seen, unpack = [], archive.unpack_estimator

    def watch(*arguments):
        seen.append(list(warnings.filters))
        return unpack(*arguments)

    monkeypatch.setattr(archive, "unpack_estimator", watch)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        before = list(warnings.filters)
        ProximityKernel.load(tmp_path / "m")
    assert seen == [before]


def test_set_output_and_notes_survive(tmp_path, table):
    pk = ProximityKernel(sparse_output=False).set_output(transform="pandas").fit(table)
    notes = {"dropped": ["a", "b"], "id": None, "na": {"x": ["?", 1.5, True]}}
    write_estimator(pk, tmp_path / "m", notes)
    loaded, held = _load_with_notes(tmp_path / "m")
    assert held == notes
    pd.testing.assert_frame_equal(loaded.transform(table), pk.transform(table))
    pk.save(tmp_path / "m")
    assert _load_with_notes(tmp_path / "m")[1] == {}


@pytest.mark.parametrize(
    "value",
    [float("inf"), (1, (2.5, None)), np.float32(0.1), np.str_("a"),
     np.array(["a", "bc"]), np.array([[1, 2]], np.uint8), np.dtype("f4"), np.int8,
     pd.Timestamp("2020-01-01T05", tz="UTC")],
    ids=repr,
)  # fmt: skip
def test_values_survive_json(value):
    again = decode(json.loads(json.dumps(encode(value, "it"))))
    assert type(again) is type(value)
    assert repr(again) == repr(value)


def test_a_failed_save_leaves_the_old_file(tmp_path, table, monkeypatch):
    path = tmp_path / "m"
    pk = ProximityKernel().fit(table)
    pk.save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive, "_seal", fail)
    with pytest.raises(ModelFileError, match="No space left"):
        pk.save(path)
    monkeypatch.setattr(archive, "_seal", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        pk.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["m"]


def _interrupt(*_):
    raise KeyboardInterrupt


def test_where_a_file_cannot_be_is_said(tmp_path, table):
    pk = ProximityKernel().fit(table)
    with pytest.raises(ModelFileError, match="is a folder"):
        pk.save(tmp_path)
    with pytest.raises(ModelFileError, match="create it first"):
        pk.save(tmp_path / "none" / "m")


def test_links_and_rights_are_those_of_new_files(tmp_path, table):
    pk = ProximityKernel().fit(table)
    (tmp_path / "other").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    pk.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    modes = {(tmp_path / name).stat().st_mode for name in ("other", "real")}
    assert len(modes) == 1
    ProximityKernel.load(tmp_path / "link")


def test_another_process_reads_it(tmp_path, table, new):
    path, answer = tmp_path / "m", tmp_path / "answer.npy"
    near = ProximityNeighbors(3).fit(table)
    near.save(path)
    new.to_pickle(tmp_path / "new")
    code = (
        "import numpy as np, pandas as pd; from proximity_kernel import model_file;"
        f"near = model_file.load_model({str(path)!r});"
        f"new = pd.read_pickle({str(tmp_path / 'new')!r});"
        f"np.save({str(answer)!r}, near.kneighbors(new)[0])"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert_same_bits(np.load(answer), near.kneighbors(new)[0])


def test_numpy_reads_the_arrays(tmp_path, table):
    ProximityKernel(matching="cascade").fit(table).save(tmp_path / "m")
    with np.load(tmp_path / "m", allow_pickle=False) as held:
        assert held["counts"].sum() == len(table)
    ProximityKernel(missingness="informative").fit(table).save(tmp_path / "m")
    with np.load(tmp_path / "m", allow_pickle=False) as held:
        assert held["totals"].sum() == table.size
