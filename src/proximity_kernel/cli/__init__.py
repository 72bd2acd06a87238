"""The command line: parse the arguments, call the library, print the results."""

from __future__ import annotations

from .program import main

__all__ = ["main"]
