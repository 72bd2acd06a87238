"""Which tests are collected: those of the paper where its project is installed."""

from importlib.util import find_spec

collect_ignore = (
    [] if find_spec("proximity_kernel_paper") else ["paper/src", "paper/tests"]
)
