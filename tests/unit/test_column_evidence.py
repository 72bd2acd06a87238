"""`column_evidence`: which column tells about which, against sums over the rows."""

import numpy as np
import pytest
from strategies import mixed_table

from proximity_kernel import ProximityKernel

TABLE = mixed_table(120, 5, 0.2, seed=2)


def test_it_is_the_mean_weighted_evidence_of_the_rows():
    pk = ProximityKernel(3, missingness="ignorable").fit(TABLE)
    found, matcher = pk.column_evidence(), pk.model_.matcher
    assert found.index.tolist() == found.columns.tolist() == TABLE.columns.tolist()
    codes, weights = pk.model_.code(TABLE, 1).bins.astype(int), matcher.weight_table
    s, prior = matcher.smoothing, pk.prior_
    for i in range(5):
        assert found.iloc[i, i] == 0
        for j in {*range(5)} - {i}:
            both = (codes[:, i] < len(prior[i])) & (codes[:, j] < len(prior[j]))
            rows = codes[both]
            # The prior of the source among the rows in which it is observed.
            mean = 0.0
            for a, b in rows[:, [i, j]]:
                n = ((rows[:, i] == a) & (rows[:, j] == b)).sum()
                of_b = (rows[:, j] == b).sum()
                told = (n + s * prior[i][a]) / ((of_b + s) * prior[i][a])
                mean += np.log2(told) / len(rows)
            assert found.iloc[i, j] == pytest.approx(mean * weights[j, i], abs=1e-9)


def test_the_cascade_weighs_no_column():
    pk = ProximityKernel(matching="cascade").fit(TABLE)
    with pytest.raises(ValueError, match="matching='pairwise'"):
        pk.column_evidence()
