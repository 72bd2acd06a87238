"""Settings of the test run, and where the real tables are."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "proximity_kernel_paper",
    deadline=None,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("proximity_kernel_paper")

BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def home():
    """A data home with real files."""
    folder = Path(os.environ.get("PROXIMITY_KERNEL_DATA") or BESIDE)
    if not (folder / "cancer").is_dir():
        pytest.skip("no data home: set PROXIMITY_KERNEL_DATA to a folder of raw files")
    return folder
