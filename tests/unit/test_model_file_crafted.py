"""Model files that are crafted: right checksums, but contents that no fit makes."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import mixed_table

from proximity_kernel import (
    ModelFileError,
    ProximityKernel,
    ProximityKMeans,
    ProximityNeighbors,
    ProximityOutliers,
)
from proximity_kernel import _row_summary as row_summary
from proximity_kernel import _saving as archive
from proximity_kernel.model_file import load_model

pytestmark = pytest.mark.filterwarnings("error")

ROWS = [[1.0, "a"], [1.2, "a"], [None, "b"], [9.0, "b"], [8.0, None]]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small files, as bytes: of the two rules, and of one with few sources."""
    path = tmp_path_factory.mktemp("small") / "m"
    out = {}
    for name in ("pairwise", "cascade", "sources"):
        near = ProximityNeighbors(2)  # with rarity, at the fine scale
        if name == "cascade":
            near.kernel = ProximityKernel(matching="cascade")
        with pytest.MonkeyPatch.context() as patch:
            if name == "sources":
                patch.setattr(row_summary, "MOST_CODES", 0)
            near.fit(ROWS).save(path)
        out[name] = path.read_bytes()
    return out


@pytest.fixture(scope="module")
def small(files):
    """The file with the defaults."""
    return files["pairwise"]


def _rewrite(small, tmp_path, change):
    """Write the small file again, with its header and arrays changed, sealed anew."""
    path = tmp_path / "forged"
    path.write_bytes(small)
    header, arrays, _ = archive.read_archive(path)
    change(header, arrays)
    archive.write_archive(path, header, arrays)
    return path


def _set(name, at, value):
    def change(_, arrays):
        arrays[name][at] = value

    return change


def _shorten(name):
    def change(_, arrays):
        arrays[name] = arrays[name][:-1]

    return change


def _retype(name, dtype):
    def change(_, arrays):
        arrays[name] = arrays[name].astype(dtype)

    return change


def _learn(**values):
    def change(header, _):
        header["learnt"]["kernel"]["learnt"].update(values)

    return change


def _feature(j, **values):
    def change(header, _):
        header["learnt"]["kernel"]["learnt"]["features"][j].update(values)

    return change


def _option(**values):
    def change(header, _):
        header["learnt"]["kernel"]["options"].update(values)

    return change


def _put(name, value):
    def change(_, arrays):
        arrays[name] = np.asarray(value)

    return change


def _drop(name):
    def change(_, arrays):
        arrays.pop(name)

    return change


def _all(*changes):
    def change(header, arrays):
        for each in changes:
            each(header, arrays)

    return change


CRAFTED_CASCADE = {
    "a code past its bins": _set("kernel/rows", (0, 0), 200),
    "a count of zero": _set("kernel/counts", 0, 0),
    "a negative count": _set("kernel/counts", 0, -5),
    "a huge count": _set("kernel/counts", 0, 2**62),
    "a row less": _shorten("kernel/rows"),
    "a count less": _shorten("kernel/counts"),
    "wide codes": _retype("kernel/rows", np.uint16),
    "counts in single precision": _retype("kernel/counts", np.float32),
    "no rows": _all(
        _put("kernel/rows", np.empty((0, 2), np.uint8)),
        _put("kernel/counts", np.empty(0, np.int64)),
    ),
    "another rule": _learn(matching="pairwise"),
    "a rule that is none": _learn(matching="best"),
}

CRAFTED_SOURCES = {
    "a source that is no feature": _set("kernel/sources", (0, 0), 2),
    "a negative source": _set("kernel/sources", (0, 0), -1),
    "sources as floats": _retype("kernel/sources", np.float64),
    "sources of fewer features": _shorten("kernel/sources"),
    "a source more": _put("kernel/sources", [[1, 1], [0, 0]]),
    "a flat list of sources": _put("kernel/sources", [1, 0]),
    "a kept code past its bins": _set("kernel/kept", (1, 1), 2),
    "a kept code below none": _set("kernel/kept", (0, 0), -2),
    "kept codes that fall": _set("kernel/kept", (0, slice(None)), [3, 2, 1, 0]),
    "the same code twice": _set("kernel/kept", (0, slice(None)), [0, 1, 1, 2]),
    "a gap before a kept code": _set("kernel/kept", (1, slice(None)), [-1, 0, -1, -1]),
    "a gap between kept codes": _set("kernel/kept", (1, slice(None)), [0, -1, 1, -1]),
    "gaps, then kept codes": _set("kernel/kept", (1, slice(None)), [-1, -1, 0, 1]),
    "a gap before three codes": _set("kernel/kept", (0, slice(None)), [-1, 0, 1, 2]),
    "a gap between three codes": _set("kernel/kept", (0, slice(None)), [0, -1, 1, 2]),
    "kept codes of fewer features": _shorten("kernel/kept"),
    "pairs of fewer features": _shorten("kernel/pairs"),
    "a flat list of pairs": _put("kernel/pairs", np.zeros(10, np.uint8)),
    "sources without kept codes": _drop("kernel/kept"),
    "kept codes without sources": _drop("kernel/sources"),
}

CRAFTED = {
    "a count less": _shorten("kernel/totals"),
    "a negative count": _set("kernel/totals", 0, -1),
    "a huge count": _set("kernel/totals", 0, 2**62),
    "counts whose sum wraps": _set("kernel/totals", slice(0, 2), 2**63 - 1),
    "counts of more rows": _set("kernel/totals", 0, 6),
    "counts of nothing": _set("kernel/totals", slice(None), 0),
    "counts as floats": _retype("kernel/totals", np.float64),
    "no counts": _drop("kernel/totals"),
    "no counts of leaves": _drop("kernel/leaf_counts"),
    "fewer counts of leaves": _shorten("kernel/leaf_counts"),
    "a negative count of a leaf": _set("kernel/leaf_counts", (0, 0), -1),
    "other counts of leaves": _set("kernel/leaf_counts", (0, 0), 5),
    "counts of leaves that wrap": _set("kernel/leaf_counts", 0, 2**62),
    "counts of leaves as floats": _retype("kernel/leaf_counts", np.float64),
    "a rarity above 1": _learn(rarity=1.5),
    "a rarity below 0": _learn(rarity=-0.5),
    "a rarity that is true": _learn(rarity=True),
    "a rarity as text": _learn(rarity="0.5"),
    "a marginal count less": _shorten("kernel/marginals"),
    "a negative marginal count": _set("kernel/marginals", 0, -1),
    "marginal counts of more rows": _set("kernel/marginals", 0, 6),
    "marginal counts whose sum wraps": _set("kernel/marginals", slice(0, 2), 2**63 - 1),
    "marginal counts as floats": _retype("kernel/marginals", np.float32),
    "a weight less": _shorten("kernel/weights"),
    "a weight above 1.5": _set("kernel/weights", 0, 1.51),
    "a negative weight": _set("kernel/weights", 0, -0.05),
    "a weight that is none": _set("kernel/weights", 0, np.nan),
    "a weight without end": _set("kernel/weights", 0, np.inf),
    "weights in single precision": _retype("kernel/weights", np.float32),
    "a pair less": _shorten("kernel/pairs"),
    "pairs of more rows": _set("kernel/pairs", 0, 200),
    "pairs with a sign": _retype("kernel/pairs", np.int64),
    "pairs as floats": _retype("kernel/pairs", np.float64),
    "a square of pairs": _put("kernel/pairs", np.zeros((6, 6), np.uint8)),
    "no pairs": _drop("kernel/pairs"),
    "a smoothing that is none": _learn(smoothing=2),
    "a smoothing that is true": _learn(smoothing=True),
    "a smoothing as text": _learn(smoothing="1"),
    "a smoothing as a float": _learn(smoothing=1.0),
    "fewer rows": _learn(n_samples=3),
    "a negative number of rows": _learn(n_samples=-1),
    "rows as a float": _learn(n_samples=5.0),
    "rows without end": _learn(n_samples=10**30),
    "another rule": _learn(matching="cascade"),
    "a rule that is gone": _learn(matching="weighted"),
    "a rule that is a list": _learn(matching=["pairwise"]),
    "centers that fall": _feature(0, centers=[9.0, 1.0, 2.0, 3.0]),
    "a center that is none": _feature(0, centers=[{"float": "nan"}, 1.0, 2.0, 3.0]),
    "a center less": _feature(0, centers=[1.0, 2.0, 3.0]),
    "an index past the columns": _set("indices", 0, 10**6),
    "a negative index": _set("indices", 0, -1),
    "entries that are none": _set("data", 0, np.nan),
    "a negative entry": _set("data", 0, -1.0),
    "an entry less": _shorten("data"),
    "rows that go back": _set("indptr", 1, 10**6),
    "a place that is none": _set("inverse", 0, 99),
    "a negative place": _set("inverse", 0, -1),
    "no features": _learn(features=[], missingness=[]),
    "a kind that is none": _feature(0, kind="numerical"),
    "centers that are text": _feature(0, centers="1234"),
    "centers as whole numbers": _feature(0, centers=[1, 2, 3, 4]),
    "halves that go back": _feature(0, groups=[1, 0, 0, 1]),
    "halves of fewer bins": _feature(0, groups=[0, 1]),
    "a third half": _feature(0, groups=[0, 0, 1, 2]),
    "a typical value less": _feature(0, typical=[1.0, 2.0, 3.0]),
    "a negative spread": _feature(0, spread=[-1.0, 0.0, 0.0, 0.0]),
    "the same category twice": _feature(1, categories=["a", "a"]),
    "a category less": _feature(1, categories=["a"]),
    "categories that are lists": _feature(1, categories=[["a"], ["b"]]),
    "a type that is none": _feature(1, categories=[{"os.system": "x"}, "b"]),
    "a matching that is none": _option(matching="best"),
    "an option that is none": _option(shell="x"),
    "an option that is gone": _option(min_support=1),
    "an array of much text": _option(n_bins={"array": ["<U999999999", [1], ["a"]]}),
    "no state": lambda header, _: header.pop("learnt"),
    "features that are text": _learn(features="abc"),
    "other names": lambda header, _: header.update(feature_names_in=["a"]),
    "names that are a mapping": lambda header, _: header.update(
        feature_names_in={"x0": 0, "x1": 1}
    ),
    "names of other columns": lambda header, _: header.update(
        feature_names_in=["a", "b"]
    ),
    "a spread without end": _feature(0, spread=[{"float": "inf"}, 0.0, 0.0, 0.0]),
    "an order of labels": _feature(1, order={"tuple": ["a", "b"]}),
    "other width": lambda header, _: header.update(n_features_in=7),
    "odd output": lambda header, _: header.update(set_output={"transform": "x"}),
}


@pytest.mark.parametrize("change", CRAFTED.values(), ids=CRAFTED)
def test_crafted_files_are_refused(change, small, tmp_path):
    path = _rewrite(small, tmp_path, change)
    with pytest.raises(ModelFileError):
        load_model(path)


@pytest.mark.parametrize("change", CRAFTED_CASCADE.values(), ids=CRAFTED_CASCADE)
def test_crafted_files_of_the_cascade_are_refused(change, files, tmp_path):
    path = _rewrite(files["cascade"], tmp_path, change)
    with pytest.raises(ModelFileError):
        load_model(path)


@pytest.mark.parametrize("change", CRAFTED_SOURCES.values(), ids=CRAFTED_SOURCES)
def test_crafted_files_with_sources_are_refused(change, files, tmp_path):
    path = _rewrite(files["sources"], tmp_path, change)
    with pytest.raises(ModelFileError):
        load_model(path)


@pytest.mark.parametrize("name", ["pairwise", "cascade", "sources"])
def test_the_same_file_written_again_is_good(name, files, tmp_path):
    """What the crafted files are made of is not refused for itself."""
    path = _rewrite(files[name], tmp_path, lambda *_: None)
    near = load_model(path)
    (tmp_path / "m").write_bytes(files[name])
    found, wanted = (
        each.kneighbors(ROWS) for each in (near, load_model(tmp_path / "m"))
    )
    np.testing.assert_array_equal(found, wanted)
    held = {key for key in archive.read_archive(path)[1] if key.startswith("kernel/")}
    rule = {
        "pairwise": ["totals", "leaf_counts", "marginals", "weights", "pairs"],
        "cascade": ["rows", "counts"],
    }
    rule["sources"] = [*rule["pairwise"], "sources", "kept"]
    assert held == {f"kernel/{key}" for key in rule[name]}


def test_too_many_codes_for_all_pairs_are_refused(tmp_path):
    """A short file must not ask for much memory."""
    labels = [[f"l{k}"] for k in range(2500)]
    path = tmp_path / "m"
    ProximityKernel(max_categories=3000).fit(labels * 2).save(path)

    def change(_, arrays):
        for name in ("sources", "kept"):
            arrays.pop(name)
        arrays["pairs"] = np.zeros(2500 * 2501 // 2, np.uint8)

    with pytest.raises(ModelFileError, match="pairs"):
        load_model(_rewrite(path.read_bytes(), tmp_path, change))


def test_crafted_clusters_and_outliers_are_refused(tmp_path):
    table = mixed_table(60, 5, 0.25, 0)
    km, odd = tmp_path / "km", tmp_path / "odd"
    ProximityKMeans(2, n_init=1).fit(table).save(km)
    ProximityOutliers().fit(table).save(odd)
    for path, change in (
        (km, _set("labels", 0, 5)), (km, _set("labels", 0, -1)),
        (km, _set("centers", (0, 0), np.inf)), (km, _retype("centers", np.float64)),
        (km, _shorten("kernel/pairs")), (odd, _shorten("units")),
        (odd, _set("ends", (0, 1), np.nan)), (odd, _set("units", (0, 0), -1.0)),
        (odd, lambda header, _: header["learnt"].update(offset="0.5")),
    ):  # fmt: skip
        with pytest.raises(ModelFileError):
            load_model(_rewrite(path.read_bytes(), tmp_path, change))


@settings(max_examples=120)
@given(st.data(), st.sampled_from(["pairwise", "cascade", "sources"]))
def test_random_arrays_load_or_are_refused_and_never_crash(files, data, of):
    """With right checksums, but other bytes in an array."""

    def change(_, arrays):
        name = data.draw(st.sampled_from(sorted(arrays)))
        raw = bytearray(arrays[name].tobytes())
        if raw:
            at = data.draw(st.integers(0, len(raw) - 1))
            raw[at] = data.draw(st.integers(0, 255))
        shape, dtype = arrays[name].shape, arrays[name].dtype
        arrays[name] = np.frombuffer(bytes(raw), dtype).reshape(shape)

    with tempfile.TemporaryDirectory() as folder:
        path = _rewrite(files[of], Path(folder), change)
        try:
            near = load_model(path)
        except ModelFileError:
            return
    near.kneighbors([[None, "a"], [1.0, None]])
    assert np.isfinite(near.kernel_.transform(ROWS).data).all()
    near.kernel_.provenance(ROWS)
