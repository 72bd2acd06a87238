"""Which tests are collected, and how threads of other libraries wait."""

import os
from importlib.util import find_spec

# Read by OpenMP (torch, scikit-learn) when it is loaded. Else its threads wait for each
# other in busy loops: more than ten times the time, where tests run side by side.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Tests of the paper where its project is installed.
collect_ignore = (
    [] if find_spec("proximity_kernel_paper") else ["paper/src", "paper/tests"]
)
