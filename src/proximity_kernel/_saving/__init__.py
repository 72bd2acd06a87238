"""Estimators to model files and back, without pickle."""
