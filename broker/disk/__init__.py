"""Kafka's file formats: segments, indexes, logs, checkpoints, and their recovery after a crash."""
