"""What a model file reveals: no ids, and with `min_count` no rare labels or counts."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from command_line import run_inside

from proximity_kernel import ProximityImputer, ProximityKernel


def make_table(n=400, seed=0):
    """Two related columns, and one with a different name in nearly every row."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "name": [f"secret-{i // 2 if i < 20 else i}" for i in range(n)],
            "town": np.array(["north", "south", "east"])[group],
            "size": np.where(rng.random(n) < 0.9, group, rng.integers(0, 9, n)),
            "kind": [f"rare-{i}" if i % 40 == 0 else "common" for i in range(n)],
        }
    ).astype({"size": "str"})


def read_file(path):
    """The header, the arrays, and all bytes of a model file."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("proximity_kernel.json"))
    with np.load(path) as held:
        arrays = {k: held[k] for k in held.files if k != "proximity_kernel.json"}
    return header, arrays, path.read_bytes()


@pytest.mark.filterwarnings("ignore:Most strings are distinct")
@pytest.mark.parametrize("n", [400, 2500])  # more than 2,048 codes are kept otherwise
@pytest.mark.parametrize("min_count", [2, 5])
def test_nothing_rare_is_saved(tmp_path, n, min_count):
    table = make_table(n)
    pk = ProximityKernel().fit(table)
    pk.save(tmp_path / "all.model")
    assert b"secret-21" in (tmp_path / "all.model").read_bytes()
    pk.save(tmp_path / "some.model", min_count=min_count)
    _, arrays, content = read_file(tmp_path / "some.model")
    assert b"rare-" not in content
    assert (b"secret-" in content) == (min_count == 2)  # ten names occur twice
    assert b"secret-21" not in content
    for name in ("totals", "pairs", "marginals"):
        counts = arrays[name].astype(int)
        assert ((counts == 0) | (counts >= min_count)).all(), name
    loaded = ProximityKernel.load(tmp_path / "some.model")
    kept = [len(bins.categories) for bins in loaded.model_.bins]
    counts = [table[name].value_counts() for name in table]
    assert kept == [int((own >= min_count).sum()) for own in counts]


def test_frequent_values_keep_their_estimates(tmp_path):
    table = make_table(4000)[["town", "size"]]
    table = table[table["size"].isin(["0", "1", "2"])]
    pk = ProximityKernel(dtype=np.float64).fit(table)
    smallest = pd.crosstab(table["town"], table["size"]).to_numpy().min()
    pk.save(tmp_path / "m.model", min_count=int(smallest))
    loaded = ProximityKernel.load(tmp_path / "m.model")
    queries = pd.DataFrame({"town": ["north", None], "size": [None, "2"]})
    assert (loaded.transform(queries) != pk.transform(queries)).nnz == 0
    pk.save(tmp_path / "m.model", min_count=int(smallest) + 1)
    loaded = ProximityKernel.load(tmp_path / "m.model")
    assert (loaded.transform(queries) != pk.transform(queries)).nnz > 0


def test_what_cannot_be_left_out_is_an_error(tmp_path):
    path = tmp_path / "m.model"
    numbers = pd.DataFrame({"x": [1.0, 2, 3, 4, 5, 6], "y": list("ababab")})
    with pytest.raises(ValueError, match=r"min_count=3: column 'x' has a bin of num"):
        ProximityKernel(4).fit(numbers).save(path, min_count=3)
    ProximityKernel(2).fit(numbers).save(path, min_count=3)
    with pytest.raises(ValueError, match="holds the fitted rows"):
        ProximityKernel(matching="cascade").fit(numbers).save(path, min_count=2)
    with pytest.raises(ValueError, match="min_count"):
        ProximityKernel().fit(numbers).save(path, min_count=0)
    with pytest.raises(TypeError, match="min_count"):
        ProximityImputer().fit(numbers).save(path, min_count=2)


@pytest.mark.parametrize("command", ["represent", "impute", "cluster", "outliers"])
def test_ids_and_texts_that_are_left_out_are_not_saved(tmp_path, command):
    table = make_table().rename(columns={"name": "patient_id"})
    table["patient_id"] = [f"secret-{i}" for i in range(len(table))]
    table["remark"] = [f"he said hidden-{i} twice" for i in range(len(table))]
    table.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.model"
    more = ["-k2"] if command == "cluster" else []
    given = [tmp_path / "t.csv", "-o", tmp_path / "o.csv", "--save-model", model]
    assert run_inside(command, *given, *more) == 0
    assert b"secret-" not in model.read_bytes()
    assert b"hidden-" not in model.read_bytes()
