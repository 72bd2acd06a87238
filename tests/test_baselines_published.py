"""Mean imputation on real tables gives the numbers that the paper prints."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score

from proximity_kernel.baselines import registry
from proximity_kernel.datasets import load


@pytest.fixture(scope="module")
def data_home():
    beside = Path(__file__).parents[2] / "shared" / "data"
    home = Path(os.environ.get("PROXIMITY_KERNEL_DATA") or beside)
    if not home.is_dir():
        pytest.skip("the real tables are not here: set PROXIMITY_KERNEL_DATA")
    return home


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
def test_mean_then_k_means_gives_the_printed_nmi(name, printed, data_home):
    dataset = load(name, data_home=data_home)
    Z = registry["Mean"].build().fit_transform(dataset.frame)
    n_clusters = len(np.unique(dataset.target))
    scores = []
    for seed in range(5):
        found = KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(Z)
        scores.append(normalized_mutual_info_score(dataset.target, found))
    assert np.mean(scores) == pytest.approx(printed, abs=0.005)
