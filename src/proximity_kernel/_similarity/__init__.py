"""Represented rows to similarities: the kernel matrix and the nearest rows."""
