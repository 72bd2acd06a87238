"""The report: one HTML page about a table, its missing cells and its similar rows.

It uses the public library, and reads the table with the reader of the kernel.
"""

from .page import TableReport

__all__ = ["TableReport"]
