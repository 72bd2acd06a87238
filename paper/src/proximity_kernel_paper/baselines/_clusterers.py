"""Clusterers of mixed tables that are in common use, and that the paper leaves out.

Each takes a table with missing cells and a number of clusters, and gives labels. Only
the latent classes take missing cells as they are; for the others a number is filled
with the mean and a category with the most frequent one. Ordered categories are
ranks there, and categories in the latent classes. The packages kmodes (k-prototypes),
stepmix (latent classes) and prince (FAMD) come with the extra ``peers``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ._method import imputation

STARTS = 10
LEAST_VARIANCE = 1e-3  # of a column in a cluster, in units of its variance
Labels: TypeAlias = NDArray[np.int_]
Clusterer: TypeAlias = Callable[[pd.DataFrame, int, int], Labels]


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"{package} is not installed: pip install 'proximity-kernel-paper[peers]'."
        ) from error


def split(frame: pd.DataFrame, ranks: bool = True) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Separate numbers from categories.

    Parameters
    ----------
    frame : pandas.DataFrame of shape (n, d)
    ranks : bool, default=True
        Whether ordered categories are numbers, their ranks.

    Returns
    -------
    numbers : pandas.DataFrame of float
        NaN where missing.
    categories : pandas.DataFrame of float
        Codes of the others, from 0 on; NaN where missing.
    """
    numbers: dict[Any, pd.Series] = {}
    categories: dict[Any, pd.Series] = {}
    for name, column in frame.items():
        if pd.api.types.is_numeric_dtype(column):
            numbers[name] = column.astype(float)
            continue
        labels = column.astype("category").cat.remove_unused_categories().cat
        codes = labels.codes.astype(float).where(column.notna())
        (numbers if ranks and labels.ordered else categories)[name] = codes
    index = frame.index
    return pd.DataFrame(numbers, index=index), pd.DataFrame(categories, index=index)


def fill(frame: pd.DataFrame) -> tuple[NDArray[np.float64], pd.DataFrame]:
    """Fill with mean or mode.

    Parameters
    ----------
    frame : pandas.DataFrame of shape (n, d)

    Returns
    -------
    numbers : ndarray of shape (n, n_numbers)
        Of mean 0 and standard deviation 1.
    categories : pandas.DataFrame of str
    """
    filler = imputation("mean or mode", "._simple", "ModeMean").build()
    numbers, categories = split(filler.fit(frame).fill(frame))
    scaled = StandardScaler().fit_transform(numbers) if len(numbers.columns) else None
    return (
        np.empty((len(frame), 0)) if scaled is None else scaled,
        categories.astype(int).astype(str),
    )


def one_hot(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Fill, scale numbers to variance 1, and give every category a column.

    Parameters
    ----------
    frame : pandas.DataFrame of shape (n, d)

    Returns
    -------
    ndarray of shape (n, p)
    """
    numbers, categories = fill(frame)
    if not len(categories.columns):
        return numbers
    columns = OneHotEncoder(sparse_output=False).fit_transform(categories)
    return np.hstack([numbers, columns])


def cluster_one_hot(frame: pd.DataFrame, n_clusters: int, seed: int) -> Labels:
    """Cluster the one-hot table with k-means."""
    return _k_means(one_hot(frame), n_clusters, seed)


def _k_means(points: Any, n_clusters: int, seed: int) -> Labels:
    model = KMeans(n_clusters, n_init=STARTS, random_state=seed)
    return np.asarray(model.fit_predict(points))


def cluster_mixture(
    frame: pd.DataFrame, n_clusters: int, seed: int, covariance: str
) -> Labels:
    """Fit a Gaussian mixture to the one-hot table."""
    model = GaussianMixture(
        n_clusters, covariance_type=covariance, n_init=STARTS,
        reg_covar=LEAST_VARIANCE, random_state=seed,
    )  # fmt: skip
    return np.asarray(model.fit_predict(one_hot(frame)))


def cluster_prototypes(frame: pd.DataFrame, n_clusters: int, seed: int) -> Labels:
    """Cluster with k-prototypes; with k-modes where there is no number.

    A table of numbers only is clustered with k-means: so would k-prototypes.
    """
    numbers, categories = fill(frame)
    if not len(categories.columns):
        return _k_means(numbers, n_clusters, seed)
    if not numbers.shape[1]:
        modes = _load("kmodes.kmodes").KModes
        model = modes(n_clusters, init="Huang", n_init=STARTS, random_state=seed)
        return np.asarray(model.fit_predict(categories.to_numpy()))
    points = np.hstack([numbers.astype(object), categories.to_numpy(dtype=object)])
    places = list(range(numbers.shape[1], points.shape[1]))
    prototypes = _load("kmodes.kprototypes").KPrototypes
    model = prototypes(n_clusters, init="Huang", n_init=STARTS, random_state=seed)
    return np.asarray(model.fit_predict(points, categorical=places))


def cluster_classes(frame: pd.DataFrame, n_clusters: int, seed: int) -> Labels:
    """Fit latent classes by maximum likelihood of the observed cells.

    Given the class, columns are independent: categories, ordered ones too, by their
    frequencies, numbers normal with a variance of each class. Noise of variance 1e-3
    keeps a variance from becoming 0, where stepmix would put all rows in one class; it
    does what `reg_covar` does in `cluster_mixture`.
    """
    numbers, categories = split(frame, ranks=False)
    parts: dict[str, Any] = {}
    if len(numbers.columns):
        numbers = (numbers - numbers.mean()) / numbers.std().replace(0, 1)
        noise = np.random.default_rng(seed).normal(size=numbers.shape)
        numbers += np.sqrt(LEAST_VARIANCE) * noise
        model = {"model": "gaussian_diag_nan", "n_columns": numbers.shape[1]}
        parts["numbers"] = model
    if len(categories.columns):
        model = {"model": "categorical_nan", "n_columns": categories.shape[1]}
        parts["categories"] = model
    classes = _load("stepmix").StepMix(
        n_clusters, measurement=parts, n_init=STARTS, random_state=seed,
        abs_tol=1e-4, max_iter=300, progress_bar=0,
    )  # fmt: skip
    points = pd.concat([numbers, categories], axis=1)
    return np.asarray(classes.fit(points).predict(points))


def cluster_famd(
    frame: pd.DataFrame, n_clusters: int, seed: int, n_components: int
) -> Labels:
    """Reduce by factor analysis of mixed data, then cluster with k-means.

    Numbers only are reduced by principal components, categories only by multiple
    correspondence analysis, of which FAMD is the sum.
    """
    prince = _load("prince")
    numbers, categories = fill(frame)
    whole = pd.DataFrame(numbers).add_prefix("x")
    for j, name in enumerate(categories):
        whole[f"c{j}"] = categories[name].to_numpy()
    if not len(categories.columns):
        make = prince.PCA
    else:
        make = prince.FAMD if numbers.shape[1] else prince.MCA
    model = make(n_components=n_components, random_state=seed).fit(whole)
    return _k_means(model.row_coordinates(whole).to_numpy(), n_clusters, seed)


CLUSTERERS: Mapping[str, Clusterer] = {
    "latent classes": cluster_classes,
    "FAMD, 5 components": partial(cluster_famd, n_components=5),
    "FAMD, 2 components": partial(cluster_famd, n_components=2),
    "k-prototypes": cluster_prototypes,
    "one-hot k-means": cluster_one_hot,
    "Gaussian mixture, diagonal": partial(cluster_mixture, covariance="diag"),
    "Gaussian mixture, shared": partial(cluster_mixture, covariance="tied"),
}
