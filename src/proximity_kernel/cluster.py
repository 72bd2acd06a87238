"""`ProximityKMeans`: clusters of the rows of an incomplete, mixed-type table.

k-means runs on distinct rows with counts. If these are all rows of the table, its
result is final. If they are a sample, its centers are the start of passes over the
whole table: each pass sums all rows by their nearest center and moves the centers to
the means.

The mean of a cluster's rows gives, for every feature, the shares of its bins. A bin is
listed in the cluster's profile if it is more common there than in all rows, or if it is
the most common bin of its feature. Adjacent bins are listed as one range if the range
distinguishes the cluster more than each bin alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ._batches import fit_to_batches, make_reader, merge_all
from ._bin_summary import has_no_rows
from ._coded import CodedTable
from ._groups import Groups, find_groups
from ._kmeans import (
    Rows,
    Sums,
    best_clustering,
    distances_to,
    gather_rows,
    move_centers,
    nearest_centers,
    sum_clusters,
    sum_part,
    weigh_rows,
)
from ._model import Model
from ._saving import State, check
from ._shared.options import check_count, check_seed, is_number, make_random_state
from ._shared.resources import count_threads
from ._shared.sklearn_bases import (
    Clusterer,
    NumberedTransformer,
    of_one_fit,
    replaces_fit,
)
from ._shared.wording import warn_user
from ._table.records import Records
from .kernel import (
    KernelEstimator,
    ProximityKernel,
    check_not_frozen,
    copy_kernel,
    fit_kernel,
    pack_with_kernel,
    represent,
    represent_distinct,
    represent_kept,
    take_kernel,
    unpack_kernel,
)

__all__ = ["Groups", "ProximityKMeans"]
AUTO: Literal["auto"] = "auto"
PROFILE_KEYS = (
    "cluster", "size", "feature", "value", "share", "share_overall", "lift",
)  # fmt: skip
"""Keys that describe a bin in the profile of a cluster."""
_LEAST_SHARE = 0.05  # a rarer bin is listed only if it is its feature's most common bin
# A bin that most rows of a cluster have, and clearly fewer of all rows:
_COMMON_SHARE = 0.8
_CLEAR_LIFT = 1.25


class ProximityKMeans(NumberedTransformer, Clusterer, KernelEstimator):
    """k-means on the rows of an incomplete, mixed-type table.

    The rows are represented by a `ProximityKernel`, so no missing cell is filled and no
    column is scaled or encoded. A center is a table of probabilities: the shares of the
    bins of every feature among the rows of its cluster. `profiles_` describes the
    clusters in words.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters. "auto" takes the number of separate groups, up to 10, or 1
        if the rows vary gradually. Each of ten samples of 90 % of the rows gives a
        number, and the most frequent number is taken (`groups_`). A sample gives the
        largest number that is stable (`stability_` at least 0.8), if the inertia falls
        by more than in simulated tables that have the same columns, rank correlations
        and missing cells, but no groups; else 1. The samples have at most 1,600 rows,
        and do not depend on `random_state`.
    kernel : ProximityKernel, FrozenEstimator or None, default=None
        Represents the rows; a copy is fitted, unless it is a fitted kernel in a
        `sklearn.frozen.FrozenEstimator`. None is a kernel with default options.
    n_init : int, default=10
        Runs of k-means, each from new first centers; the run of lowest inertia is used.
    max_iter : int, default=300
        Maximum number of iterations of a run.
    tol : float, default=1e-4
        A run has converged when the squared movement of all centers is below `tol`
        times the mean variance of a column of the representation.
    random_state : int, RandomState instance or None, default=None
        Determines the first centers, which are sampled by greedy k-means++. An int
        gives the same clusters every time; None can give other clusters each time.
    n_jobs : int or None, default=None
        Threads, for the kernel too; None is all cores that the process may use (not one
        as in scikit-learn; one inside a joblib worker), and the kernel's own option for
        the kernel. -1 is all. The result does not depend on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int32
        The cluster of each row; cluster 0 is the largest. Not set by `fit_batches`.
    cluster_centers_ : ndarray of shape (n_clusters, n_columns)
        Mean representation of the rows of each cluster. The names of the columns are
        ``kernel_.get_feature_names_out()``.
    profiles_ : list of dict
        What is typical of each cluster, with ``to_frame()``, and shown as a table in a
        notebook: cluster, size (rows), feature, value (a category, or "12.5 to 30", the
        upper limit included), share (of the cluster's rows), share_overall (of all
        rows) and lift (the ratio of the two). Rows count by their weights, missing
        cells by their estimates. Each feature is listed with its most common value, and
        with values of at least 5 % that are more common than overall; adjacent bins are
        one range if the range distinguishes the cluster more. A feature of weight 0 is
        not listed. What distinguishes a cluster most comes first.
    inertia_ : float
        Sum of the squared distances of the rows to their centers.
    n_iter_ : int
        Iterations of the run of lowest inertia, plus passes that move the centers.
    n_clusters_ : int
        Number of centers.
    groups_ : Groups or None
        With "auto", whether there are separate groups: ``n_groups`` (1 if there are
        none), ``samples`` (how many of ten samples of the rows have 1, 2, 3, ...
        groups), ``stability``, and ``along`` (the columns that vary most along the
        first axis of the rows). None if `n_clusters` is a number.
    stability_ : dict of int to float, or None
        With "auto", the stability of 2, 3, ... clusters: the share of the pairs of rows
        of a cluster that stay together when half of the rows are assigned to the
        centers of the other half, in the cluster where this share is lowest; the mean
        over random halves. None if `n_clusters` is a number.
    kernel_ : ProximityKernel
        The fitted kernel.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only when the table had column names, all of them strings.

    Notes
    -----
    Distances are Euclidean in the representation: between complete rows the square is
    ``2 * d * (1 - similarity)`` with d features. A cluster that loses all its rows
    takes the row that is farthest from its center.

    Examples
    --------
    >>> from proximity_kernel import ProximityKMeans
    >>> table = [
    ...     [1.0, "a"], [1.2, "a"], [None, "a"], [1.1, None], [8.5, "b"], [9.0, "b"],
    ...     [8.0, None],
    ... ]
    >>> km = ProximityKMeans(2, random_state=0).fit(table)
    >>> km.labels_
    array([0, 0, 0, 0, 1, 1, 1], dtype=int32)
    >>> km.predict([[None, "b"], [0.9, None]])
    array([1, 0], dtype=int32)
    >>> for one in km.profiles_:
    ...     if one["feature"] == "x1":
    ...         print(one["cluster"], one["size"], one["value"], f"{one['share']:.0%}")
    0 4 a 97%
    1 3 b 80%
    """

    profiles_: Records[dict[str, Any]]
    groups_: Groups | None

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        *,
        kernel: ProximityKernel | FrozenEstimator | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the clusters of the rows of a table.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How many rows each row counts for: a row of weight 3 counts as three equal
            rows. Fractional weights need a number as `n_clusters`.

        Returns
        -------
        self
        """
        self.__fit_coded__(X, sample_weight)
        return self

    @replaces_fit
    def fit_transform(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        sample_weight: Any = None,
    ) -> NDArray[np.float64]:
        """Find clusters, and compute the distances to their centers."""
        coded, rows = self._gather_fitted(self.__fit_coded__(X, sample_weight))
        return distances_to(rows, self.cluster_centers_)[coded.index]

    @replaces_fit
    def fit_batches(self, batches: Any, *, max_passes: int = 1) -> Self:
        """Find the clusters of a table in batches, which need not fit in memory.

        The batches are read twice to fit the kernel (`ProximityKernel.fit_batches`).
        k-means on the rows that this fit keeps gives the first centers. If all rows are
        kept (at most 10,000 distinct rows, or ``matching="cascade"``), the clusters are
        those of `fit`. Otherwise the batches are read at most `max_passes` more times:
        each time all rows are assigned, and the centers move to their rows' means.

        ``labels_`` is not set; call `predict` batch by batch. ``profiles_`` and
        ``inertia_`` describe all rows as the last pass assigned them.

        Parameters
        ----------
        batches : list of tables, or callable
            As in `ProximityKernel.fit_batches`.
        max_passes : int, default=1
            Maximum number of passes that move the centers; fewer if the centers
            converge (`tol`).

        Returns
        -------
        self

        Examples
        --------
        >>> batches = [[[1.0, "a"], [1.2, "a"]], [[None, "b"], [9.0, "b"], [1.1, None]]]
        >>> km = ProximityKMeans(2, random_state=0).fit_batches(batches)
        >>> [km.predict(batch).tolist() for batch in batches]
        [[0, 0], [1, 1, 0]]
        """
        self._check_options()
        check_count("max_passes", max_passes, 1)
        check_not_frozen(self.kernel)
        read = make_reader(batches)
        kernel = copy_kernel(self.kernel, self.n_jobs)
        kept, _ = fit_to_batches(kernel, read)
        coded, matrix = represent_kept(kernel, kept)
        rows = gather_rows(matrix, coded.counts, count_threads(self.n_jobs))

        def add_up(centers: NDArray[Any], bins: bool) -> Sums:
            """Sum the rows of all batches by their nearest center, in one pass."""
            model = kernel.model_ if bins else None
            parts = (
                sum_part(self._gather(kernel, batch)[1], centers, model)
                for batch in read()
                if not has_no_rows(batch)
            )
            return check_sums(merge_all(parts, Sums.__add__), kernel.model_)

        passes = Passes(add_up, max_passes, closing=False) if kept.sampled else None
        take_clusters(self, kernel, find_clusters(self, rows, coded, kernel, passes))
        self.__dict__.pop("labels_", None)
        return self

    @of_one_fit
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Find the cluster with the nearest center for each row.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), int32
            Numbers of clusters; ties go to the lower number.
        """
        coded, rows = self._gather_fitted(X)
        return nearest_centers(rows, self.cluster_centers_).labels[coded.index]

    @of_one_fit
    def transform(self, X: Any) -> NDArray[np.float64]:
        """Compute the distance of each row to each center.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)
            With the columns seen at fit.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Euclidean, in the representation.
        """
        coded, rows = self._gather_fitted(X)
        return distances_to(rows, self.cluster_centers_)[coded.index]

    @of_one_fit
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Compute the negative inertia of rows around their nearest centers.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        float
        """
        coded, rows = self._gather_fitted(X)
        if sample_weight is not None:
            rows, _ = weigh_rows(rows, sample_weight, coded.index)
        return -nearest_centers(rows, self.cluster_centers_).inertia

    @of_one_fit
    def find_groups(self, X: Any) -> Groups:
        """Test whether the rows form separate groups, whatever `n_clusters` is.

        Parameters
        ----------
        X : frame, array or list of rows, of shape (n_samples, n_features)

        Returns
        -------
        Groups
            As `groups_`, and with the stability of `n_clusters_` clusters.

        Examples
        --------
        >>> from proximity_kernel.datasets import load_penguins
        >>> table = load_penguins().drop(columns="species")
        >>> ProximityKMeans(4, random_state=0).fit(table).find_groups(table).n_groups
        3
        """
        coded, rows = self._gather_fitted(X)
        represent_rows = partial(represent, self.kernel_)
        return find_groups(rows, coded, represent_rows, [self.n_clusters_])

    @replaces_fit
    def __fit_coded__(self, X: Any, sample_weight: Any = None) -> CodedTable:
        """Fit, and return the coded rows of the table."""
        self._check_options()
        kernel, table = fit_kernel(self.kernel, X, self.n_jobs, None, sample_weight)
        coded, rows = self._gather(kernel, table)
        if sample_weight is None:
            found = find_clusters(self, rows, coded, kernel)
            labels = found.labels
        else:
            weighted, kept = weigh_rows(rows, sample_weight, coded.index)
            if self.n_clusters == AUTO and (weighted.counts % 1).any():
                raise ValueError(
                    "n_clusters='auto' samples the rows, so sample_weight must be "
                    "whole numbers; give the number of clusters, or round the weights."
                )
            some = coded.take_stored_rows().take(kept)
            found = find_clusters(self, weighted, some, kernel)
            labels = nearest_centers(rows, found.centers).labels
            labels[kept] = found.labels
        # Nothing below can fail, so the estimator has the old clusters or the new ones.
        take_clusters(self, kernel, found)
        self.labels_ = labels[coded.index]
        return table

    def _gather(self, kernel: ProximityKernel, X: Any) -> tuple[CodedTable, Rows]:
        """Represent each distinct row of a table once, as the `Rows` of k-means."""
        coded, matrix = represent_distinct(kernel, X)
        if coded.model is not kernel.model_:
            raise ValueError("The table was coded by a kernel other than `kernel_`.")
        n_threads = count_threads(self.n_jobs)
        key = "k-means", matrix.dtype, float(kernel.normalize), n_threads
        return coded, coded.compute_once(
            key, lambda: gather_rows(matrix, coded.counts, n_threads)
        )

    def _gather_fitted(self, X: Any) -> tuple[CodedTable, Rows]:
        """Represent each distinct row of a table once, by the fitted kernel."""
        check_is_fitted(self)
        self._check_options()
        return self._gather(self.kernel_, X)

    @property
    def stability_(self) -> dict[int, float] | None:
        """Stability of each number of clusters; None if `n_clusters` was a number."""
        return None if self.groups_ is None else self.groups_.stability

    @property
    def n_clusters_(self) -> int:
        """Number of centers."""
        return len(self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:  # scikit-learn's, for get_feature_names_out
        """Number of distances that `transform` returns for a row."""
        return len(self.cluster_centers_)

    def __get_model_state__(self) -> State:
        """Return what the fit learned, for a model file."""
        arrays = {"centers": self.cluster_centers_}
        if hasattr(self, "labels_"):
            arrays["labels"] = self.labels_
        values: dict[str, Any] = {
            "profiles": list(self.profiles_),
            "inertia": float(self.inertia_),
            "n_iter": int(self.n_iter_),
            "groups": None if self.groups_ is None else _pack_groups(self.groups_),
        }
        return pack_with_kernel(self.kernel_, State(values, arrays))

    def __set_model_state__(self, state: State) -> None:
        """Restore what a fit learned; raise ValueError if no fit can give the state."""
        self._check_options()
        kernel = unpack_kernel(state)
        centers = state.array("centers", np.dtype(kernel.dtype), ndim=2)
        shape = (max(1, len(centers)), kernel.model_.n_columns.sum())
        good = centers.shape == shape and np.isfinite(centers).all()
        check(good, "centers of clusters")
        if "labels" in state.arrays:  # not if it was fitted to batches
            self.labels_ = state.array("labels", np.int32)
            check(
                0 <= self.labels_.min() <= self.labels_.max() < len(centers), "labels"
            )
        self.profiles_ = Records(state.values["profiles"])
        check(all(set(one) == set(PROFILE_KEYS) for one in self.profiles_), "profiles")
        self.kernel_ = kernel
        self.cluster_centers_ = centers
        self.inertia_ = float(state.values["inertia"])
        self.n_iter_ = int(state.values["n_iter"])
        packed = state.values.get("groups")
        self.groups_ = None if packed is None else _unpack_groups(packed)

    def _check_options(self) -> None:
        """Raise an error for an invalid option."""
        super()._check_options()
        check_kmeans_options(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def take_clusters(estimator: Any, kernel: ProximityKernel, found: Clusters) -> None:
    """Set the fitted attributes of an estimator: its kernel and clusters."""
    take_kernel(estimator, kernel)
    estimator.cluster_centers_ = found.centers
    estimator.profiles_ = found.profiles
    estimator.inertia_ = found.inertia
    estimator.n_iter_ = found.n_iter
    estimator.groups_ = found.groups


def _pack_groups(groups: Groups) -> dict[str, Any]:
    """Convert groups to JSON values for a model file: int keys become pairs."""
    return {
        "n_groups": groups.n_groups,
        "samples": [*groups.samples.items()],
        "stability": [*groups.stability.items()],
        "along": groups.along,
        "n_sampled": groups.n_sampled,
    }


def _unpack_groups(packed: dict[str, Any]) -> Groups:
    """Restore groups from the JSON values of a model file."""
    samples = {int(k): int(n) for k, n in packed["samples"]}
    stability = {int(k): float(share) for k, share in packed["stability"]}
    n_sampled = None if packed["n_sampled"] is None else int(packed["n_sampled"])
    along = tuple(packed["along"])
    return Groups(int(packed["n_groups"]), samples, stability, along, n_sampled)


@dataclass(frozen=True)
class Passes:
    """How k-means passes over a table that is not in memory.

    Attributes
    ----------
    add_up : callable
        Sums all rows by the nearest of the given centers, and their bins too if its
        second argument is True.
    most : int
        Maximum number of passes that move the centers.
    closing : bool
        Whether a last pass sums the rows around the final centers; otherwise the sums
        are those of the pass before the last move of the centers.
    """

    add_up: Callable[[NDArray[Any], bool], Sums]
    most: int
    closing: bool


@dataclass(frozen=True)
class Clusters:
    """Result of clustering a table; the largest cluster comes first.

    Attributes
    ----------
    centers : ndarray of shape (n_clusters, n_columns)
    labels : ndarray of shape (n_rows,), int32
        The cluster of each row that k-means ran on.
    profiles : list of dict
        Typical bins of each cluster (`PROFILE_KEYS`).
    inertia : float
    n_iter : int
        Iterations of k-means, and passes over the table.
    groups : Groups or None
        The test that chose the number of clusters; None if the number was given.
    """

    centers: NDArray[Any]
    labels: NDArray[np.int32]
    profiles: Records[dict[str, Any]]
    inertia: float
    n_iter: int
    groups: Groups | None


def check_kmeans_options(estimator: Any) -> None:
    """Raise ValueError unless the options of k-means are valid."""
    if estimator.n_clusters != AUTO:
        if isinstance(estimator.n_clusters, str):
            raise ValueError(
                f"n_clusters must be {AUTO!r} or a whole number, at least 1, got "
                f"{estimator.n_clusters!r}."
            )
        check_count("n_clusters", estimator.n_clusters, 1)
    check_count("n_init", estimator.n_init, 1)
    check_count("max_iter", estimator.max_iter, 1)
    tol = estimator.tol
    if not is_number(tol) or not 0 <= tol < np.inf:
        raise ValueError(f"tol must be a number, at least 0 and finite, got {tol!r}.")
    check_seed(estimator.random_state)


def find_clusters(
    estimator: Any,
    rows: Rows,
    coded: CodedTable,
    kernel: ProximityKernel,
    passes: Passes | None = None,
) -> Clusters:
    """Find the clusters of a table by k-means.

    Parameters
    ----------
    estimator : ProximityKMeans or DaskProximityKMeans
        Has the options of k-means, checked.
    rows : Rows
        Distinct rows with their counts: all rows of the table, or a sample.
    coded : CodedTable
        The codes of these rows.
    kernel : ProximityKernel
        The fitted kernel, which represents the rows.
    passes : Passes or None
        The passes over the whole table, if the rows are a sample.

    Returns
    -------
    Clusters
    """
    n_clusters, groups, model = estimator.n_clusters, None, kernel.model_
    if not model.n_counted:
        raise ValueError("X has no observed cell, so there is nothing to cluster.")
    if n_clusters != AUTO and n_clusters > model.n_samples:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {model.n_samples} samples "
            "of the table; ask for fewer."
        )
    seed = int(make_random_state(estimator.random_state).randint(2**31))
    if n_clusters == AUTO:
        groups = find_groups(rows, coded, partial(represent, kernel))
        n_clusters = groups.n_groups
    n_init, max_iter, tol = estimator.n_init, estimator.max_iter, estimator.tol
    best = best_clustering(rows, n_clusters, n_init, max_iter, tol, seed)
    centers, inertia, n_iter = best.centers, best.inertia, best.n_iter
    if passes is None:
        sums = sum_clusters(rows, centers, best.labels, model)
    else:
        bins = not passes.closing
        centers, sums, n_passes = move_centers(
            lambda at: passes.add_up(at, bins), centers, passes.most, tol
        )
        if passes.closing:
            sums = passes.add_up(centers, True)
        inertia, n_iter = sums.inertia(centers), n_iter + n_passes
    order = np.argsort(-sums.sizes, kind="stable")
    place = np.argsort(order)
    labels = place[best.labels].astype(np.int32)
    n_filled = np.count_nonzero(sums.sizes)
    if n_filled < n_clusters:
        warn_user(
            f"Only {n_filled} of the {n_clusters} clusters have rows, because the "
            "table has no more distinct rows. Ask for fewer clusters.",
            ConvergenceWarning,
        )
    profiles = describe_clusters(model, sums.bins[order], sums.sizes[order])
    return Clusters(centers[order], labels, profiles, inertia, n_iter, groups)


def check_sums(sums: Sums | None, model: Model) -> Sums:
    """Return the sums of a pass; raise ValueError unless it read all fitted rows."""
    seen = 0 if sums is None else sums.sizes.sum()
    if sums is None or seen != model.n_samples:
        raise ValueError(
            f"The batches had different rows when read again ({model.n_samples:,} "
            f"first, then {seen:,.0f}); pass a list, or a function that returns a new "
            "iterator of the same batches each time."
        )
    return sums


def describe_clusters(
    model: Model, totals: NDArray[np.float64], sizes: NDArray[np.float64]
) -> Records[dict[str, Any]]:
    """List the typical bins of each cluster.

    Parameters
    ----------
    model : Model
    totals : ndarray of shape (n_clusters, total bins)
        The result of `total_bins` for all rows.
    sizes : ndarray of shape (n_clusters,)
        Rows of each cluster.

    Returns
    -------
    Records of dict
        With the keys of `PROFILE_KEYS`, cluster by cluster. Bins that most rows of the
        cluster have, and clearly fewer of all rows, come before other bins. Within both
        parts, the most distinctive bins come first.
    """
    feature = np.repeat(np.arange(len(model.n_bins)), model.n_bins)
    shares = _to_shares(totals, feature)
    overall = _to_shares(totals.sum(axis=0), feature)
    starts = np.concatenate([[0], np.cumsum(model.n_bins)])
    names = model.bin_names
    out: Records[dict[str, Any]] = Records()
    for c in np.flatnonzero(sizes):
        bins = []
        for j, column in enumerate(model.types):
            at = slice(starts[j], starts[j + 1])
            own, usual = shares[c, at], overall[at]
            for first, last in _find_typical(own, usual, names[j].n_ordered):
                share = float(own[first : last + 1].sum())
                share_overall = float(usual[first : last + 1].sum())
                bins.append(
                    {
                        "cluster": int(c),
                        "size": round(sizes[c]),
                        "feature": column.name,
                        "value": names[j].name(first, last),
                        "share": share,
                        "share_overall": share_overall,
                        "lift": share / share_overall,
                    }
                )
        out += sorted(bins, key=_rank_profile)
    return out


def _rank_profile(one: dict[str, Any]) -> tuple[bool, float]:
    """Return the sort key of a typical bin: bins that most rows have come first."""
    common = one["share"] >= _COMMON_SHARE and one["lift"] >= _CLEAR_LIFT
    return not common, -one["share"] * np.log(one["lift"])


def _find_typical(
    shares: NDArray[np.float64], overall: NDArray[np.float64], n_ordered: int
) -> list[tuple[int, int]]:
    """Find the typical bins of a feature in a cluster, as ranges of bins.

    The first `n_ordered` bins have an order. Adjacent typical bins of these are merged
    if together they distinguish the cluster more than either alone.
    """

    def distinguish(first: int, last: int) -> float:
        share = shares[first : last + 1].sum()
        return float(share * np.log(share / overall[first : last + 1].sum()))

    found: list[tuple[int, int]] = []
    for k, share in enumerate(shares.tolist()):
        common = share >= _LEAST_SHARE and share > overall[k] * (1 + 1e-6)
        if not (common or (share > 0 and k == shares.argmax())):
            continue
        first = k
        while found and found[-1][1] == first - 1 and k < n_ordered:
            before = found[-1]
            alone = max(distinguish(*before), distinguish(first, k))
            if distinguish(before[0], k) <= alone:
                break
            first = found.pop()[0]
        found.append((first, k))
    return found


def _to_shares(
    totals: NDArray[np.float64], feature: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Divide the totals of bins by the total of their feature; 0 if that is 0."""
    if not len(feature):
        return totals
    same = sp.csr_array(feature[:, None] == np.arange(feature[-1] + 1), dtype=float)
    sums = (totals @ same)[..., feature]
    return totals / np.where(sums > 0, sums, 1)
