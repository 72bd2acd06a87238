"""The registry, and the contract that every method in it keeps."""

import pickle
import subprocess
import sys
from importlib import import_module
from inspect import signature

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from proximity_kernel import ProximityKernel
from proximity_kernel_paper.baselines import Method, registry

BINS = (2, 3, 4, 6, 8)
STEPS = (10, 100, 200, 500)
EPOCHS = (100, 200, 500)
BATCHES = (32, 64, 128, 256)
RATES = (1e-3, 1e-4, 1e-5)
# The paper's methods and grids, and ours beside them.
GRIDS = {
    "Mean": {},
    "MissForest": {"max_iter": (5, 10, 15)},
    "MICE": {"max_iter": STEPS},
    "KNN": {"n_neighbors": (5, 10, 20)},
    "EM": {"max_iter": STEPS},
    "GAIN": {"epochs": EPOCHS, "batch_size": BATCHES},
    "MIRACLE": {"learning_rate": RATES, "batch_size": BATCHES},
    "MIWAE": {"epochs": EPOCHS, "batch_size": BATCHES},
    "HI-PMK": {},
    "PK": {"n_bins": BINS},
    "prior only": {"n_bins": BINS},
}
DEEP = {"GAIN", "MIRACLE", "MIWAE"}
SHALLOW = [name for name in GRIDS if name not in DEEP]
IMPUTING = [name for name in SHALLOW if registry[name].build.imputes]
QUICK = {"MissForest": {"n_estimators": 5, "max_iter": 2}, "MICE": {"max_iter": 3}}


def make_table(n, seed, colours=("blue", "green", "red")):
    """Numbers, integers, truth, ordered and unordered categories, with holes."""
    random = np.random.default_rng(seed)
    latent = random.normal(size=n)
    frame = pd.DataFrame(
        {
            "size": latent + random.normal(size=n) / 4,
            "count": pd.array((9 * latent).astype(int), dtype="Int64"),
            "flag": pd.array(latent > 0, dtype="boolean"),
            "grade": pd.Categorical.from_codes(
                np.digitize(latent, [-0.5, 0.5]), ["low", "mid", "high"], ordered=True
            ),
            "colour": random.choice(list(colours), n),
            "shape": pd.Categorical(np.where(latent > 0, "round", "square")),
        }
    )
    return frame.mask(random.random(frame.shape) < 0.2)


def build(name, seed=0):
    return registry[name].build(random_state=seed, **QUICK.get(name, {}))


def dense(result):
    return result.toarray() if sp.issparse(result) else result


def test_the_registry_has_every_method_with_its_grid():
    found = {name: dict(method.grid) for name, method in registry.items()}
    assert GRIDS.items() <= found.items()
    assert all(not grid for name, grid in found.items() if name not in GRIDS)
    assert all(name == method.name for name, method in registry.items())
    assert all(isinstance(method, Method) for method in registry.values())


@pytest.mark.parametrize("name", GRIDS)
def test_the_class_behind_a_method_has_the_options_of_its_grid(name):
    recipe = registry[name].build
    module = import_module(recipe.module, "proximity_kernel_paper.baselines")
    assert (
        registry[name].grid.keys()
        <= signature(getattr(module, recipe.cls)).parameters.keys()
    )


@pytest.mark.parametrize("name", sorted(DEEP))
def test_a_deep_method_is_built_with_its_grid(name):
    options = {option: values[0] for option, values in registry[name].grid.items()}
    built = registry[name].build(random_state=3, **options)
    assert built.imputer.random_state == 3
    assert {option: getattr(built.imputer, option) for option in options} == options


def test_torch_is_loaded_by_the_deep_methods_alone():
    code = """
import sys
import numpy as np
from proximity_kernel_paper.baselines import registry
registry["Mean"].build().fit_transform(np.eye(3))
before = "torch" in sys.modules
registry["GAIN"].build()
print(before, "torch" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", SHALLOW)
def test_an_unknown_option_is_named(name):
    with pytest.raises(TypeError, match=f"{name} has no option 'wrong'"):
        registry[name].build(wrong=1)


def test_options_reach_the_method():
    assert registry["KNN"].build(n_neighbors=20).imputer.n_neighbors == 20
    assert registry["HI-PMK"].build(missing="bin0").missing == "bin0"
    pk = registry["PK"].build(random_state=5, n_bins=7, matching="cascade")
    assert isinstance(pk, ProximityKernel)
    assert (pk.n_bins, pk.matching, pk.random_state) == (7, "cascade", 5)


@pytest.mark.parametrize("name", SHALLOW)
def test_fits_one_table_and_transforms_another_with_new_categories(name):
    table = make_table(60, seed=0)
    other = make_table(25, seed=1, colours=("blue", "violet"))
    before = table.copy(deep=True), other.copy(deep=True)
    method = build(name).fit(table)
    fitted, new = dense(method.transform(table)), dense(method.transform(other))
    assert new.shape == (25, fitted.shape[1])
    assert np.isfinite(fitted).all()
    assert np.isfinite(new).all()
    pd.testing.assert_frame_equal(table, before[0])
    pd.testing.assert_frame_equal(other, before[1])


@pytest.mark.parametrize("name", SHALLOW)
def test_gives_the_same_answer_twice(name):
    table, other = make_table(60, seed=0), make_table(25, seed=1)
    method = build(name)
    first = dense(method.fit_transform(table))
    new = dense(method.transform(other))
    np.testing.assert_array_equal(dense(method.transform(other)), new)
    np.testing.assert_array_equal(dense(method.transform(table)), first)
    again = clone(method).fit(table)
    np.testing.assert_array_equal(dense(again.transform(table)), first)
    np.testing.assert_array_equal(dense(again.transform(other)), new)
    stored = pickle.loads(pickle.dumps(method))
    np.testing.assert_array_equal(dense(stored.transform(other)), new)


@pytest.mark.parametrize("name", ["MICE", "MissForest"])
def test_another_seed_gives_another_answer(name):
    table = make_table(60, seed=0)
    results = [build(name, seed).fit_transform(table) for seed in (0, 1)]
    assert np.abs(results[0] - results[1]).max() > 1e-3


# MICE draws for all rows of a column together.
@pytest.mark.parametrize("name", [name for name in SHALLOW if name != "MICE"])
def test_a_row_does_not_depend_on_the_rows_it_comes_with(name):
    table, other = make_table(60, seed=0), make_table(12, seed=1)
    method = build(name).fit(table)
    together = dense(method.transform(other))
    for i in range(len(other)):
        alone = dense(method.transform(other.iloc[[i]]))
        np.testing.assert_allclose(alone[0], together[i], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", SHALLOW)
def test_other_columns_are_refused_by_name(name):
    table = make_table(30, seed=0)
    method = build(name).fit(table)
    with pytest.raises(ValueError, match="weight"):
        method.transform(table.rename(columns={"size": "weight"}))
    with pytest.raises(ValueError, match="colour"):
        method.transform(table.drop(columns="colour"))


@pytest.mark.parametrize("name", SHALLOW)
def test_silent_unless_asked(name, capfd):
    build(name).fit_transform(make_table(30, seed=0))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "said"),
    [("EM", "EM: step 1,"), ("MissForest", "MissForest: round 1,"), ("MICE", "round")],
)
def test_long_training_reports_when_asked(name, said, capfd):
    options = QUICK.get(name, {})
    registry[name].build(verbose=True, **options).fit(make_table(30, seed=0))
    assert said in "".join(capfd.readouterr())


@pytest.mark.parametrize("name", SHALLOW)
def test_arrays_of_numbers_are_tables_too(name):
    random = np.random.default_rng(0)
    values = random.normal(size=(40, 3))
    values[random.random(values.shape) < 0.2] = np.nan
    names = ["x0", "x1", "x2"]
    as_array = dense(build(name).fit_transform(values))
    as_frame = dense(build(name).fit_transform(pd.DataFrame(values, columns=names)))
    np.testing.assert_array_equal(as_array, as_frame)


@pytest.mark.parametrize("name", IMPUTING)
def test_a_constant_column_with_gaps_tells_nothing(name):
    table = make_table(60, seed=0)
    gaps = np.random.default_rng(1).random((2, 60)) < 0.3
    table["same"] = np.where(gaps[0], np.nan, 0.1)  # its mean is not quite 0.1
    table["word"] = pd.Series("one").repeat(60).mask(gaps[1]).to_numpy()
    method = build(name)
    assert not method.fit_transform(table)[:, -2:].any()
    assert not method.transform(make_table(9, 1).assign(same=np.nan, word="one"))[
        :, -2:
    ].any()
    filled = method.fill(table)
    assert (filled["same"] == 0.1).all()
    assert (filled["word"] == "one").all()


@pytest.mark.parametrize("name", IMPUTING)
def test_observed_cells_stay_also_where_nothing_was_observed_at_fit(name):
    random = np.random.default_rng(0)
    fitted, new = random.normal(size=(2, 40, 4))
    fitted[random.random(fitted.shape) < 0.2] = np.nan
    fitted[:, 1], fitted[:, 2] = np.nan, 0.1
    gaps = random.random(new.shape) < 0.3
    new[gaps] = np.nan
    filled = build(name).fit(fitted).fill(new)
    np.testing.assert_array_equal(filled[~gaps], new[~gaps])
    assert (filled[gaps[:, 1], 1] == 0).all()
    assert (filled[gaps[:, 2], 2] == 0.1).all()


@pytest.mark.parametrize("name", IMPUTING)
def test_labels_that_spell_numbers_are_filled_with_such_labels(name):
    random = np.random.default_rng(0)
    labels = ["0.5", "2208", "30", "7"]
    table = pd.DataFrame(
        {
            "site": random.choice(labels, 60),
            "size": random.normal(size=60),
            "level": pd.Categorical(
                random.choice([1, 2, 10], 60), [1, 2, 10], ordered=True
            ),
        }
    )
    gaps = random.random(table.shape) < 0.2
    holed = table.mask(gaps)
    filled = build(name).fit(holed).fill(holed)
    assert set(filled["site"]) == set(labels)
    assert set(filled["level"]) == {1, 2, 10}
    for j, column in enumerate(table.columns):
        seen = ~gaps[:, j]
        assert (filled[column][seen] == table[column][seen]).all()
