"""The report: one HTML page about a table, its missing cells and its similar rows.

- ``page``: compute the content, render the template, show or write the page
- ``findings``: the main results in sentences, and the columns to check
- ``sections``: surprising cells, missing cells, evidence between columns
- ``row_map``: the map of the rows, and the nearest rows
- ``display_columns``: columns as the page shows them, and their cards
"""

from .page import TableReport

__all__ = ["TableReport"]
