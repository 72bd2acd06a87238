"""
Near-duplicates: the same customer, entered twice
=================================================

Which records mean the same person? 1,000 customers are made here, and 80 of them are
entered a second time by someone else: fields left empty, the income a little different,
sometimes a new city, and half of the birthdays estimated from the age. The program,
which can be downloaded below, has the lines that make the table.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from proximity_kernel import ProximityKernel, ProximityNeighbors, explain

# sphinx_gallery_start_ignore
TWICE = 80


def make_customers(seed: int, estimated: float) -> tuple[pd.DataFrame, set]:
    """Enter some customers twice; a share of their birthdays is estimated."""
    rng = np.random.default_rng(seed)
    n = 1000
    cities = [f"city {letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
    born = rng.integers(0, 24_000, n)
    customers = pd.DataFrame({
        "born": pd.Timestamp("1940-01-01") + pd.to_timedelta(born, "D"),
        "city": rng.choice(cities, n),
        "plan": rng.choice(["basic", "plus", "family"], n, p=[0.6, 0.3, 0.1]),
        "since": rng.integers(2005, 2026, n),
        "income": np.exp(rng.normal(10.5, 0.6, n)).round(-2),
        "children": rng.poisson(1.1, n),
    })  # fmt: skip
    twice = rng.choice(n, TWICE, replace=False)
    again = customers.iloc[twice].copy()
    again["income"] = (again["income"] * rng.normal(1, 0.02, TWICE)).round(-2)
    moved = rng.random(TWICE) < 0.2
    again["city"] = again["city"].mask(moved, rng.choice(cities, TWICE))
    off = rng.integers(-200, 201, TWICE) * (rng.random(TWICE) < estimated)
    again["born"] += pd.to_timedelta(off, "D")
    again = again.mask(rng.random(again.shape) < 0.15)
    true_pairs = {(int(a), n + k) for k, a in enumerate(twice)}
    return pd.concat([customers, again], ignore_index=True), true_pairs


# sphinx_gallery_end_ignore
customers, true_pairs = make_customers(seed=0, estimated=0.5)
print(customers.iloc[list(min(true_pairs))].to_string())

# %%
# The nearest record of each record
# ---------------------------------
# A number counts here only if it lies in the same of 64 bins. The default scale of
# neighbors gives a part of the score to numbers that are roughly alike, which is right
# for similar rows, but not for copies. The less the copies differ, the more bins.
#
# A reviewer reads this table from the top, and stops where true pairs become rare.


def rank_pairs(distances: np.ndarray, nearest: np.ndarray) -> pd.DataFrame:
    """List each record with its nearest one, the closest pairs first."""
    pairs = np.sort(np.c_[np.arange(len(nearest)), nearest[:, 0]], axis=1)
    listed = pd.DataFrame(pairs, columns=["a", "b"]).assign(distance=distances[:, 0])
    return listed.sort_values("distance", kind="stable").drop_duplicates(["a", "b"])


near = ProximityNeighbors(1, kernel=ProximityKernel(n_bins=64)).fit(customers)
pairs = rank_pairs(*near.kneighbors())
pairs["true"] = [tuple(p) in true_pairs for p in pairs[["a", "b"]].to_numpy()]
print(pairs.head(8).round(3).to_string(index=False))
print(pairs.groupby(pairs["distance"].round(1))["true"].agg(["sum", "size"]).head())

# %%
# The first 80 pairs among all records. A line joins the two records of a pair, if both
# fields are known.

figure, axes = plt.subplots(layout="constrained")
axes.scatter(customers["born"], customers["income"], s=6, color="0.75")
colors = {"same person": "#0072b2", "two persons": "#d55e00"}
for name, color in colors.items():
    listed = pairs[:TWICE][pairs["true"][:TWICE] == (name == "same person")]
    ends = [customers.iloc[list(pair)] for pair in listed[["a", "b"]].to_numpy()]
    for k, both in enumerate(ends):
        label = f"{name}: {len(ends)} pairs" if k == 0 else None
        axes.plot(both["born"], both["income"], ".-", color=color, label=label)
axes.set(xlabel="born", ylabel="income", yscale="log")
_ = axes.legend()

# %%
# ``radius_neighbors`` finds all records within a distance, for people who were entered
# three times; on the command line ``neighbors FILE -k 1`` lists the nearest of each.
# Why the first pair? Similarity 1 means the same bin in every field, not equal values.

first = pairs.iloc[0]
print(explain(near, customers.iloc[[first["a"]]], customers.iloc[[first["b"]]]))

# %%
# What you do today
# -----------------
# Four ways. Join on the birthday. Write a rule for each field: a point if both agree
# (incomes within 5 %, birthdays within a year), half a point less if they do not. Fill
# the cells, encode, and take the Euclidean distance. Or ``drop_duplicates``, which
# finds nothing here: no two records are equal in every cell.


def join(customers: pd.DataFrame) -> pd.DataFrame:
    """Pair the records of the same birthday."""
    known = customers.reset_index(names="a").dropna(subset="born")
    joined = known.merge(known.rename(columns={"a": "b"}), on="born")
    return joined.loc[joined["a"] < joined["b"], ["a", "b"]]


def compare_by_rules(customers: pd.DataFrame) -> pd.DataFrame:
    """Rank all pairs by rules for each field."""
    first, second = np.triu_indices(len(customers), 1)
    points = np.zeros(len(first))
    near = {"born": pd.Timedelta("365D"), "income": 0.05}
    for name, cells in customers.assign(income=np.log(customers["income"])).items():
        a, b = cells.to_numpy()[first], cells.to_numpy()[second]
        same = np.abs(a - b) <= near[name] if name in near else a == b
        points += np.where(pd.isna(a) | pd.isna(b), 0, np.where(same, 1, -0.5))
    order = np.argsort(-points, kind="stable")[:200]
    return pd.DataFrame({"a": first[order], "b": second[order]})


def rank_filled(customers: pd.DataFrame) -> pd.DataFrame:
    """Rank pairs by the Euclidean distance of filled and encoded rows."""
    days = (customers["born"] - pd.Timestamp("1940-01-01")) / pd.Timedelta("1D")
    numbers = customers.assign(born=days).select_dtypes("number")
    filled = SimpleImputer(strategy="median").fit_transform(numbers)
    labels = SimpleImputer(strategy="most_frequent").fit_transform(
        customers[["city", "plan"]]
    )
    encoded = OneHotEncoder(sparse_output=False).fit_transform(labels)
    points = np.hstack([StandardScaler().fit_transform(filled), encoded])
    return rank_pairs(*NearestNeighbors(n_neighbors=1).fit(points).kneighbors())


def rank_by_kernel(customers: pd.DataFrame, n_bins: int | str) -> pd.DataFrame:
    """Rank pairs by the similarity of this library."""
    near = ProximityNeighbors(1, kernel=ProximityKernel(n_bins=n_bins))
    return rank_pairs(*near.fit(customers).kneighbors())


ways = {
    "join on the birthday": join,
    "rules by hand": compare_by_rules,
    "filled first": rank_filled,
    "proximity-kernel, 64 bins": lambda customers: rank_by_kernel(customers, 64),
    "the same, 16 bins": lambda customers: rank_by_kernel(customers, 16),
    "the same, default scale": lambda customers: rank_by_kernel(customers, "fine"),
}

# %%
# True pairs of 80 among the first 80, the mean of three draws. (The join has no order:
# all its pairs count.)

found = []
for estimated in (0.5, 0.0):
    for seed in range(3):
        customers, true_pairs = make_customers(seed, estimated)
        for way, rank in ways.items():
            listed = rank(customers)
            looked_at = listed if way.startswith("join") else listed[:TWICE]
            hits = true_pairs & set(map(tuple, looked_at[["a", "b"]].to_numpy()))
            birthdays = "half estimated" if estimated else "all exact"
            found.append({"way": way, "birthdays": birthdays, "found": len(hits)})
found = pd.DataFrame(found).pivot_table(
    "found", "way", "birthdays", aggfunc="mean", sort=False
)
print(found.round().astype(int).to_string())

# %%
# When to take something else
# ---------------------------
# If one field is exact and seldom missing, join on it: it is as good, and simpler. If
# you can write a rule for each field, write it: these rules find nearly as many pairs,
# and need no bins to be chosen. The library depends on that choice, and without known
# pairs one cannot check it. Take it for a first look at a table whose fields you do not
# know yet, for a table without any exact field, or as the filter that proposes pairs.
# If a field should count more than others, give it a weight: :doc:`/choosing`.
#
# If names, addresses or product texts decide, use a tool for record linkage. Labels are
# equal or not here, and nothing is known of spelling; Splink and dedupe compare
# spellings, learn how often each field is wrong, and give the probability of a match.
