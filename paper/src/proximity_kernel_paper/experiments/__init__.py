"""The paper's tables and figures, each by one command, and what it leaves open.

One module for each: `nmi`, `missing_rate` and so on. Each has an ``EXPERIMENT`` with
its trials, its measure and its rendering. The results lie between, in a CSV file with a
row for each trial (see `_ledger`), so that a run can be stopped and taken up again, and
drawn without being run.

Examples
--------
>>> from proximity_kernel_paper.experiments import list_experiments
>>> list_experiments()[:3]
['tables', 'binning', 'nmi']
"""

from __future__ import annotations

from ._catalogue import find_experiment, list_experiments, reproduce
from ._trials import Request

__all__ = ["Request", "find_experiment", "list_experiments", "reproduce"]
