"""Measurements, each a figure against a target: ``python -m bench --list``."""
