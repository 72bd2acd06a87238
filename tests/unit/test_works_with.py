"""Other libraries with ours, as `docs/works-with.md` lists them."""

import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, SpectralClustering
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from proximity_kernel import ProximityKernel, ProximityKNNClassifier, ProximityNeighbors

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def groups():
    """Three groups of rows with holes, and the group of each row."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    columns = {f"x{j}": 10.0 * y + rng.normal(size=90) for j in range(4)}
    frame = pd.DataFrame(columns | {"label": np.array(list("abc"))[y]})
    return frame.mask(rng.random(frame.shape) < 0.15), y


@pytest.fixture(scope="module")
def distances(groups):
    frame, _ = groups
    return ProximityKernel().fit(frame).distance(frame).astype(np.float64)


def test_cross_validation(groups):
    frame, y = groups
    pipeline = make_pipeline(ProximityKernel(), LogisticRegression())
    for estimator in (pipeline, ProximityKNNClassifier(3)):
        scores = cross_val_score(estimator, frame, y, cv=3, error_score="raise")
        assert scores.mean() > 0.9


def test_neighbors_in_a_pipeline(groups):
    frame, y = groups
    pipeline = make_pipeline(
        ProximityNeighbors(5), KNeighborsClassifier(3, metric="precomputed")
    )
    assert cross_val_score(pipeline, frame, y, cv=3, error_score="raise").mean() > 0.9


def test_hierarchies(groups, distances):
    _, y = groups
    tree = linkage(squareform(distances), "average")
    assert adjusted_rand_score(y, fcluster(tree, 3, "maxclust")) > 0.9
    agglomerative = AgglomerativeClustering(3, metric="precomputed", linkage="average")
    assert adjusted_rand_score(y, agglomerative.fit_predict(distances)) > 0.9
    assert silhouette_score(distances, y, metric="precomputed") > 0.3


def test_spectral_clustering(groups, distances):
    _, y = groups
    spectral = SpectralClustering(3, affinity="precomputed", random_state=0)
    assert adjusted_rand_score(y, spectral.fit_predict(1 - distances)) > 0.9


def test_hdbscan(groups, distances):
    _, y = groups
    labels = HDBSCAN(10, metric="precomputed", copy=True).fit_predict(distances)
    assert adjusted_rand_score(y, labels) > 0.8


def place_by_group(places, y):
    """The share of rows whose nearest neighbor on a map is of their group."""
    apart = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(apart, np.inf)
    return np.mean(y[apart.argmin(axis=1)] == y)


def test_tsne(groups, distances):
    _, y = groups
    tsne = TSNE(metric="precomputed", init="random", perplexity=15, random_state=0)
    assert place_by_group(tsne.fit_transform(distances), y) > 0.9


@pytest.mark.filterwarnings("ignore")  # of UMAP itself, which differ by version
def test_umap(groups, distances):
    umap = pytest.importorskip("umap", reason="umap-learn is not installed")
    _, y = groups
    model = umap.UMAP(metric="precomputed", random_state=0)
    assert place_by_group(model.fit_transform(distances), y) > 0.9


@pytest.mark.filterwarnings("ignore")  # of skrub itself, which differ by version
def test_skrub(groups):
    skrub = pytest.importorskip("skrub", reason="skrub is not installed")
    frame, y = groups
    pipeline = make_pipeline(skrub.Cleaner(), ProximityKernel(), LogisticRegression())
    assert pipeline.fit(frame[::2], y[::2]).score(frame[1::2], y[1::2]) > 0.9


def test_a_function_for_map_in_pandas(groups):
    """What Spark does with it: send it to workers, and pass an iterator of frames."""
    frame, _ = groups
    sent = pickle.dumps(ProximityKernel(sparse_output=False).fit(frame))

    def represent(frames):
        kernel = pickle.loads(sent)
        for part in frames:
            yield pd.DataFrame(kernel.transform(part), part.index)

    parts = represent(iter([frame[:40], frame[40:]]))
    wanted = ProximityKernel(sparse_output=False).fit_transform(frame)
    np.testing.assert_array_equal(pd.concat(parts), wanted)


def test_every_row_of_the_page_names_a_test():
    page = (ROOT / "docs/works-with.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", row)
        assert named, row
        for path, function in named:
            source = (ROOT / path).read_text(encoding="utf-8")
            assert f"def {function}(" in source, row


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_of_a_sparse_representation_are_refused_with_the_remedy(groups, output):
    frame, _ = groups
    kernel = ProximityKernel().set_output(transform=output)
    with pytest.raises(ValueError, match="sparse_output=False"):
        kernel.fit_transform(frame)
    dense = kernel.set_params(sparse_output=False).fit_transform(frame)
    assert list(dense.columns) == list(kernel.get_feature_names_out())
