"""
Cluster by neighbors, with the graph methods of scikit-learn
============================================================

`ProximityNeighbors` finds the most similar rows without filling a cell, and returns
them as a sparse graph of distances or similarities. DBSCAN, HDBSCAN and spectral
clustering take it by ``"precomputed"``. UMAP takes neighbors as well::

    knn = near.precomputed_knn(15)
    umap.UMAP(n_neighbors=15, precomputed_knn=knn).fit_transform(any_array_of_the_rows)
"""

import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN, HDBSCAN, SpectralClustering
from sklearn.metrics import adjusted_rand_score

from proximity_kernel import ProximityKernel, ProximityNeighbors, plot_map
from proximity_kernel.datasets import load_penguins


def symmetric(graph):
    """Join two rows if either is among the nearest of the other."""
    return graph.maximum(graph.T)


def cluster(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Labels of the rows by each method; -1 is noise."""
    near = ProximityNeighbors(15, kernel=ProximityKernel(n_bins=4)).fit(table)
    # Rows that differ in one feature of the seven; no edge means farther apart.
    within = near.radius_neighbors_graph(radius=1 / 7, mode="distance")
    nearest = symmetric(near.kneighbors_graph(mode="similarity"))
    # HDBSCAN wants one connected piece: all distances, or ``near.distance_graph(20)``
    # for tables that are too large for these.
    whole = 1 - near.kernel_.kernel(table).astype(float)
    return {
        "DBSCAN": DBSCAN(
            eps=1 / 7 + 1e-6, min_samples=10, metric="precomputed"
        ).fit_predict(within),
        "HDBSCAN": HDBSCAN(
            min_cluster_size=20, metric="precomputed", copy=True
        ).fit_predict(whole),
        "spectral clustering": SpectralClustering(
            3, affinity="precomputed", random_state=0
        ).fit_predict(nearest),
    }


# %%
# The species are not used to find the clusters, only to look at them afterwards.

if __name__ == "__main__":
    penguins = load_penguins()
    species = penguins.pop("species")
    holes = int(penguins.isna().to_numpy().sum())
    print(f"{len(penguins)} penguins, {holes} cells missing; species not used\n")
    for name, labels in cluster(penguins).items():
        found = len(set(labels[labels >= 0].tolist()))
        noise = int((labels < 0).sum())
        index = adjusted_rand_score(species, labels)
        print(f"{name}: {found} clusters, {noise} rows of noise, Rand {index:.2f}")
        kernel = ProximityKernel("fine").fit(penguins)
        plot_map(kernel, penguins, color=labels).set_title(name)
