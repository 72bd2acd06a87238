"""A good citizen of scikit-learn: its checks, and its company."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import (
    assert_same_bits,
    assert_same_model,
    dense,
    entries,
    mixed_table,
)

from proximity_kernel import ProximityKernel
from proximity_kernel._cascade import match_rows
from proximity_kernel._coded import fill_rows, size_rows


@parametrize_with_checks(
    [
        ProximityKernel(),
        ProximityKernel(matching="cascade"),
        ProximityKernel(sparse_output=False),
        ProximityKernel(n_bins="auto"),
        ProximityKernel(feature_weights={0: 2.0}),
        ProximityKernel(missingness="informative"),
        ProximityKernel(missingness="auto"),
        ProximityKernel(normalize=True, n_bins=3, n_jobs=2),
    ]
)
def test_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def groups():
    """Three groups of rows with holes, and the group of each row."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    frame = mixed_table(150, 6, 0.2, seed=0)
    for j in (0, 3):
        values = 10.0 * y + rng.normal(size=150)
        frame[f"col{j}"] = np.where(rng.random(150) < 0.2, np.nan, values)
    return frame, y


def test_pipeline_with_kmeans(groups):
    frame, y = groups
    pipeline = make_pipeline(
        ProximityKernel(n_bins=3), KMeans(3, n_init=5, random_state=0)
    )
    clusters = pipeline.fit_predict(frame)
    purity = sum(np.bincount(clusters[y == g]).max() for g in range(3)) / len(y)
    assert purity > 0.9
    np.testing.assert_array_equal(pipeline.predict(frame), clusters)


def test_pipeline_with_logistic_regression(groups):
    frame, y = groups
    pipeline = make_pipeline(ProximityKernel(n_bins=3), LogisticRegression())
    pipeline.fit(frame[::2], y[::2])
    assert pipeline.score(frame[1::2], y[1::2]) > 0.9


def test_grid_search_over_n_bins(groups):
    frame, y = groups
    pipeline = make_pipeline(ProximityKernel(), LogisticRegression())
    grid = {
        "proximitykernel__n_bins": [2, 4],
        "proximitykernel__matching": ["pairwise", "cascade"],
    }
    search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(frame, y)
    assert search.best_params_["proximitykernel__n_bins"] == 4
    assert search.best_score_ > 0.9
    tried = search.cv_results_["param_proximitykernel__n_bins"]
    two = search.cv_results_["mean_test_score"][np.asarray(tried, dtype=int) == 2]
    assert (two < search.best_score_).all()


def test_kernel_feeds_a_support_vector_machine(groups):
    frame, y = groups
    pk = ProximityKernel().fit(frame[::2])
    machine = SVC(kernel="precomputed").fit(pk.kernel(frame[::2]), y[::2])
    assert machine.score(pk.kernel(frame[1::2], frame[::2]), y[1::2]) > 0.9


def test_clone_and_parameters():
    chosen = {
        "n_bins": [3, 4],
        "matching": "cascade",
        "categorical_features": [0],
        "feature_weights": {0: 2.0},
        "max_categories": 9,
        "rarity": 0.5,
        "normalize": True,
        "sparse_output": False,
        "dtype": np.float64,
        "n_jobs": 2,
        "missingness": "ignorable",
        "random_state": 5,
    }
    pk = ProximityKernel(**chosen)
    assert pk.get_params() == chosen
    copy = clone(pk)
    assert copy.get_params() == chosen
    assert copy is not pk
    pk.fit([[1.0, 2.0], [3.0, np.nan]])
    assert pk.get_params() == chosen
    assert not hasattr(clone(pk), "n_bins_")


def test_defaults():
    assert ProximityKernel().get_params() == {
        "n_bins": None,
        "matching": "pairwise",
        "categorical_features": "from_dtype",
        "feature_weights": None,
        "max_categories": 255,
        "rarity": 0,
        "normalize": 0,
        "sparse_output": True,
        "dtype": np.float32,
        "n_jobs": None,
        "missingness": None,
        "random_state": 0,
    }


def test_only_n_bins_is_positional():
    assert ProximityKernel(5).n_bins == 5
    with pytest.raises(TypeError):
        ProximityKernel(5, "cascade")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(groups, protocol):
    frame, _ = groups
    pk = ProximityKernel().fit(frame[:100])
    again = pickle.loads(pickle.dumps(pk, protocol=protocol))
    assert_same_bits(again.transform(frame), pk.transform(frame))
    assert_same_bits(again.kernel(frame), pk.kernel(frame))
    assert entries(again.provenance(frame)) == entries(pk.provenance(frame))


def test_column_transformer(groups):
    frame, _ = groups
    names = ["col0", "col2", "col5"]
    left, right = ProximityKernel(), ProximityKernel(n_bins=2, sparse_output=False)
    both = ColumnTransformer(
        [("some", left, names), ("rest", right, ["col1"])], sparse_threshold=1
    )
    z = both.fit_transform(frame)
    wanted = [clone(left).fit_transform(frame[names])]
    wanted.append(clone(right).fit_transform(frame[["col1"]]))
    assert_same_bits(z, np.hstack([dense(part) for part in wanted]))
    out = both.get_feature_names_out()
    assert len(out) == z.shape[1]
    assert out[0].startswith("some__col0 ")
    assert out[-1].startswith("rest__col1 ")


def test_feature_union(groups):
    frame, _ = groups
    union = FeatureUnion([("few", ProximityKernel(2)), ("many", ProximityKernel(6))])
    z = union.fit_transform(frame)
    parts = [ProximityKernel(n).fit_transform(frame) for n in (2, 6)]
    assert_same_bits(z, np.hstack([dense(part) for part in parts]))
    out = union.get_feature_names_out()
    assert len(set(out)) == len(out) == z.shape[1]


def test_scaler_after_dense_output(groups):
    """A frame of scikit-learn's own making goes through a pipeline."""
    frame, _ = groups
    pipeline = make_pipeline(ProximityKernel(sparse_output=False), StandardScaler())
    z = pipeline.set_output(transform="pandas").fit_transform(frame)
    assert list(z.columns) == list(pipeline.get_feature_names_out())
    np.testing.assert_allclose(z.mean(), 0, atol=1e-6)


def test_memory_mapped(tmp_path):
    """As joblib passes an estimator to its workers: nothing is compiled again."""
    frame = mixed_table(300, 5, 0.3, seed=8)
    pk = ProximityKernel().fit(frame)
    wanted = pk.transform(frame)
    joblib.dump(pk, tmp_path / "pk")
    compiled = [len(loop.signatures) for loop in (match_rows, size_rows, fill_rows)]
    mapped = joblib.load(tmp_path / "pk", mmap_mode="r")
    assert_same_bits(mapped.transform(frame), wanted)
    again = [len(loop.signatures) for loop in (match_rows, size_rows, fill_rows)]
    assert again == compiled


def test_a_pickle_holds_the_rows_not_the_bitmaps():
    frame = np.random.default_rng(9).normal(size=(2000, 4))
    frame[::7, 0] = np.nan
    pk = ProximityKernel(n_bins=100, matching="cascade").fit(frame)
    maps = pk.model_.matcher.bitmaps
    stored = pickle.dumps(pk)
    assert len(stored) < maps.words.nbytes
    copy = pickle.loads(stored)
    assert copy.model_.matcher.bitmaps.words.ctypes.data % 64 == 0
    assert_same_bits(copy.transform(frame), pk.transform(frame))


def test_a_pickle_holds_the_counts_not_the_evidence():
    frame = np.random.default_rng(9).normal(size=(2000, 4))
    frame[::7, 0] = np.nan
    pk = ProximityKernel(n_bins=50).fit(frame)
    counts, evidence = pk.model_.matcher.counts, pk.model_.matcher.evidence
    stored = pickle.dumps(pk)
    assert len(stored) < counts.pairs.nbytes + evidence.values.nbytes
    assert_same_model(pickle.loads(stored), pk)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_inside_joblib_workers(groups, backend):
    frame, _ = groups
    pk = ProximityKernel(n_jobs=2).fit(frame)
    wanted = pk.transform(frame)
    with joblib.parallel_backend(backend, n_jobs=2):
        answers = joblib.Parallel()(
            joblib.delayed(pk.transform)(frame) for _ in range(4)
        )
        fits = joblib.Parallel()(
            joblib.delayed(clone(pk).fit_transform)(frame) for _ in range(4)
        )
    assert len(answers + fits) == 8
    for answer in answers + fits:
        assert_same_bits(answer, wanted)


def test_one_keyword_gives_the_papers_method():
    frame = mixed_table(60, 4, 0.3, seed=3)
    paper = ProximityKernel(4, matching="cascade", missingness="ignorable").fit(frame)
    keyword = ProximityKernel(matching="cascade").fit(frame)
    assert_same_bits(keyword.transform(frame), paper.transform(frame))
    assert not any(gap.informative for gap in keyword.missingness_)
    default = ProximityKernel().fit(frame)
    auto = ProximityKernel("auto", missingness="auto").fit(frame)
    assert_same_bits(default.transform(frame), auto.transform(frame))
