"""One record for a test that needs no more."""

from __future__ import annotations

from confluent_kafka import Producer

PATIENCE_S = 100
"""More than librdkafka tries to write a record where a test says no less."""


def delivery_error(bootstrap, topic, value=b"x", **settings):
    """Write a record to partition 0 with acks=all; return the name of its error, or None."""
    errors = []
    common = {"bootstrap.servers": bootstrap, "acks": "all", "message.timeout.ms": 90_000}
    producer = Producer(common | settings)
    producer.produce(
        topic, value, partition=0, on_delivery=lambda error, _: errors.append(error and error.name())
    )
    assert producer.flush(PATIENCE_S) == 0
    return errors[0]


def write(cluster, topic, value=b"x"):
    """Write a record that must be acknowledged."""
    assert delivery_error(cluster.bootstrap, topic, value) is None
