"""Mean imputation on real tables gives the numbers that the paper prints."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from proximity_kernel_paper.baselines import registry
from proximity_kernel_paper.datasets import load


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("horse", 0.232),
        ("mammo", 0.258),
        ("cancer", 0.730),
        ("voting", 0.485),
        ("tumor", 0.367),
    ],
)
def test_mean_then_k_means_gives_the_printed_nmi(name, printed, home):
    dataset = load(name, data_home=home)
    Z = registry["Mean"].build().fit_transform(dataset.frame)
    n_clusters = len(np.unique(dataset.target))
    scores = []
    for seed in range(5):
        found = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(Z)
        scores.append(normalized_mutual_info_score(dataset.target, found))
    assert np.mean(scores) == pytest.approx(printed, abs=0.005)
