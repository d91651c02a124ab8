"""Measurements, each a figure against a target: ``python -m barnabas.bench --list``."""
