"""Where a warning points: the line of the user, past this package and scikit-learn."""

from __future__ import annotations

import sys

_INSIDE = (__name__.partition(".")[0], "sklearn", "joblib")


def find_caller() -> int:
    """Count the frames up to the line of the user, past pipelines and mixins."""
    depth, frame = 1, sys._getframe(1)  # noqa: SLF001  (Python's own)
    while frame.f_back is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in _INSIDE:
            break
        depth, frame = depth + 1, frame.f_back
    return depth
