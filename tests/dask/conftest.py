"""Where Dask computes in tests that need no workers."""

import dask
import pytest


@pytest.fixture
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield
