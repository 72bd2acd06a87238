"""
Anomalies in a table with gaps
==============================

Which rows do not belong? Two tables of scikit-learn with a known answer: wines of two
cultivars with ten of a third, and benign tumors with ten malignant ones. And a table of
expense claims that is made here, once with ten claims that no department makes, once
with ten amounts that are a hundred times too large. Cells are hidden in all of them.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from proximity_kernel import ProximityOutliers


# sphinx_gallery_start_ignore
def plant(data, rare: int, seed: int, n: int = 10) -> tuple[pd.DataFrame, np.ndarray]:
    """Keep a few rows of the rare class, and hide a fifth of the cells."""
    rng = np.random.default_rng(seed)
    is_rare = (data.target == rare).to_numpy()
    kept = np.append(
        np.flatnonzero(~is_rare), rng.permutation(np.flatnonzero(is_rare))[:n]
    )
    table = data.data.iloc[kept].reset_index(drop=True)
    return table.mask(rng.random(table.shape) < 0.2), is_rare[kept]


def make_claims(kind: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw expense claims, spoil ten of them, and hide cells."""
    rng = np.random.default_rng(seed)
    n = 1000
    department = rng.choice(["sales", "it", "hr", "field"], n, p=[0.4, 0.3, 0.1, 0.2])
    shares = {"sales": [0.3, 0.5, 0.2, 0], "it": [0.05, 0.1, 0.05, 0.8],
              "hr": [0.2, 0.6, 0.2, 0], "field": [0.5, 0.3, 0.2, 0]}  # fmt: skip
    prices = {"hotel": 140, "meal": 30, "taxi": 22, "software": 60}
    category = np.array([rng.choice(list(prices), p=shares[d]) for d in department])
    nights = np.where(category == "hotel", rng.integers(1, 5, n), 0)
    usual = np.array([prices[one] for one in category]) * np.maximum(nights, 1)
    claims = pd.DataFrame({
        "department": department,
        "category": category,
        "amount": (usual * np.exp(rng.normal(0, 0.35, n))).round(2),
        "nights": nights,
        "currency": rng.choice(["EUR", "GBP", "USD"], n, p=[0.8, 0.12, 0.08]),
        "receipt": rng.choice(["yes", "no"], n, p=[0.95, 0.05]),
    })  # fmt: skip
    odd = np.isin(np.arange(n), rng.choice(n, 10, replace=False))
    if kind == "combination":
        claims.loc[odd, ["department", "category", "nights"]] = "hr", "software", 3
    else:
        claims.loc[odd, "amount"] *= 100
    return claims.mask(rng.random(claims.shape) < 0.15), odd


# sphinx_gallery_end_ignore
# %%
# The strangest wines, with reasons
# ---------------------------------

wines, odd = plant(load_wine(as_frame=True), rare=2, seed=0)
outliers = ProximityOutliers().fit(wines)
scores = outliers.score_samples(wines)
for row in np.argsort(scores)[:5]:
    print(f"row {row}, {'' if odd[row] else 'not '}of the third cultivar")
    for reason in outliers.reasons(wines.iloc[[row]], n=2)[0]:
        print(f"    {reason}")
found = odd[np.argsort(scores)[:20]].sum()
print(f"\n{found} of the 10 planted wines are among the first 20 of {len(wines)}")
print(f"marked by predict: {(outliers.predict(wines) == -1).sum()}")

# %%
# Some wines of the two usual cultivars are strange too. ``predict`` marks only rows
# that lie far below all others, often none. The scores rank all rows: read the first
# twenty, or let ``contamination=0.05`` mark the lowest 5 %.
#
# Claims that no department makes
# -------------------------------
# Each value is common, but not together. ``method="neighbors"`` compares a row with its
# most similar rows only. Gaps lower this score, so the row on top may be there for its
# gaps: compare it with rows that have as many.

claims, odd = make_claims("combination", seed=0)
outliers = ProximityOutliers(method="neighbors").fit(claims)
scores = outliers.score_samples(claims)
planted = np.flatnonzero(odd & claims.notna().all(axis=1))[0]
print(claims.iloc[planted].to_string())
for reason in outliers.reasons(claims.iloc[[planted]], n=2)[0]:
    print(f"    {reason}")
print(f"\n{odd[np.argsort(scores)[:20]].sum()} of 10 are among the first 20")

# %%
# What you do today
# -----------------
# Fill the gaps, encode, then an isolation forest or the local outlier factor. The
# figure is the area under the ROC curve: the chance that a planted row is ranked as
# stranger than one of the others. 0.5 is a coin. Five draws.


def score_all(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Score rows by each method; lower is stranger."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    labels = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    filled = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (labels, make_column_selector(dtype_exclude="number")),
        sparse_threshold=0,
    ).fit_transform(table)
    every, near = ProximityOutliers(), ProximityOutliers(method="neighbors")
    forest = IsolationForest(random_state=0).fit(filled)
    factor = LocalOutlierFactor(n_neighbors=50).fit(filled)
    return {
        'ours, method="all"': every.fit(table).score_samples(table),
        'ours, method="neighbors"': near.fit(table).score_samples(table),
        "isolation forest": forest.score_samples(filled),
        "local outlier factor": factor.negative_outlier_factor_,
    }


wine, cancer = load_wine(as_frame=True), load_breast_cancer(as_frame=True)
tables = {
    "wine": lambda seed: plant(wine, 2, seed),
    "wine, one\nplanted": lambda seed: plant(wine, 2, seed, n=1),
    "tumors": lambda seed: plant(cancer, 0, seed),
    "claims, rare\ncombination": lambda seed: make_claims("combination", seed),
    "claims, amounts\ntimes 100": lambda seed: make_claims("amount", seed),
}
areas = {}
for name, make in tables.items():
    draws = []
    for seed in range(5):
        table, odd = make(seed)
        found = score_all(table)
        draws.append({k: roc_auc_score(odd, -score) for k, score in found.items()})
    areas[name] = pd.DataFrame(draws).mean()
areas = pd.DataFrame(areas)
print(areas.T.rename(lambda name: name.replace("\n", " ")).round(2).to_string())

colors = ["#E69F00", "#D55E00", "#56B4E9", "#009E73"]
axes = areas.T.plot.bar(figsize=(7.2, 3.6), rot=0, ylim=(0, 1), color=colors)
axes.axhline(0.5, color="black", linestyle="--", linewidth=1)
axes.set_ylabel("area under the ROC curve")
axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
axes.figure.set_layout_engine("constrained")

# %%
# - ``method="all"``, the default, is for rows with rare values in several columns, such
#   as the wines.
# - ``method="neighbors"`` is for rare combinations of labels: there it is the best of
#   the four. On smooth numbers it fails, even with a single planted row.
# - A malignant tumor is large in thirty numbers that all measure size. What matters is
#   *how far* a value lies out, which an isolation forest sees and bins mostly hide.
# - Slipped digits in a skewed column like the amounts are found reliably by none of the
#   four. Here a number is a gross error only if a wide gap separates it from the others
#   and such numbers are few (:doc:`/report` has the rule). Ten amounts of different
#   sizes close the gap. Sort such a column, or its logarithm, and look at the ends.
