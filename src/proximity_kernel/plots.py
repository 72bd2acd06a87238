"""Plot fitted estimators with matplotlib: a map of rows, cluster profiles, evidence.

Each function draws into the given Axes, or into the Axes of a new figure, and returns
the Axes, so that titles, colors and limits can be changed afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._shared.extras import require
from ._shared.options import check_count
from .cluster import ProximityKMeans
from .kernel import code_table, find_kernel, represent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_evidence", "plot_map", "plot_profiles"]
# Okabe and Ito's colors, which the color-blind can tell apart.
_COLORS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7",
           "#56B4E9", "#D55E00", "#F0E442", "#000000"]  # fmt: skip
_MOST_ROWS = 20_000  # points on a map


def plot_map(
    estimator: Any, X: Any, *, color: Any = None, ax: Axes | None = None
) -> Axes:
    """Plot rows as points on a plane, where similar rows are near each other.

    The axes are the first two principal components of the represented rows. Of more
    than 20,000 rows, a random sample of 20,000 is plotted, the same sample each time.

    Parameters
    ----------
    estimator : ProximityKernel, or another fitted estimator
    X : frame, array or list of rows, of shape (n_samples, n_features)
    color : array-like of shape (n_samples,) or None, default=None
        Labels or numbers that color the rows. None colors the rows by cluster if
        `estimator` is a `ProximityKMeans`; otherwise all rows have one color.
    ax : matplotlib.axes.Axes or None, default=None

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from proximity_kernel import ProximityKMeans, plot_map
    >>> from proximity_kernel.datasets import load_penguins
    >>> penguins = load_penguins()
    >>> km = ProximityKMeans(3, random_state=0).fit(penguins)
    >>> plot_map(km, penguins).get_legend().get_title().get_text()
    'cluster'
    """
    from .report.row_map import place_rows  # needs pandas, as pages do

    ax, title = _take_axes(ax, 6.4, 4.4), ""
    kernel = find_kernel(estimator)
    coded = code_table(kernel, X)
    if color is None and isinstance(estimator, ProximityKMeans):
        color, title = estimator.predict(coded), "cluster"
    values = np.zeros(len(coded)) if color is None else np.asarray(color)
    if values.shape != (len(coded),):
        raise ValueError(
            f"color must have one entry for each of the {len(coded):,} rows, got shape "
            f"{values.shape}."
        )
    rng = np.random.default_rng(0)
    shown = np.sort(rng.permutation(len(coded))[:_MOST_ROWS])
    places = place_rows(represent(kernel, coded)[shown], len(shown))
    values = values[shown]
    if values.dtype.kind == "f" and color is not None:
        x, y = places.T
        drawn = ax.scatter(x, y, s=14, c=values, cmap="viridis")
        ax.figure.colorbar(drawn, ax=ax)
    else:
        texts = np.array([str(one) for one in values])
        in_order = dict.fromkeys(texts[np.argsort(values, kind="stable")])
        for k, one in enumerate(in_order):
            x, y = places[texts == one].T
            ax.scatter(x, y, s=14, c=_COLORS[k % len(_COLORS)], label=one)
        if color is not None:
            ax.legend(title=title, frameon=False)
    ax.set(xticks=[], yticks=[], title=f"{len(shown):,} rows, placed by similarity")
    return ax


def plot_profiles(clusters: Any, *, n_values: int = 4, ax: Axes | None = None) -> Axes:
    """Plot the typical values of each cluster: their shares there and in all rows.

    Parameters
    ----------
    clusters : ProximityKMeans
        Fitted.
    n_values : int, default=4
        Maximum number of values of a cluster.
    ax : matplotlib.axes.Axes or None, default=None

    Returns
    -------
    matplotlib.axes.Axes
        A bar is the share of a value among the rows of the cluster, a tick its share
        among all rows.

    Examples
    --------
    >>> from proximity_kernel import ProximityKMeans, plot_profiles
    >>> table = [[1.0, "a"], [1.2, "a"], [1.1, None], [9.0, "b"], [8.0, "b"]]
    >>> km = ProximityKMeans(2, random_state=0).fit(table)
    >>> len(plot_profiles(km, n_values=1).patches)
    2
    """
    most = check_count("n_values", n_values, 1)
    if not isinstance(clusters, ProximityKMeans):
        found = type(clusters).__name__
        raise TypeError(f"clusters must be a fitted ProximityKMeans, got {found}.")
    check_is_fitted(clusters)
    by_cluster: dict[int, list[Any]] = {}
    for one in clusters.profiles_:
        by_cluster.setdefault(one["cluster"], []).append(one)
    lines = [one for own in by_cluster.values() for one in own[:most]]
    ax = _take_axes(ax, 7.2, 0.8 + 0.32 * (len(lines) + len(by_cluster)))
    place, names, places = 0.0, [], []
    for cluster, own in by_cluster.items():
        for one in own[:most]:
            bar = _COLORS[cluster % len(_COLORS)]
            ax.barh(place, one["share"], color=bar, height=0.7)
            ax.vlines(one["share_overall"], place - 0.4, place + 0.4, color="black")
            names.append(f"{one['feature']} {one['value']}")
            places.append(place)
            place += 1
        title = f"cluster {cluster}, {own[0]['size']:,} rows"
        ax.text(1.01, place - 1, title, va="center", transform=ax.get_yaxis_transform())
        place += 0.6
    ax.set(xlim=(0, 1), yticks=places, yticklabels=names)
    ax.set_xlabel("share of the rows of the cluster (tick: of all rows)")
    ax.invert_yaxis()
    return ax


def plot_evidence(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Plot `column_evidence`: what columns add to estimates of each other, in bits.

    Parameters
    ----------
    estimator : ProximityKernel, or another fitted estimator
    ax : matplotlib.axes.Axes or None, default=None

    Returns
    -------
    matplotlib.axes.Axes
        A heat map. A cell is the evidence that the feature on the left gives about the
        feature below, multiplied by its weight in estimates of missing cells. Among
        columns that repeat each other, one can have all the weight, so 0 does not mean
        unrelated.

    Examples
    --------
    >>> from proximity_kernel import ProximityKernel, plot_evidence
    >>> table = [[1.0, "a"], [1.2, "a"], [8.0, "b"], [9.0, "b"], [8.5, "b"]] * 9
    >>> axes = plot_evidence(ProximityKernel(2).fit(table))
    >>> [text.get_text() for text in axes.get_xticklabels()]
    ['x0', 'x1']
    """
    evidence: Any = find_kernel(estimator).column_evidence()
    side = 2.4 + 0.36 * len(evidence)
    ax = _take_axes(ax, side + 1, side)
    drawn = ax.imshow(evidence.to_numpy(), cmap="Blues", vmin=0)
    ax.figure.colorbar(drawn, ax=ax, label="bits")
    every = range(len(evidence))
    ax.set(xlabel="estimated feature", ylabel="feature that gives evidence")
    ax.set(xticks=every, yticks=every)
    ax.set_yticklabels(evidence.index)
    ax.set_xticklabels(evidence.columns, rotation=45, ha="right")
    return ax


def _take_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given Axes, or the Axes of a new figure; its size is in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="plot")
    made: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
    return made
