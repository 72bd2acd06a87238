"""
Fill the gaps, and know how sure each value is
==============================================

A program needs a complete table. What goes into the gaps, and how far can it be
trusted? A fifth of the cells of the complete penguins is hidden and filled again.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer

from proximity_kernel import ProximityImputer
from proximity_kernel.datasets import load_penguins

whole = load_penguins().dropna(ignore_index=True)
hidden = np.random.default_rng(0).random(whole.shape) < 0.2
holed = whole.mask(hidden)
imputer = ProximityImputer(random_state=0)
filled = imputer.fit_transform(holed)
uncertainty = imputer.uncertainty(holed)
gaps = hidden.any(axis=1)
print(filled[gaps].head(4).round(1).to_string())
print("\nuncertainty: standard deviation, or the chance that another label is right")
print(uncertainty[gaps].head(4).round(2).to_string())

# %%
# Is the uncertainty right?
# -------------------------
# Bars show one standard deviation up and down. If they are right, about two of three
# hold the true value, and labels are wrong as often as their uncertainty says.

column = "body_mass_g"
at = hidden[:, whole.columns.get_loc(column)]
figure, axes = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
axes.errorbar(
    whole[column][at], filled[column][at], yerr=uncertainty[column][at],
    fmt="o", markersize=4, color="#0072B2", ecolor="#56B4E9", elinewidth=1,
)  # fmt: skip
ends = [whole[column].min(), whole[column].max()]
axes.plot(ends, ends, color="black", linewidth=1)
axes.set(xlabel="true body mass (g), hidden", ylabel="filled in, with one deviation")

numbers = whole.select_dtypes("number").columns
labels = whole.columns.difference(numbers)
inside, wrong, expected = [], [], []
for j, name in enumerate(whole):
    at = hidden[:, j]
    if name in numbers:
        apart = (filled[name] - whole[name]).abs()
        inside += (apart <= uncertainty[name])[at].tolist()
    else:
        wrong += (filled[name] != whole[name])[at].tolist()
        expected += uncertainty[name][at].tolist()
print(f"numbers within one deviation: {np.mean(inside):.0%}")
print(f"labels wrong: {np.mean(wrong):.0%}, expected {np.mean(expected):.0%}")

# %%
# Several filled tables
# ---------------------
# A filled table looks surer than it is: its gaps hold expected values, which vary less
# than true ones. For a standard deviation or a test, draw several tables at random,
# compute the figure in each, and compare. Here are mean and standard deviation of the
# body mass of all penguins.


def describe(name: str, masses: pd.Series) -> None:
    """Print mean and standard deviation."""
    print(f"{name:7} mean {masses.mean():.0f}, standard deviation {masses.std():.0f}")


describe("true", whole["body_mass_g"])
describe("filled", filled["body_mass_g"])
for table in imputer.draw(holed, n_draws=3):
    describe("drawn", table["body_mass_g"])

# %%
# What you do today
# -----------------
# scikit-learn's imputers take numbers, so labels are encoded and decoded around them.


def fill_encoded(holed: pd.DataFrame, imputer) -> pd.DataFrame:
    """Fill by a scikit-learn imputer, labels by way of their codes."""
    coded, categories = holed.copy(), {}
    for name in labels:
        codes, categories[name] = pd.factorize(holed[name], sort=True)
        coded[name] = np.where(codes < 0, np.nan, codes)
    low, width = coded.min(), coded.max() - coded.min()
    out = pd.DataFrame(
        imputer.fit_transform((coded - low) / width), columns=holed.columns
    )
    out = out * width + low
    for name in labels:
        last = len(categories[name]) - 1
        out[name] = categories[name][out[name].round().clip(0, last).astype(int)]
    return out


def fill_by_middle(holed: pd.DataFrame) -> pd.DataFrame:
    """Fill with the median or the most frequent label."""
    middle = holed.median(numeric_only=True).to_dict()
    return holed.fillna({**holed.mode().iloc[0].to_dict(), **middle})


trees = IterativeImputer(
    ExtraTreesRegressor(30, min_samples_leaf=3, random_state=0, n_jobs=1),
    max_iter=4, tol=1, random_state=0,
)  # fmt: skip
ways = {
    "proximity-kernel": ProximityImputer().fit_transform,
    "median or mode": fill_by_middle,
    "KNNImputer": lambda holed: fill_encoded(holed, KNNImputer()),
    "IterativeImputer, trees": lambda holed: fill_encoded(holed, trees),
}

# %%
# The error of numbers is in standard deviations of their column (1 is what the mean
# would give); of labels it is the share that is wrong. Three draws.

results = []
for seed in range(3):
    hidden = np.random.default_rng(seed).random(whole.shape) < 0.2
    holed = whole.mask(hidden)
    for way, fill in ways.items():
        out = fill(holed)
        off, wrong = [], []
        for j, name in enumerate(whole):
            at = hidden[:, j]
            if name in numbers:
                off += ((out[name] - whole[name]) / whole[name].std())[at].tolist()
            else:
                wrong += (out[name] != whole[name])[at].tolist()
        error = np.sqrt(np.mean(np.square(off)))
        results.append({"way": way, "numbers": error, "labels": np.mean(wrong)})
print(pd.DataFrame(results).groupby("way", sort=False).mean().round(3).to_string())

# %%
# Numbers that are codes are filled with their mean, 3.5 say, unless they are listed in
# ``categorical_features``.
#
# An imputer of trees can win where values depend on several columns at once; it has to
# be fitted for minutes on large tables, and it does not say how sure it is. If you only
# want similarities, clusters or outliers, fill nothing: the estimators of this library
# take the table with its gaps.
