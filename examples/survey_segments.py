"""
Segments in a survey where most people skipped something
========================================================

Which groups of people answered a survey, and what is typical of each? The survey is
made here, so that the groups are known: 800 people in three groups, a fifth of the
answers skipped, and two questions that only car owners were asked. The program, which
can be downloaded below, has the lines that make the survey.
"""

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from proximity_kernel import ProximityKernel, ProximityKMeans, plot_profiles


# sphinx_gallery_start_ignore
def make_survey(seed: int, n: int = 800) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw people of three groups, and let them skip questions."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, n, p=[0.5, 0.3, 0.2])

    def choose(labels, *chances):
        return [rng.choice(labels, p=chances[g]) for g in group]

    def rate(*means):
        return np.clip(np.round(rng.normal(np.array(means)[group])), 1, 5)

    survey = pd.DataFrame({
        "age": np.clip(rng.normal(np.array([47, 38, 24])[group], 11), 16, 90).round(),
        "lives_in": choose(["village", "suburb", "center"],
                           [0.6, 0.3, 0.1], [0.1, 0.6, 0.3], [0.1, 0.3, 0.6]),
        "work": choose(["employed", "student", "retired", "other"],
                       [0.6, 0.05, 0.25, 0.1], [0.8, 0.05, 0.05, 0.1],
                       [0.2, 0.6, 0, 0.2]),
        "travels_by": choose(["car", "train", "bicycle", "bus"],
                             [0.85, 0.05, 0.05, 0.05], [0.2, 0.6, 0.1, 0.1],
                             [0.05, 0.2, 0.5, 0.25]),
        "trips": rng.poisson(np.array([9, 7, 12])[group]),
        "ticket": choose(["none", "single", "pass"],
                         [0.8, 0.15, 0.05], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4]),
        "price": rate(3, 3.5, 4.5),
        "comfort": rate(4, 3.5, 2.5),
        "climate": rate(2.2, 3.5, 4.2),
        "owns_car": choose(["yes", "no"], [0.98, 0.02], [0.6, 0.4], [0.1, 0.9]),
        "km_1000": rng.normal(np.array([15, 9, 6])[group], 4).clip(0.5).round(1),
        "fuel": choose(["petrol", "diesel", "electric"],
                       [0.5, 0.45, 0.05], [0.5, 0.2, 0.3], [0.7, 0.1, 0.2]),
    })  # fmt: skip
    survey.loc[survey["owns_car"] == "no", ["km_1000", "fuel"]] = np.nan
    return survey.mask(rng.random(survey.shape) < 0.2), group


# sphinx_gallery_end_ignore
survey, group = make_survey(seed=0)
print(survey.head(3).to_string(line_width=88))
print(f"\n{survey.notna().all(axis=1).mean():.0%} of the people answered everything")

# %%
# How many segments?
# ------------------
# Without a number, `ProximityKMeans` chooses one, or 1 if the rows vary gradually.
# `groups_` counts what ten samples of the rows gave. `stability_` is the share of pairs
# of people that stay together when the table is split into halves.

segments = ProximityKMeans(random_state=0).fit(survey)
print(f"chosen: {segments.n_clusters_}; samples: {segments.groups_.samples}")
print("\nsegments, share of pairs")
print(pd.Series(segments.stability_).head(4).round(2).to_string())

# %%
# What is typical of each?
# ------------------------
# The profile of a segment lists the values that are more frequent in it than elsewhere.

plot_profiles(segments)
profiles = segments.profiles_.to_frame()
for number, rows in profiles.groupby("cluster"):
    print(f"segment {number}: {(segments.labels_ == number).sum()} people")
    for row in rows.head(4).itertuples():
        print(
            f"    {row.feature} {row.value}: {row.share:.0%}, {row.lift:.1f} times all"
        )

# %%
# Ratings from 1 to 5 are numbers here: 4 and 5 are near. If they are codes, list them
# in ``categorical_features`` (:doc:`/choosing`, which is also the page on weights of
# questions and of people).
#
# What you do today
# -----------------
# Fill with the median or the most frequent answer, encode, scale, k-means with the
# right number of segments.


def cluster_filled(survey: pd.DataFrame) -> np.ndarray:
    """Cluster the way many tutorials do."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    labels = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (labels, make_column_selector(dtype_exclude="number")),
    )
    k_means = KMeans(3, n_init=10, random_state=0)
    return make_pipeline(columns, k_means).fit_predict(survey)


every_gap = ProximityKernel(missingness="informative")
ways = {
    "proximity-kernel": ProximityKMeans(3, random_state=0).fit_predict,
    "filled first": cluster_filled,
    "every missing cell a value": ProximityKMeans(
        3, kernel=every_gap, random_state=0
    ).fit_predict,
}
questions = {
    "all": list(survey),
    "without the two about cars": list(survey.drop(columns=["km_1000", "fuel"])),
    "numbers and ratings": ["age", "trips", "price", "comfort", "climate"],
}

# %%
# The adjusted Rand index compares the segments with the true groups: 1 is the same, 0
# is chance. The mean of four surveys.

scores = []
for seed in range(4):
    survey, group = make_survey(seed)
    for asked, names in questions.items():
        for way, cluster in ways.items():
            index = adjusted_rand_score(group, cluster(survey[names]))
            scores.append({"questions": asked, "way": way, "index": index})
means = pd.DataFrame(scores).pivot_table("index", "questions", "way", sort=False)
print(means.round(2).to_string())

# %%
# The kernel gains where answers are choices and where many are skipped. It does not
# gain more by the questions that only car owners were asked. With numbers and ratings
# alone filling is better: numbers that vary smoothly lose something when they are
# binned. And ``missingness="informative"``, which makes every missing cell an answer of
# its own, costs much where they are mostly accidents: the default decides for each
# column.
