"""A few random tables in every format: observed cells come back as they were."""

import pytest
from round_trip import FORMATS, check_round_trip


@pytest.mark.parametrize("ending", FORMATS)
def test_observed_cells_come_back(tmp_path, ending):
    assert sum(check_round_trip(seed, tmp_path, ending) for seed in range(4)) > 100
