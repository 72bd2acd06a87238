"""`sample_weight`: a row of weight 3 counts as three equal rows, of 0 as none."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from strategies import (
    MATCHINGS,
    assert_same_bits,
    assert_same_model,
    fitted,
    mixed_table,
    tables,
)

from proximity_kernel import (
    ProximityImputer,
    ProximityKernel,
    ProximityKMeans,
    ProximityOutliers,
)
from proximity_kernel import _row_summary as row_summary


def repeat(frame, copies):
    """The table in which each row is repeated."""
    return frame.loc[frame.index.repeat(copies)].reset_index(drop=True)


@st.composite
def weighted_tables(draw):
    """Draw two frames, and whole weights of the rows of the first, not all 0."""
    frame, new = draw(tables())
    size = len(frame)
    copies = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    assume(repeat(frame, copies).notna().to_numpy().any())
    return frame, new, copies


@st.composite
def options(draw):
    """Draw options of all that a fit learns."""
    matching = draw(st.sampled_from(MATCHINGS))
    scales = [2, 3, 5, "auto"] + ["fine"] * (matching == "pairwise")
    return {
        "n_bins": draw(st.sampled_from(scales)),
        "matching": matching,
        "missingness": draw(st.sampled_from(["ignorable", "informative", "auto"])),
        "max_categories": draw(st.sampled_from([2, 3, 255])),
    }


@given(weighted_tables(), options())
def test_weights_equal_repeated_rows(drawn, chosen):
    frame, new, copies = drawn
    repeated = repeat(frame, copies)
    wanted = fitted(ProximityKernel(**chosen), repeated)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        got = ProximityKernel(**chosen).fit(frame, sample_weight=copies)
        rows = ProximityKernel(**chosen).fit_transform(frame, sample_weight=copies)
    assert_same_model(got, wanted)
    for one, other in zip(got.model_.bins, wanted.model_.bins, strict=True):
        cuts, others = getattr(one, "cuts", None), getattr(other, "cuts", None)
        np.testing.assert_array_equal(cuts, others)
    assert_same_bits(got.transform(new), wanted.transform(new))
    assert_same_bits(rows, got.transform(frame))
    assert_same_bits(got.kernel(new, repeated), wanted.kernel(new, repeated))


@given(weighted_tables(), options(), st.sampled_from([0.25, 0.3, 0.7]))
def test_fractions_that_add_up_to_whole_numbers_equal_repeated_rows(
    drawn, chosen, share
):
    frame, new, copies = drawn
    split = pd.concat([frame, frame], ignore_index=True)
    part = share * np.array(copies)
    weights = np.concatenate([part, copies - part])
    wanted = fitted(ProximityKernel(**chosen), repeat(frame, copies))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        got = ProximityKernel(**chosen).fit(split, sample_weight=weights)
    assert_same_bits(got.transform(new), wanted.transform(new))
    one, other = got.model_.totals, wanted.model_.totals
    np.testing.assert_array_equal(one, other)


@given(weighted_tables(), options(), st.randoms(use_true_random=False))
def test_fractions_give_distributions_and_do_not_depend_on_the_order(
    drawn, chosen, random
):
    frame, new, _ = drawn
    weights = np.array([random.uniform(0.01, 3) for _ in range(len(frame))])
    order = random.sample(range(len(frame)), len(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one = ProximityKernel(**chosen).fit(frame, sample_weight=weights)
        other = ProximityKernel(**chosen).fit(
            frame.iloc[order], sample_weight=weights[order]
        )
    assert_same_bits(one.transform(new), other.transform(new))
    K = one.kernel(new)
    assert np.isfinite(K).all()
    assert np.linalg.eigvalsh(K.astype(float)).min() > -1e-5
    assert K.max() <= 1 + 1e-5


@given(weighted_tables(), st.integers(1, 4), st.integers(0, 5))
def test_clusters_with_weights_equal_those_of_repeated_rows(drawn, n_clusters, seed):
    frame, _, copies = drawn
    repeated = repeat(frame, copies)
    n_clusters = min(n_clusters, len(repeated))
    km = ProximityKMeans(n_clusters, n_init=2, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        wanted = km.fit(repeated)
        labels, centers = wanted.labels_, wanted.cluster_centers_
        inertia, profiles = wanted.inertia_, wanted.profiles_
        got = km.fit(frame, sample_weight=copies)
    assert_same_bits(got.cluster_centers_, centers)
    assert got.inertia_ == inertia
    assert got.profiles_ == profiles
    np.testing.assert_array_equal(np.repeat(got.labels_, copies), labels)
    light = np.array(copies) == 0
    np.testing.assert_array_equal(got.labels_[light], got.predict(frame)[light])


@pytest.mark.parametrize("contamination", ["auto", 0.1])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_outliers_and_imputations_with_weights_equal_those_of_repeated_rows(
    contamination, share
):
    frame = mixed_table(150, 5, 0.2, seed=3)
    copies = np.random.default_rng(1).integers(0, 4, size=len(frame))
    repeated, split = repeat(frame, copies), pd.concat([frame, frame])
    weights = np.concatenate([share * copies, copies - share * copies])
    odd = ProximityOutliers(contamination=contamination)
    wanted = odd.fit(repeated).score_samples(frame), odd.offset_
    odd.fit(split, sample_weight=weights)
    np.testing.assert_allclose(odd.score_samples(frame), wanted[0], rtol=1e-12)
    assert odd.offset_ == pytest.approx(wanted[1], rel=1e-12)
    filled = ProximityImputer().fit(repeated).transform(frame)
    got = ProximityImputer().fit(split, sample_weight=weights).transform(frame)
    pd.testing.assert_frame_equal(got, filled)


def test_scores_of_clusters_with_weights():
    frame = mixed_table(60, 4, 0.2, seed=3)
    copies = np.random.default_rng(1).integers(0, 4, size=len(frame))
    km = ProximityKMeans(3, random_state=0).fit(frame)
    wanted = km.score(repeat(frame, copies))
    assert km.score(frame, sample_weight=copies) == pytest.approx(wanted)
    assert km.score(frame, sample_weight=copies / 8) == pytest.approx(wanted / 8)


@pytest.mark.parametrize("matching", MATCHINGS)
def test_models_with_fractions_are_saved(matching, tmp_path):
    frame = mixed_table(80, 4, 0.2, seed=3)
    weights = np.random.default_rng(1).uniform(0, 2, size=len(frame))
    scale = "fine" if matching == "pairwise" else 3
    pk = ProximityKernel(scale, matching=matching, missingness="informative")
    pk.fit(frame, sample_weight=weights).save(tmp_path / "m")
    loaded = ProximityKernel.load(tmp_path / "m")
    assert_same_bits(loaded.transform(frame), pk.transform(frame))
    assert_same_model(loaded, pk)


@pytest.mark.parametrize("matching", MATCHINGS)
def test_large_tables_with_weights_equal_repeated_rows(matching, monkeypatch):
    """More rows than are sorted at once and than a sample keeps."""
    monkeypatch.setattr(row_summary, "SAMPLE", 200)
    frame = mixed_table(40_000, 4, 0.1, seed=5)
    frame["number"] = np.random.default_rng(0).normal(size=len(frame))
    copies = np.random.default_rng(1).integers(0, 4, size=len(frame))
    got = ProximityKernel(matching=matching).fit(frame, sample_weight=copies)
    wanted = ProximityKernel(matching=matching).fit(repeat(frame, copies))
    assert wanted.model_.n_samples > 50_000
    assert_same_model(got, wanted)


@pytest.mark.parametrize("n_clusters", [3, "auto"])
def test_a_number_of_clusters_is_found_with_weights(n_clusters):
    rng = np.random.default_rng(0)
    centers = rng.choice([0.0, 10.0, 20.0], size=(120, 1))
    frame = pd.DataFrame((centers + rng.normal(size=(120, 5))).round(1))
    frame.columns = [f"x{j}" for j in range(5)]
    copies = rng.integers(0, 3, size=120)
    km = ProximityKMeans(n_clusters, random_state=0).fit(frame, sample_weight=copies)
    other = ProximityKMeans(n_clusters, random_state=0).fit(repeat(frame, copies))
    assert km.stability_ == other.stability_
    assert_same_bits(km.cluster_centers_, other.cluster_centers_)
    assert km.n_clusters_ == other.n_clusters_ > 1
