"""Read tables of any type as typed columns, and write filled ones of the same type."""
