"""Read tables of any type as typed columns, and make tables of the same type."""
