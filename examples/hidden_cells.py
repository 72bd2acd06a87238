"""
How far do similarities move when cells are hidden?
===================================================

30 % of the cells of the complete penguins are hidden, ten times. How far are the
similarities of the incomplete table from those of the complete table? Compared are our
rule, the paper's rule, and filling the cells first (with the same bins afterwards).
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.impute import KNNImputer

from proximity_kernel import ProximityKernel
from proximity_kernel.datasets import load_penguins


def fill_by_neighbors(holed: pd.DataFrame) -> pd.DataFrame:
    """Fill the holes with scikit-learn's KNNImputer, text by way of its codes."""
    text = holed.select_dtypes(exclude="number").columns
    coded = holed.copy()
    labels = {name: pd.Categorical(holed[name]) for name in text}
    for name, label in labels.items():
        coded[name] = np.where(label.codes < 0, np.nan, label.codes)
    low, width = coded.min(), coded.max() - coded.min()
    filled = KNNImputer().fit_transform((coded - low) / width)
    out = pd.DataFrame(filled, columns=holed.columns) * width + low
    for name, label in labels.items():
        codes = out[name].round().astype(int)
        out[name] = label.categories[codes].to_numpy()
    return out


def fill_by_the_middle(holed: pd.DataFrame) -> pd.DataFrame:
    """Fill the holes with the median, or the most frequent text."""
    middle = holed.median(numeric_only=True).to_dict()
    return holed.fillna({**holed.mode().iloc[0].to_dict(), **middle})


def kernel_error(kernel: Any, truth: Any) -> float:
    """Root mean squared difference over the pairs of rows."""
    pairs = np.triu_indices(len(truth), 1)
    return float(np.sqrt(np.mean((kernel[pairs] - truth[pairs]) ** 2)))


def one_draw(whole: pd.DataFrame, seed: int) -> dict[str, float]:
    """Hide cells once; the error of each way."""
    hidden = np.random.default_rng(seed).random(whole.shape) < 0.3
    holed = whole.mask(hidden)
    errors = {}
    for name, matching in (
        ("the paper's rule", "cascade"),
        ("proximity-kernel", "pairwise"),
    ):
        pk = ProximityKernel(matching=matching).fit(holed)
        errors[name] = kernel_error(pk.kernel(holed), pk.kernel(whole))
    for name, filled in (
        ("k-NN imputation first", fill_by_neighbors(holed)),
        ("median or mode first", fill_by_the_middle(holed)),
    ):
        errors[name] = kernel_error(pk.kernel(filled), pk.kernel(whole))
    return errors


# %%
# Root mean squared deviation over all pairs of rows, mean of the ten draws. Lower is
# better; similarities lie between 0 and 1. The picture has all pairs of one draw.

if __name__ == "__main__":
    penguins = load_penguins().drop(columns="species").dropna(ignore_index=True)
    draws = pd.DataFrame([one_draw(penguins, seed) for seed in range(10)])
    print(draws.mean().round(3).to_string())

    hidden = np.random.default_rng(0).random(penguins.shape) < 0.3
    pk = ProximityKernel().fit(penguins.mask(hidden))
    pairs = np.triu_indices(len(penguins), 1)
    figure, axes = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
    axes.hexbin(
        pk.kernel(penguins)[pairs], pk.kernel(penguins.mask(hidden))[pairs],
        gridsize=30, cmap="Blues", mincnt=1,
    )  # fmt: skip
    axes.plot([0, 1], [0, 1], color="black", linewidth=1)
    axes.set(
        xlabel="similarity, complete", ylabel="similarity, 30 % of the cells hidden"
    )
