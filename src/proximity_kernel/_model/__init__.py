"""The fitted model: what a fit learns, in one piece, and what is done with it."""
