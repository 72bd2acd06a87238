"""The paper's laboratory: its tables, the methods it compares, its numbers and figures.

Built on the library `proximity_kernel`, and no part of it. `datasets` loads the tables
and hides cells, `baselines` has the methods, `plots` draws, `experiments` runs each
table and figure of the paper (arXiv 2510.13352). The command is
``proximity-kernel-paper``.
"""

__version__ = "0.1.0.dev0"
