"""The report: one page about a table, its holes, its rows and what is alike in it.

It is a user of the library like anybody: what it shows comes through the public door.
"""

from ._page import write_report

__all__ = ["write_report"]
