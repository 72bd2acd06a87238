"""k-means on represented rows: seeds, iterations, number of clusters, profiles."""
