"""The error for files, tables and options that cannot be used."""

from __future__ import annotations


class InputError(ValueError):
    """A file, table or option cannot be used; the message says what to change.

    Messages name parameters of `read_table` in backquotes. The command line replaces
    them by its options.
    """
