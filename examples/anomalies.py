"""
Anomalies in a table with gaps
==============================

Which rows do not belong? Two tables of scikit-learn with a known answer: wines of two
cultivars with ten of a third, and benign tumors with ten malignant ones. A fifth of the
cells is hidden. The labels are only used to count.
"""

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from proximity_kernel import ProximityOutliers


def plant(data, rare: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Keep ten rows of the rare class, and hide a fifth of the cells."""
    rng = np.random.default_rng(seed)
    is_rare = (data.target == rare).to_numpy()
    kept = np.append(
        np.flatnonzero(~is_rare), rng.permutation(np.flatnonzero(is_rare))[:10]
    )
    table = data.data.iloc[kept].reset_index(drop=True)
    return table.mask(rng.random(table.shape) < 0.2), is_rare[kept]


# %%
# The strangest wines, with reasons
# ---------------------------------

wines, odd = plant(load_wine(as_frame=True), rare=2, seed=0)
outliers = ProximityOutliers().fit(wines)
scores = outliers.score_samples(wines)
for row in np.argsort(scores)[:5]:
    print(f"row {row}, of the third cultivar: {bool(odd[row])}")
    for reason in outliers.reasons(wines.iloc[[row]], n=2)[0]:
        print(f"    {reason}")

# %%
# ``predict`` marks rows that lie far below the others as outliers, often none;
# ``contamination=0.05`` marks the lowest 5 %. The scores rank all rows.

# %%
# What you do today
# -----------------
# Fill the gaps, then an isolation forest or the local outlier factor. The figure is the
# area under the ROC curve: the chance that a planted row is ranked as stranger than one
# of the others. 0.5 is a coin. Five draws.


def score_all(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Score rows by each method; lower is stranger."""
    every = ProximityOutliers().fit(table)
    near = ProximityOutliers(method="neighbors").fit(table)
    scale = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    filled = scale.fit_transform(table)
    forest = IsolationForest(random_state=0).fit(filled)
    return {
        "proximity-kernel": every.score_samples(table),
        "the same by neighbors": near.score_samples(table),
        "isolation forest": forest.score_samples(filled),
        "local outlier factor": LocalOutlierFactor()
        .fit(filled)
        .negative_outlier_factor_,
    }


tables = {
    "wine": (load_wine(as_frame=True), 2),
    "breast cancer": (load_breast_cancer(as_frame=True), 0),
}
areas = {}
for name, (data, rare) in tables.items():
    draws = []
    for seed in range(5):
        table, odd = plant(data, rare, seed)
        found = score_all(table)
        draws.append({k: roc_auc_score(odd, -score) for k, score in found.items()})
    areas[name] = pd.DataFrame(draws).mean()
areas = pd.DataFrame(areas)
print(areas.round(3).to_string())

colors = ["#E69F00", "#F0E442", "#56B4E9", "#009E73"]
axes = areas.T.plot.bar(figsize=(6.4, 3), rot=0, ylim=(0, 1), color=colors)
axes.set_ylabel("area under the ROC curve")
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
axes.figure.set_layout_engine("constrained")

# %%
# Read both columns. A malignant tumor is large in thirty numbers that all measure size:
# what matters is *how far* a value lies out, which an isolation forest sees and bins
# mostly hide. And ``method="neighbors"`` is the wrong question here: it looks for rows
# without others like them, and the ten planted rows are like each other. Where rows are
# strange by their labels or by rare values, and where you want reasons, bins serve
# better.
