"""
Classify incomplete rows: by the kernel, or by the representation
=================================================================

A support vector machine takes the matrix of similarities. A linear model takes the
representation, which is sparse and grows with the rows only. Both see the same
similarity. Here they learn the species of the penguins with a third of the cells
hidden.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from proximity_kernel import ProximityKernel, plot_map
from proximity_kernel.datasets import load_penguins


def score_support_vectors(table: pd.DataFrame, labels: pd.Series) -> float:
    """Accuracy of SVC(kernel="precomputed"), the bins learnt within each fold."""
    scores = []
    for train, test in _folds().split(table, labels):
        pk = ProximityKernel().fit(table.iloc[train])
        machine = SVC(kernel="precomputed", C=10)
        machine.fit(pk.kernel(table.iloc[train]), labels.iloc[train])
        # Rows are the new ones, columns those that were fitted.
        alike = pk.kernel(table.iloc[test], table.iloc[train])
        scores.append(machine.score(alike, labels.iloc[test]))
    return float(np.mean(scores))


def score_linear_model(table: pd.DataFrame, labels: pd.Series) -> float:
    """Accuracy of logistic regression on the representation, in one pipeline."""
    model = make_pipeline(ProximityKernel(), LogisticRegression(max_iter=1000))
    return float(np.mean(cross_val_score(model, table, labels, cv=_folds())))


def _folds() -> StratifiedKFold:
    return StratifiedKFold(5, shuffle=True, random_state=0)


# %%
# Accuracy in five folds.

if __name__ == "__main__":
    penguins = load_penguins()
    species = penguins.pop("species")
    hidden = np.random.default_rng(0).random(penguins.shape) < 1 / 3
    holed = penguins.mask(hidden)
    scores = {
        "SVC on the kernel": score_support_vectors(holed, species),
        "logistic regression": score_linear_model(holed, species),
        "always the commonest class": species.value_counts(normalize=True).max(),
    }
    print(pd.Series(scores).round(3).to_string())
    plot_map(ProximityKernel().fit(holed), holed, color=species)
