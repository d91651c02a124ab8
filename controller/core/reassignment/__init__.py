"""Partition reassignment (KIP-455; Kafka: ``onPartitionReassignment``)."""
