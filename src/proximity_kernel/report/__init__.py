"""The report: one HTML page about a table, its missing cells and its similar rows."""

from .page import TableReport

__all__ = ["TableReport"]
