"""
Anomalies in a table with missing cells
=======================================

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

from proximity_kernel import ProximityOutliers, plot_map


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
print(f"of as many rows sampled from the model: {outliers.expected_false_alarms_:.1f}")

# %%
# Each cell is compared with what the other cells of its row suggest, and the scores of
# the cells of a row add up. ``predict`` marks the rows that score higher than 99 % of
# rows sampled from the fitted model. The scores rank all rows: read the first twenty,
# or let ``contamination=0.05`` mark the highest 5 %.
#
# These wines have strange values, but few are of the third cultivar. Ten wines that
# agree with each other have no cell that contradicts another.
#
# Claims that no department makes
# -------------------------------
# Each value is common, but not together.

claims, odd = make_claims("combination", seed=0)
outliers = ProximityOutliers().fit(claims)
scores = outliers.score_samples(claims)
planted = np.flatnonzero(odd & claims.notna().all(axis=1))[0]
print(claims.iloc[planted].to_string())
for reason in outliers.reasons(claims.iloc[[planted]], n=2)[0]:
    print(f"    {reason}")
print(f"\n{odd[np.argsort(scores)[:20]].sum()} of 10 are among the first 20")
plot_map(outliers, claims, color=np.where(odd, "planted", "other"))

# %%
# Which cells should I check?
# ---------------------------
# ``score_cells`` gives a table of the same shape. One amount is ten times too large.

claims, _ = make_claims("amount", seed=1)
claims = claims[claims["amount"] < 1500].reset_index(drop=True)
claims.loc[12, "amount"] *= 10
cells = ProximityOutliers().fit(claims).score_cells(claims)
first = cells.stack().nlargest(3)
print(first.round(1).to_string())

# %%
# What you do today
# -----------------
# Fill the cells, encode, then an isolation forest or the local outlier factor. The
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
    forest = IsolationForest(random_state=0).fit(filled)
    factor = LocalOutlierFactor(n_neighbors=50).fit(filled)
    return {
        "ours": ProximityOutliers().fit(table).score_samples(table),
        "isolation forest": forest.score_samples(filled),
        "local outlier factor": factor.negative_outlier_factor_,
    }


wine, cancer = load_wine(as_frame=True), load_breast_cancer(as_frame=True)
tables = {
    "wine": lambda seed: plant(wine, 2, seed),
    "wine, one planted": lambda seed: plant(wine, 2, seed, n=1),
    "tumors": lambda seed: plant(cancer, 0, seed),
    "claims, rare combination": lambda seed: make_claims("combination", seed),
    "claims, amounts times 100": lambda seed: make_claims("amount", seed),
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
print(areas.T.round(2).to_string())

# %%
# - Wrong cells and rare combinations, as in the claims: ours is the best of the three.
# - A small group of rows that agree with each other, as the wines of a third cultivar:
#   take the local outlier factor. No cell of theirs is surprising, given the others.
# - A malignant tumor is large in thirty numbers that all measure size. All three find
#   it; the other two are a little better.
