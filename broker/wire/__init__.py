"""Kafka's wire protocol through the library kio: the served versions, and the guard before decoding."""
