"""Kafka's own file formats: segments, indexes, logs, checkpoints, and what opens them again after a crash."""
