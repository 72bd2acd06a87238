"""
Similar patients, when some had no blood test
=============================================

Which patients are most like this one? The table is scikit-learn's ``diabetes``: 442
patients, with the progression of the disease one year later. We take the six blood
values away from 30 % of them, as if the test was not done, so that we can check.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from proximity_kernel import ProximityNeighbors, explain

table, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
blood = [name for name in table if name.startswith("s") and name != "sex"]
untested = np.random.default_rng(0).random(len(table)) < 0.3
patients = table.assign(sex=table["sex"].map({1: "a", 2: "b"}))  # a label, not a number
patients.loc[untested, blood] = np.nan
print(patients.head(3).to_string())

# %%
# The neighbors of one patient
# ----------------------------
# The patient has no blood values. No column is scaled, encoded or filled. The six cells
# are missing together, so by default "not tested" would be a value of its own, and
# untested patients would find each other. Here we know that tests were left out by
# chance, and say so: missing cells are estimated.

near = ProximityNeighbors(n_neighbors=10).set_params(kernel__missingness="ignorable")
near.fit(patients)
one = patients[untested].iloc[[0]]
distances, rows = near.kneighbors(one, n_neighbors=5)
print(patients.iloc[rows[0]].assign(distance=distances[0]).round(2).to_string())

figure, axes = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
axes.scatter(patients["bmi"], patients["bp"], s=14, color="#BBBBBB", label="all")
found = patients.iloc[rows[0]]
axes.scatter(found["bmi"], found["bp"], s=40, color="#0072B2", label="most similar")
axes.scatter(one["bmi"], one["bp"], s=90, color="#E69F00", marker="*", label="the one")
axes.set(xlabel="body mass index", ylabel="blood pressure")
axes.legend(frameon=False)

# %%
# The patient, row 1, was fitted too and is in this list, but not at distance 0: six
# cells are missing, and two patients with the same missing cells need not be equal
# there. (Without a table, ``kneighbors()`` leaves each row out of its own list.)
#
# Why is the second of them near? "Same range" is the same bin on the finest scale,
# "close" a coarser one. A missing cell, written ``?``, shows its likeliest bins and, in
# brackets, the columns that moved this estimate. More in :doc:`/reasons`.

print(explain(near, one, patients.iloc[rows[0, 1:2]]))

# %%
# What you do today
# -----------------
# Encode, scale, fill the cells, take the Euclidean distance.

numbers = patients.assign(sex=patients["sex"].map({"a": 0, "b": 1}))
neighbors = {"proximity-kernel": near.kneighbors(return_distance=False)}
for name, imputer in {
    "median": SimpleImputer(strategy="median"),
    "k-NN": KNNImputer(),
}.items():
    filled = make_pipeline(StandardScaler(), imputer).fit_transform(numbers)
    search = NearestNeighbors(n_neighbors=10).fit(filled)
    neighbors[f"filled by {name}"] = search.kneighbors(return_distance=False)

# %%
# A filled patient is near to other filled patients, because all of them got similar
# values. So the patients without a test find each other, though nothing says that they
# are alike. The share of untested patients among the neighbors of one:

for name, found in neighbors.items():
    print(f"{name:18} {untested[found][untested].mean():.2f}")
print(f"{'in the whole table':18} {untested.mean():.2f}")

# %%
# How well do neighbors predict?
# ------------------------------
# The mean progression of the ten neighbors, beside the patient's own: mean absolute
# error, lower is better.

for name, found in neighbors.items():
    error = np.abs(progression.to_numpy()[found].mean(axis=1) - progression)
    print(f"{name:18} all {error.mean():5.1f}   untested {error[untested].mean():5.1f}")

# %%
# On this table filling by k-NN predicts a little better: nine of its ten columns are
# smooth numbers that go together, which a Euclidean distance uses fully. With mixed
# columns expect about the same, with many missing cells a little better. The larger
# gain is that untested patients do not find each other, and that you can say why rows
# are similar.
