"""`ProximityKMeans.fit_batches`: the clusters of `fit`, or nearly those."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from proximity_kernel import ProximityKMeans
from proximity_kernel import _row_summary as row_summary
from proximity_kernel.model_file import load_model


def make_frame(n_rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n_rows)
    columns = {f"n{j}": rng.normal(3 * (group == j % 3), 1) for j in range(5)}
    frame = pd.DataFrame(columns | {"kind": np.array(list("abc"))[group]})
    for name in frame:
        frame.loc[rng.random(n_rows) < 0.2, name] = None
    return frame


def cut(frame, rows):
    return [frame[start : start + rows] for start in range(0, len(frame), rows)]


@pytest.mark.parametrize("rows", [97, 1000, 5000])
def test_all_rows_kept_gives_the_clusters_of_fit(rows):
    frame = make_frame()
    whole = ProximityKMeans(3, random_state=0).fit(frame)
    batched = ProximityKMeans(3, random_state=0).fit_batches(cut(frame, rows))
    assert_array_equal(batched.cluster_centers_, whole.cluster_centers_)
    assert_array_equal(batched.predict(frame), whole.labels_)
    assert batched.inertia_ == pytest.approx(whole.inertia_, rel=1e-12)
    assert batched.n_iter_ == whole.n_iter_
    pd.testing.assert_frame_equal(
        pd.DataFrame(batched.profiles_), pd.DataFrame(whole.profiles_)
    )
    assert batched.feature_names_in_.tolist() == list(frame)
    assert not hasattr(batched, "labels_")


def test_passes_move_the_centers_to_the_means_of_all_rows(monkeypatch):
    monkeypatch.setattr(row_summary, "SAMPLE", 100)
    frame = make_frame()
    km = ProximityKMeans(3, random_state=0, tol=0)
    once = clone(km).fit_batches(cut(frame, 700))
    still = clone(km).fit_batches(cut(frame, 700), max_passes=50)
    labels = still.predict(frame)
    rows = still.kernel_.transform(frame).toarray().astype(np.float64)
    means = np.array([rows[labels == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(still.cluster_centers_, means, atol=1e-5)
    spread = ((rows - means[labels]) ** 2).sum()
    assert still.inertia_ == pytest.approx(spread, rel=1e-5)
    assert still.inertia_ <= once.inertia_ * (1 + 1e-9) < 1.01 * still.inertia_
    assert still.n_iter_ > once.n_iter_
    sizes = {p["cluster"]: p["size"] for p in still.profiles_}
    assert_array_equal([sizes[c] for c in range(3)], np.bincount(labels))


def test_auto_finds_the_groups_and_the_model_is_saved(tmp_path):
    frame = make_frame(400)
    km = ProximityKMeans("auto", random_state=0).fit_batches(lambda: cut(frame, 150))
    assert km.n_clusters_ == 3
    assert km.stability_[3] == 1
    km.save(tmp_path / "m.pk")
    loaded = load_model(tmp_path / "m.pk")
    assert_array_equal(loaded.predict(frame), km.predict(frame))
    assert loaded.stability_ == km.stability_
    assert not hasattr(loaded, "labels_")
    km.fit(frame)
    assert len(km.labels_) == len(frame)
    assert not hasattr(km.fit_batches([frame]), "labels_")


def test_what_is_refused():
    frame = make_frame(50)
    km = ProximityKMeans(3)
    with pytest.raises(TypeError, match="can be read only once"):
        km.fit_batches(iter([frame]))
    with pytest.raises(ValueError, match="max_passes must be"):
        km.fit_batches([frame], max_passes=0)
    with pytest.raises(ValueError, match="more than the 50 samples"):
        ProximityKMeans(51).fit_batches([frame])
    assert not hasattr(km, "kernel_")


def test_batches_that_are_others_in_a_later_pass(monkeypatch):
    monkeypatch.setattr(row_summary, "SAMPLE", 20)
    frame, calls = make_frame(400), []

    def read():
        calls.append(1)
        return [frame if len(calls) < 3 else frame[:300]]

    km = ProximityKMeans(2, random_state=0)
    with pytest.raises(ValueError, match="400 first, then 300"):
        km.fit_batches(read)
