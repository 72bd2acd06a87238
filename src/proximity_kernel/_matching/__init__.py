"""Coded rows to estimates of missing cells: the pairwise rule and the cascade."""
