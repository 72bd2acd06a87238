"""Observed values to bins, and cells to the codes of their bins."""
