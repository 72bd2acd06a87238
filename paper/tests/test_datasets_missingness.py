"""Hidden cells: how many exactly, and what they depend on, by their statistics."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from proximity_kernel.datasets import load_penguins
from proximity_kernel_paper.datasets import simulate_missing

MECHANISMS = ["mcar", "mar", "mnar"]


def mixed(n=200, seed=0):
    """A complete table with a column of every kind."""
    rng = np.random.default_rng(seed)
    size = pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    return pd.DataFrame(
        {
            "float": rng.normal(size=n),
            "int": rng.integers(0, 50, n),
            "byte": rng.integers(0, 9, n).astype("uint8"),
            "bool": rng.random(n) < 0.5,
            "nullable": pd.array(rng.integers(0, 9, n), dtype="Int32"),
            "ordered": pd.Series(rng.choice(["S", "M", "L"], n)).astype(size),
            "category": pd.Series(rng.choice(list("xyz"), n)).astype("category"),
            "text": rng.choice(["red", "blue"], n),
            "object": pd.Series(rng.choice(["a", "b"], n)).astype(object),
            "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(range(n), unit="D"),
            "zoned": pd.date_range("2020-01-01", periods=n, tz="Europe/Oslo"),
            "span": pd.to_timedelta(rng.integers(0, 99, n), unit="h"),
        },
        index=pd.Index(rng.permutation(n), name="row"),
    )


def gaussian(n=20_000, rho=0.6, n_columns=2, seed=0):
    """Correlated columns, so that what depends on one depends on the others too."""
    rng = np.random.default_rng(seed)
    covariance = np.full((n_columns, n_columns), rho) + (1 - rho) * np.eye(n_columns)
    return rng.multivariate_normal(np.zeros(n_columns), covariance, size=n)


# ------------------------------------------------------------------------ how many


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("rate", [0, 0.001, 0.1, 0.333, 0.5])
def test_rate_is_exact_and_of_all_cells(mechanism, rate):
    table = mixed()
    holes = simulate_missing(table, rate, mechanism, random_state=0)
    assert int(holes.isna().sum().sum()) == round(rate * table.size)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_cells_missing_already_stay_and_do_not_count(mechanism):
    penguins = load_penguins()
    holes = simulate_missing(penguins, 0.2, mechanism, random_state=0)
    before, after = penguins.isna(), holes.isna()
    assert (after | ~before).all(axis=None)
    assert int((after & ~before).sum().sum()) == round(0.2 * penguins.size)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_not_hidden_is_as_it_was(mechanism):
    table = mixed()
    given = table.copy(deep=True)
    holes = simulate_missing(table, 0.3, mechanism, random_state=0)
    pd.testing.assert_frame_equal(table, given)
    assert holes.columns.equals(table.columns)
    assert holes.index.equals(table.index)
    for name in table:
        kept = holes[name].notna()
        assert holes.loc[kept, name].to_list() == table.loc[kept, name].to_list()


@pytest.mark.parametrize("mechanism", ["mcar", "mnar"])
def test_dtypes_are_kept_where_they_have_a_missing_value(mechanism):
    table = mixed()
    holes = simulate_missing(table, 0.3, mechanism, random_state=0)
    assert holes.isna().any().all()
    changed = {"int": "Int64", "byte": "UInt8", "bool": "boolean"}
    for name, dtype in table.dtypes.items():
        assert holes[name].dtype == changed.get(name, dtype)


def test_a_column_with_nothing_hidden_keeps_its_dtype():
    table = pd.DataFrame({"int": range(40), "constant": 1.0})
    holes = simulate_missing(table, 0.4, "mar", random_state=0)
    assert holes["int"].dtype == np.int64
    assert holes["constant"].isna().sum() == 32


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_arrays(mechanism, dtype):
    table = (100 * gaussian(50, n_columns=4)).astype(dtype)
    given = table.copy()
    holes = simulate_missing(table, 0.25, mechanism, random_state=0)
    assert type(holes) is np.ndarray
    assert holes.dtype == (dtype if dtype != "int64" else "float64")
    assert np.isnan(holes).sum() == 50
    np.testing.assert_array_equal(table, given)
    np.testing.assert_array_equal(holes[~np.isnan(holes)], table[~np.isnan(holes)])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_array_and_frame_lose_the_same_cells(mechanism):
    table = gaussian(50, n_columns=5)
    of_array = simulate_missing(table, 0.3, mechanism, random_state=1)
    of_frame = simulate_missing(pd.DataFrame(table), 0.3, mechanism, random_state=1)
    np.testing.assert_array_equal(of_array, of_frame)


def test_columns_of_the_same_name():
    table = mixed()[["float", "int", "text"]].set_axis(["a", "a", "b"], axis=1)
    holes = simulate_missing(table, 0.5, random_state=0)
    assert list(holes.columns) == ["a", "a", "b"]
    assert int(holes.isna().sum().sum()) == 300


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_nothing_to_hide_gives_a_copy(mechanism):
    table = mixed()
    holes = simulate_missing(table, 0.0, mechanism)
    pd.testing.assert_frame_equal(holes, table)
    assert holes is not table
    assert simulate_missing(table.iloc[:0], 0.5, mechanism).shape == (0, 12)


# ------------------------------------------------------------------------- seeds


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_seeds(mechanism):
    table = mixed()
    first, again, other = (
        simulate_missing(table, 0.3, mechanism, random_state=seed) for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(first, again)
    assert not first.isna().equals(other.isna())
    sources = (np.random.default_rng, np.random.RandomState)
    for source in sources:
        pair = [simulate_missing(table, 0.3, mechanism, source(5)) for _ in range(2)]
        pd.testing.assert_frame_equal(*pair)
    rng = np.random.default_rng(5)  # a generator moves on
    pair = [simulate_missing(table, 0.3, mechanism, rng).isna() for _ in range(2)]
    assert not pair[0].equals(pair[1])


# -------------------------------------------------------------- what holes depend on


def test_mcar_depends_on_nothing():
    table = gaussian(n_columns=3)
    hidden = np.isnan(simulate_missing(table, 0.3, "mcar", random_state=0))
    for j in range(3):
        # By column and by value: within what chance allows.
        assert stats.binomtest(int(hidden[:, j].sum()), 20_000, 0.3).pvalue > 0.001
        for k in range(3):
            p = stats.ks_2samp(table[hidden[:, j], k], table[~hidden[:, j], k]).pvalue
            assert p > 0.001
    together = np.corrcoef(hidden.T)[np.triu_indices(3, 1)]
    assert np.abs(together).max() < 0.03


def test_mar_depends_on_the_driver_and_given_it_on_nothing_else():
    table = gaussian()
    hidden = np.isnan(simulate_missing(table, 0.2, "mar", random_state=0))
    driver, driven = np.argsort(hidden.any(axis=0))
    assert not hidden[:, driver].any()
    gone = hidden[:, driven]
    assert stats.pointbiserialr(gone, table[:, driver]).statistic > 0.4
    # Through the correlation it depends on its own value too ...
    assert stats.pointbiserialr(gone, table[:, driven]).statistic > 0.2
    # ... but not among rows where the driver is the same: within thin slices of it.
    place = np.argsort(np.argsort(table[:, driver])) * 200 // len(table)
    own = pd.Series(table[:, driven]).groupby(place).transform(lambda v: v - v.mean())
    share = pd.Series(gone.astype(float)).groupby(place)
    assert abs(np.corrcoef(own, share.transform(lambda v: v - v.mean()))[0, 1]) < 0.025


def test_mar_is_likelier_the_higher_the_driver():
    table = gaussian()
    hidden = np.isnan(simulate_missing(table, 0.2, "mar", random_state=0))
    driver, driven = np.argsort(hidden.any(axis=0))
    tenth = np.argsort(np.argsort(table[:, driver])) * 10 // len(table)
    shares = pd.Series(hidden[:, driven]).groupby(tenth).mean()
    assert shares.is_monotonic_increasing
    assert shares.iloc[-1] > 5 * shares.iloc[0]


@pytest.mark.parametrize("seed", range(20))
def test_mar_drivers_are_a_third_and_stay_whole(seed):
    holes = simulate_missing(mixed(), 0.3, "mar", random_state=seed).isna()
    assert (holes.sum() == 0).sum() == 4  # of 12 columns


@pytest.mark.parametrize("seed", range(10))
def test_mar_drivers_are_complete_and_vary(seed):
    table = mixed()[["float", "int", "text"]].assign(constant=1, holey=1.0)
    table.iloc[0, 4] = np.nan
    table.iloc[1, 0] = np.nan
    holes = simulate_missing(table, 0.3, "mar", random_state=seed)
    whole = set(holes.columns[holes.notna().all()])
    assert len(whole) == 1
    assert whole <= {"int", "text"}


def test_mar_every_column_but_drivers_is_driven_by_one_of_them():
    table = gaussian(4000, rho=0.0, n_columns=9)
    hidden = np.isnan(simulate_missing(table, 0.2, "mar", random_state=3))
    drivers = np.flatnonzero(~hidden.any(axis=0))
    assert len(drivers) == 3
    masters = []
    for j in np.flatnonzero(hidden.any(axis=0)):
        strength = [
            stats.pointbiserialr(hidden[:, j], table[:, k]).statistic for k in drivers
        ]
        assert np.sort(strength)[-1] > 0.3  # the one
        assert np.abs(np.sort(strength)[:-1]).max() < 0.1  # the others
        masters.append(int(np.argmax(strength)))
    assert np.bincount(masters).tolist() == [2, 2, 2]


def test_mnar_depends_on_the_value_itself():
    table = gaussian(rho=0.0)
    hidden = np.isnan(simulate_missing(table, 0.2, "mnar", random_state=0))
    for j in range(2):
        gone, kept = table[hidden[:, j], j], table[~hidden[:, j], j]
        assert gone.mean() > kept.mean() + 0.8
        # The other column, which is independent of this one, plays no part.
        assert abs(stats.pointbiserialr(hidden[:, j], table[:, 1 - j]).statistic) < 0.03


def test_mnar_of_ordered_categories_follows_their_order():
    # "L" < "M" < "S" by letters, the other way round by order.
    sizes = pd.CategoricalDtype(["S", "M", "L"], ordered=True)
    table = pd.DataFrame({"size": pd.Series(list("SML") * 500).astype(sizes)})
    hidden = simulate_missing(table, 0.3, "mnar", random_state=0)["size"].isna()
    shares = hidden.groupby(table["size"], observed=True).mean()
    assert shares["S"] < shares["M"] < shares["L"]


@pytest.mark.parametrize("dtype", ["category", "object", "str"])
def test_mnar_of_labels_follows_a_random_order(dtype):
    table = pd.DataFrame({"colour": pd.Series(list("xyz") * 500, dtype=dtype)})
    likeliest = set()
    for seed in range(12):
        holes = simulate_missing(table, 0.3, "mnar", random_state=seed)
        shares = holes["colour"].isna().groupby(table["colour"], observed=True).mean()
        assert shares.max() > 2 * shares.min()
        likeliest.add(shares.idxmax())
    assert likeliest == {"x", "y", "z"}


@pytest.mark.parametrize("name", ["int", "bool", "nullable", "date", "zoned", "span"])
def test_mnar_of_every_kind_with_an_order(name):
    table = mixed(2000)[[name]]
    hidden = simulate_missing(table, 0.3, "mnar", random_state=0)[name].isna()
    values = table[name].rank()
    assert values[hidden].mean() > values[~hidden].mean() + 200


def test_strength():
    table = gaussian(rho=0.0)
    gaps = []
    for strength in (-4, 0, 1, 8):
        holes = simulate_missing(table, 0.2, "mnar", random_state=0, strength=strength)
        hidden = np.isnan(holes)
        gaps.append(table[hidden].mean() - table[~hidden].mean())
    assert gaps == sorted(gaps)
    assert abs(gaps[1]) < 0.03
    assert gaps[0] < -0.5


@pytest.mark.parametrize("mechanism", ["mar", "mnar"])
def test_units_and_outliers_do_not_matter(mechanism):
    table = gaussian(500, n_columns=4)
    stretched = np.exp(5 * table)
    first, second = (
        np.isnan(simulate_missing(t, 0.2, mechanism, random_state=0))
        for t in (table, stretched)
    )
    np.testing.assert_array_equal(first, second)


# -------------------------------------------------------------------------- errors


def test_more_than_can_be_hidden():
    table = pd.DataFrame(np.arange(40.0).reshape(10, 4))
    table.iloc[0] = np.nan
    with pytest.raises(ValueError, match=r"the largest possible rate is 0.9"):
        simulate_missing(table, 0.95)
    assert simulate_missing(table, 0.9).isna().all(axis=None)
    with pytest.raises(ValueError, match=r"the largest possible rate is 0.75"):
        simulate_missing(table.fillna(0.5), 0.8, "mar")


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": [1.0, 2.0, 3.0]}),
        pd.DataFrame({"a": [1.0, np.nan], "b": [np.nan, 1.0]}),
        pd.DataFrame({"a": [1.0, 1.0], "b": [np.nan, 1.0]}),
    ],
    ids=["one column", "none complete", "only a constant"],
)
def test_mar_without_a_driver(table):
    with pytest.raises(ValueError, match="'mar' needs a driver"):
        simulate_missing(table, 0.3, "mar")


@pytest.mark.parametrize("rate", [-0.1, 1, 1.5, np.nan, "0.3", None])
def test_rates_that_are_none(rate):
    with pytest.raises(ValueError, match="rate must be at least 0 and less than 1"):
        simulate_missing(mixed(), rate)


def test_unknown_mechanism():
    with pytest.raises(ValueError, match=r"mechanism must be one of .* got 'MCAR'"):
        simulate_missing(mixed(), 0.1, "MCAR")


@pytest.mark.parametrize(
    "table",
    [[[1.0, 2.0]], np.arange(3.0), np.array([["a", "b"]]), pd.Series([1.0])],
    ids=["list", "one dimension", "strings", "series"],
)
def test_what_is_no_table(table):
    with pytest.raises(TypeError, match=r"array|DataFrame"):
        simulate_missing(table, 0.1)
