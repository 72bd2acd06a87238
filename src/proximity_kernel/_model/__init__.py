"""The fitted model, and what is computed with it."""
