"""
Near-duplicates: the same customer, entered twice
=================================================

Which records mean the same person? 1,000 customers are made here, and 80 of them are
entered a second time by someone else: fields left empty, a name misspelled, the income
a little different, sometimes a new city.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from proximity_kernel import ProximityKernel, ProximityNeighbors, explain

rng = np.random.default_rng(0)
n, n_twice = 1000, 80
cities = [f"city {letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 24_000, n), "D")
customers = pd.DataFrame({
    "name": ["".join(rng.choice(list("abcdefgilmnorstu"), 7)) for _ in range(n)],
    "born": born,
    "city": rng.choice(cities, n),
    "plan": rng.choice(["basic", "plus", "family"], n, p=[0.6, 0.3, 0.1]),
    "since": rng.integers(2005, 2026, n),
    "income": np.exp(rng.normal(10.5, 0.6, n)).round(-2),
    "children": rng.poisson(1.1, n),
})  # fmt: skip
twice = rng.choice(n, n_twice, replace=False)
again = customers.iloc[twice].copy()
again["name"] = [name[:3] + "x" + name[4:] for name in again["name"]]
again["income"] = (again["income"] * rng.normal(1, 0.02, n_twice)).round(-2)
again["city"] = again["city"].where(
    rng.random(n_twice) < 0.8, rng.choice(cities, n_twice)
)
again = again.mask(rng.random(again.shape) < 0.15)
table = pd.concat([customers, again], ignore_index=True)
true_pairs = {(int(a), n + k) for k, a in enumerate(twice)}
print(table.iloc[[twice[0], n]].to_string())

# %%
# The nearest record of each record
# ---------------------------------
# Names are text that nearly always differs, so they are left out here: this library
# compares labels as equal or not, and knows nothing of spelling. Numbers have sixteen
# bins, and count only if they share one. (The default scale of neighbors gives a part
# of the score to numbers that are only roughly alike. That is right for similar rows,
# but not for copies: see the figure.)

compared = table.drop(columns="name")
near = ProximityNeighbors(1, kernel=ProximityKernel(n_bins=16)).fit(compared)
distances, nearest = near.kneighbors()


def rank_pairs(distances: np.ndarray, nearest: np.ndarray) -> list[tuple[int, int]]:
    """List the pairs of nearest records, the closest first."""
    order = np.argsort(distances[:, 0], kind="stable")
    pairs = {tuple(sorted((int(i), int(nearest[i, 0])))): None for i in order}
    return list(pairs)


pairs = rank_pairs(distances, nearest)
print(explain(near, compared.iloc[[pairs[0][0]]], compared.iloc[[pairs[0][1]]]))

# %%
# What you do today
# -----------------
# ``drop_duplicates`` finds records that are equal in every cell: none of these. A join
# on birthday and city loses those where one of them is missing or new. The third way
# fills the gaps, encodes, and takes the Euclidean distance.

exact = table.duplicated(["born", "city"], keep=False) & table["born"].notna()
print(f"equal in all cells: {table.duplicated().sum()}")
print(f"same birthday and city: {exact.sum() // 2} pairs of {n_twice}")

numbers = compared.assign(
    born=compared["born"].astype("int64").where(compared["born"].notna())
)
numbers = numbers.select_dtypes("number")
labels = compared[["city", "plan"]]
filled = np.hstack([
    StandardScaler().fit_transform(SimpleImputer(strategy="median").fit_transform(numbers)),
    OneHotEncoder(sparse_output=False).fit_transform(
        SimpleImputer(strategy="most_frequent").fit_transform(labels)
    ),
])  # fmt: skip
filled_pairs = rank_pairs(*NearestNeighbors(n_neighbors=1).fit(filled).kneighbors())

# %%
# How many true pairs are among the closest pairs?

ways = {
    "sixteen bins": pairs,
    "default scale": rank_pairs(*ProximityNeighbors(1).fit(compared).kneighbors()),
    "filled first": filled_pairs,
}
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
for name, ranked in ways.items():
    found = np.cumsum([pair in true_pairs for pair in ranked[:200]])
    print(f"{name:18} {found[n_twice - 1]} of {n_twice} in the first {n_twice} pairs, "
          f"{found[-1]} in the first 200")  # fmt: skip
    axes.plot(np.arange(1, 201), found, label=name)
axes.axhline(n_twice, color="black", linestyle="--", linewidth=1)
axes.set(xlabel="pairs looked at, the closest first", ylabel="true pairs found")
axes.legend(frameon=False)

# %%
# When to take something else
# ---------------------------
# If names, addresses or product texts decide, use a tool for record linkage. Splink and
# dedupe compare spellings, learn how often each field is wrong, and give the
# probability of a match. This library helps where the fields are numbers, dates and
# labels with gaps, or as the first filter that proposes pairs.
