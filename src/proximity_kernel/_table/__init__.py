"""Tables of any make to typed columns, and filled columns back to the same make."""
