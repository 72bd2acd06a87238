"""Settings of the test run: slow first compilations are not hypothesis's business.

The variable EXAMPLES is the number of random tables of each property; 25 by default.
"""

import os

import pandas as pd
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "proximity_kernel",
    deadline=None,
    derandomize=True,  # the same tables in every run; scripts/fuzz tries others
    database=None,
    max_examples=int(os.environ.get("EXAMPLES", "25")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("proximity_kernel")


@pytest.fixture
def patients():
    """Two observed columns and one with a hole; all of them labels."""
    return pd.DataFrame(
        {
            "a": ["p", "p", "p", "p", "s", "p"],
            "b": ["q", "q", "q", "r", "r", "q"],
            "c": ["x", "x", "y", "y", "z", None],
        }
    )
