"""What the tests of the statistics share: scores, and ranks by counting."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

# Demsar (2006), Table 6: the AUC of C4.5 and three variants. Its last row but one has
# 0.975 twice; the published mean ranks tell the two apart, so 0.97501 stands for one.
DEMSAR = pd.DataFrame(
    [
        (0.763, 0.768, 0.771, 0.798),
        (0.599, 0.591, 0.590, 0.569),
        (0.954, 0.971, 0.968, 0.967),
        (0.628, 0.661, 0.654, 0.657),
        (0.882, 0.888, 0.886, 0.898),
        (0.936, 0.931, 0.916, 0.931),
        (0.661, 0.668, 0.609, 0.685),
        (0.583, 0.583, 0.563, 0.625),
        (0.775, 0.838, 0.866, 0.875),
        (1.000, 1.000, 1.000, 1.000),
        (0.940, 0.962, 0.965, 0.962),
        (0.619, 0.666, 0.614, 0.669),
        (0.972, 0.981, 0.97501, 0.975),
        (0.957, 0.978, 0.946, 0.970),
    ],
    columns=["C4.5", "m", "cf", "m+cf"],
)


def make_scores(n_tables, n_methods, seed, n_values=None):
    """Random scores; with few values, many ties."""
    random = np.random.default_rng(seed)
    shape = (n_tables, n_methods)
    values = random.random(shape)
    if n_values:
        values = random.integers(0, n_values, shape) / 10
    return pd.DataFrame(values, columns=[f"m{i}" for i in range(n_methods)])


frames = st.builds(
    make_scores,
    n_tables=st.integers(2, 12),
    n_methods=st.integers(3, 7),
    seed=st.integers(0, 10**6),
    n_values=st.sampled_from([None, 2, 4]),
)


def slow_rank(row, j):
    """One more than the number of better ones, and half of those equal."""
    better = sum(v > row[j] for v in row)
    return better + (1 + sum(v == row[j] for v in row)) / 2
