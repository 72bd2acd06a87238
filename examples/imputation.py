"""
Fill missing cells, and know how sure each value is
===================================================

A program needs a complete table. What goes into the missing cells, and how far can it
be trusted? A fifth of the cells of the complete penguins is hidden and filled again.
The year is made a date, to have one.
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
whole["year"] = pd.to_datetime(whole["year"].astype(str), format="%Y")
hidden = np.random.default_rng(0).random(whole.shape) < 0.2
holed = whole.mask(hidden)
imputer = ProximityImputer(random_state=0)
filled = imputer.fit_transform(holed)
uncertainty = imputer.uncertainty(holed)

shown = ["species", "body_mass_g", "sex", "year"]
gaps = hidden[:, [whole.columns.get_loc(name) for name in shown]].any(axis=1)
dates = filled["year"].dt.floor("D")
print(filled.assign(year=dates).loc[gaps, shown].head(4).to_string(float_format="%.0f"))
print("\nuncertainty: standard deviation, or the chance that another label is right")
spread = uncertainty["year"].dt.round("D")
unsure = uncertainty.assign(year=spread).loc[gaps, shown].head(4)
print(unsure.to_string(float_format="%.2f"))

# %%
# Is the uncertainty right?
# -------------------------
# Count it for each column: how many hidden numbers and dates lie within one standard
# deviation of what was filled in, and how many labels are wrong. With normal errors two
# of three numbers would lie within. More do where the estimate is pulled to the middle,
# and fewer where there are few values: of the three years only the middle one is near
# the mean.

ordered = [name for name in whole if whole[name].dtype.kind in "iufM"]
labels = [name for name in whole if name not in ordered]
for name in whole:
    at = hidden[:, whole.columns.get_loc(name)]
    if name in ordered:
        apart = (filled[name] - whole[name]).abs()
        inside = (apart <= uncertainty[name])[at]
        print(f"{name:18} within one deviation: {inside.mean():.0%}")
    else:
        wrong, expected = (filled[name] != whole[name])[at], uncertainty[name][at]
        print(f"{name:18} wrong: {wrong.mean():.0%}, expected {expected.mean():.0%}")

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

# %%
# Several filled tables
# ---------------------
# A filled table looks more certain than it is: filled cells hold expected values, which
# vary less than true ones. For a standard error or a test, draw several tables, compute
# the figure in each, and pool them by Rubin's rules: the variance is that within the
# tables plus that between them. Here is the mean body mass with its standard error.

drawn = [table[column] for table in imputer.draw(holed, n_draws=20)]
means = np.array([masses.mean() for masses in drawn])
within = np.mean([masses.sem() ** 2 for masses in drawn])
pooled = np.sqrt(within + (1 + 1 / len(drawn)) * means.var(ddof=1))
print(f"true   {whole[column].mean():.0f} +- {whole[column].sem():.1f}")
print(f"filled {filled[column].mean():.0f} +- {filled[column].sem():.1f}")
print(f"pooled {means.mean():.0f} +- {pooled:.1f}")

# %%
# Cells whose value decides whether they are missing
# --------------------------------------------------
# All this is for cells missing at random. If the heaviest penguins are those that were
# not weighed, the table does not show it: values are filled too low, the uncertainty is
# too small, and no warning can be given.

heavy = whole[column] > whole[column].quantile(0.8)
censored = whole.assign(**{column: whole[column].mask(heavy)})
filled = imputer.fit_transform(censored)
apart = (filled[column] - whole[column]).abs()
inside = (apart <= imputer.uncertainty(censored)[column])[heavy].mean()
print(f"within one deviation: {inside:.0%}")
print(f"mean body mass: {filled[column].mean():.0f}, true {whole[column].mean():.0f}")

# %%
# What you do today
# -----------------
# scikit-learn's imputers take numbers, so labels are encoded and decoded around them.
# The year, which no other column tells, is left out.


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

whole = whole.drop(columns="year")
results = []
for seed in range(3):
    hidden = np.random.default_rng(seed).random(whole.shape) < 0.2
    holed = whole.mask(hidden)
    for way, fill in ways.items():
        out = fill(holed)
        off, wrong = [], []
        for j, name in enumerate(whole):
            at = hidden[:, j]
            if name in ordered:
                off += ((out[name] - whole[name]) / whole[name].std())[at].tolist()
            else:
                wrong += (out[name] != whole[name])[at].tolist()
        error = np.sqrt(np.mean(np.square(off)))
        results.append({"way": way, "numbers": error, "labels": np.mean(wrong)})
print(pd.DataFrame(results).groupby("way", sort=False).mean().round(3).to_string())

# %%
# Numbers that are codes are filled with their mean, rounded, unless they are listed in
# ``categorical_features``.
#
# An imputer of trees can win where values depend on several columns at once; it has to
# be fitted for minutes on large tables, and it does not say how sure it is. If you only
# want similarities, clusters or outliers, fill nothing: the estimators of this library
# take the table as it is.
