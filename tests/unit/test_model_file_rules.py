"""What model files and pickles hold of each matching rule."""

import pickle

import numpy as np
import pytest
from strategies import assert_same_bits, assert_same_model, mixed_table

from proximity_kernel import ProximityKernel
from proximity_kernel import _row_summary as row_summary


@pytest.fixture(scope="module")
def table():
    return mixed_table(120, 6, 0.25, seed=0)


@pytest.fixture(scope="module")
def new():
    return mixed_table(60, 6, 0.25, seed=1)


def test_the_default_keeps_counts_and_no_row(tmp_path):
    """The file of a long table is no larger than that of a short one."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20_000, 14))
    table[rng.random(table.shape) < 0.1] = np.nan
    sizes, pk = [], ProximityKernel()
    for n in (2000, 20_000):
        pk.fit(table[:n]).save(tmp_path / "m")
        sizes.append((tmp_path / "m").stat().st_size)
        with np.load(tmp_path / "m", allow_pickle=False) as held:
            arrays = [held[name] for name in held.files]
        largest = max(a.size for a in arrays if isinstance(a, np.ndarray))
        assert largest == 56 * 57 // 2  # pairs of 14 x 4 codes, each once
    assert sizes[1] < 1.2 * sizes[0]
    assert sizes[1] < 20_000
    loaded = ProximityKernel.load(tmp_path / "m")
    assert_same_model(loaded, pk)
    assert len(pickle.dumps(pk)) < 100_000


@pytest.mark.parametrize("matching", ["pairwise", "cascade"])
def test_pickles_and_files_hold_the_same_model(tmp_path, table, new, matching):
    pk = ProximityKernel(matching=matching).fit(table)
    pk.save(tmp_path / "m")
    for again in (pickle.loads(pickle.dumps(pk)), ProximityKernel.load(tmp_path / "m")):
        assert_same_model(again, pk)
        assert_same_bits(again.transform(new), pk.transform(new))


def test_a_model_with_few_sources_survives(tmp_path, table, new, monkeypatch):
    monkeypatch.setattr(row_summary, "MOST_CODES", 0)
    pk = ProximityKernel().fit(table)
    assert pk.model_.matcher.counts.sources is not None
    pk.save(tmp_path / "m")
    for again in (pickle.loads(pickle.dumps(pk)), ProximityKernel.load(tmp_path / "m")):
        assert_same_model(again, pk)
        assert_same_bits(again.transform(new), pk.transform(new))
