"""
Matching for a causal comparison
================================

Did the treatment work, or were the treated different from the start? The patients are
those of scikit-learn's ``diabetes``. The treatment is made here: heavy patients with a
high blood pressure get it more often, and it lowers the progression by 20. A quarter
of the cells is hidden. So the true answer is known: -20.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from proximity_kernel import ProximityNeighbors

complete, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)


def make_study(seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Treat some patients, and hide cells."""
    rng = np.random.default_rng(seed)
    risk = StandardScaler().fit_transform(complete[["bmi", "bp", "s5"]])
    chance = 1 / (1 + np.exp(0.8 - risk @ [0.9, 0.5, 0.6]))
    treated = rng.random(len(complete)) < chance
    outcome = progression.to_numpy() - 20 * treated
    patients = complete.assign(sex=complete["sex"].map({1: "a", 2: "b"}))
    return patients.mask(rng.random(patients.shape) < 0.25), treated, outcome


# %%
# Match each treated patient with five that were not
# --------------------------------------------------

patients, treated, outcome = make_study(seed=0)
near = ProximityNeighbors(5).fit(patients[~treated])
distances, rows = near.kneighbors(patients[treated])
difference = outcome[treated] - outcome[~treated][rows].mean(axis=1)
print(f"treated {treated.sum()}, others {(~treated).sum()}")
print(f"without matching: {outcome[treated].mean() - outcome[~treated].mean():+.1f}")
print(f"matched:          {difference.mean():+.1f}   (true: -20)")

# %%
# Are the groups alike after matching?
# ------------------------------------
# The difference of the means, in standard deviations, before and after. The complete
# table is used to check; in a real study one would look at the observed cells.

before = complete[treated].mean() - complete[~treated].mean()
after = complete[treated].mean() - complete[~treated].to_numpy()[rows].mean(axis=(0, 1))
balance = pd.DataFrame({"before": before, "matched": after}).div(complete.std(), axis=0)
figure, axes = plt.subplots(figsize=(6.4, 3), layout="constrained")
for name, marker in (("before", "o"), ("matched", "s")):
    axes.scatter(balance[name], balance.index, marker=marker, label=name)
axes.axvline(0, color="black", linewidth=1)
axes.set_xlabel("treated minus others, in standard deviations")
axes.legend(frameon=False)

# %%
# What you do today
# -----------------
# Fill, scale, and match by the Euclidean distance, or by the propensity score: the
# chance of being treated, from a logistic regression. Twenty studies; the error is that
# of the estimated effect.


def match(points: np.ndarray, treated: np.ndarray) -> np.ndarray:
    """Find five untreated rows for each treated one."""
    search = NearestNeighbors(n_neighbors=5).fit(points[~treated])
    return search.kneighbors(points[treated], return_distance=False)


effects = []
for seed in range(20):
    patients, treated, outcome = make_study(seed)
    numbers = patients.assign(sex=patients["sex"].map({"a": 0, "b": 1}))
    filled = make_pipeline(
        StandardScaler(), SimpleImputer(strategy="median")
    ).fit_transform(numbers)
    score = LogisticRegression().fit(filled, treated).decision_function(filled)
    near = ProximityNeighbors(5).fit(patients[~treated])
    matches = {
        "proximity-kernel": near.kneighbors(patients[treated], return_distance=False),
        "filled, Euclidean": match(filled, treated),
        "filled, propensity score": match(score[:, None], treated),
    }
    effect = {"no matching": outcome[treated].mean() - outcome[~treated].mean()}
    for name, rows in matches.items():
        effect[name] = (outcome[treated] - outcome[~treated][rows].mean(axis=1)).mean()
    effects.append(effect)
effects = pd.DataFrame(effects)
summary = pd.DataFrame({
    "mean effect": effects.mean(),
    "error (RMS)": np.sqrt(((effects + 20) ** 2).mean()),
})  # fmt: skip
print(summary.round(1).to_string())

# %%
# Matching rows that are similar in *all* columns removes most of the difference, more
# than the Euclidean distance after filling, but not all of it. The propensity score
# looks only at what decides the treatment and comes closer to the truth. So: use a
# propensity score for the figure, and matched rows to see which patients are compared
# and why. Nothing here corrects for what was never measured.
