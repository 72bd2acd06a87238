"""A law that is known, tables of codes drawn from it, and their fit."""

import numpy as np

from proximity_kernel import ProximityKernel

MATCHINGS = ("weighted", "graded", "cascade")
SUPPORT = 20
RATE = 0.1  # of cells that are missing, completely at random
# Three features with two categories each tell about a fourth with three.
SHARES = np.array([0.12, 0.13, 0.11, 0.14, 0.13, 0.12, 0.13, 0.12]).reshape(2, 2, 2)
GIVEN = np.random.default_rng(7).dirichlet([2.0, 2.0, 2.0], size=(2, 2, 2))
EVERYWHERE = SHARES[..., None] * GIVEN
NOT_AT_ZERO = EVERYWHERE.copy()  # nobody has code 0 in all three
NOT_AT_ZERO[0, 0, 0] = 0
NOT_AT_ZERO /= NOT_AT_ZERO.sum()


def draw_table(joint, n, rng, observes=(1.0, 1.0, 1.0)):
    """Draw rows of codes with holes; `observes`: of the fourth, by its value."""
    places = rng.choice(joint.size, size=n, p=joint.ravel())
    table = np.stack(np.unravel_index(places, joint.shape), axis=1).astype(float)
    hidden = rng.random(table.shape) < RATE
    hidden[:, 3] |= rng.random(n) > np.take(observes, table[:, 3].astype(int))
    table[hidden] = np.nan
    return table


def fit_table(table, **chosen):
    pk = ProximityKernel(
        categorical_features=[0, 1, 2, 3], dtype=np.float64, min_support=SUPPORT,
        **chosen,
    ).fit(table)  # fmt: skip
    assert pk.n_bins_.tolist() == [2, 2, 2, 3]
    return pk
