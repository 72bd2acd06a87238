"""Settings of the test run: slow first compilations are not hypothesis's business."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# The oracle and the strategies are plain modules beside the tests.
sys.path.insert(0, str(Path(__file__).parent))

settings.register_profile(
    "proximity_kernel",
    deadline=None,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("proximity_kernel")
