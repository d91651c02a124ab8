"""Kafka's wire protocol through the library kio: which versions are served, and the guard before decoding."""
