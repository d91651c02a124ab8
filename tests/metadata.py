"""The metadata of topics as a broker returns them."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, PartitionMetadata

from barnabas.chaos.waiting import wait_until


def partitions_of(admin: AdminClient, topic: str) -> dict[int, PartitionMetadata]:
    """Return a topic's partitions by number, once a broker that knows the topic is found.

    Raises:
        TimeoutError: No broker knows the topic within a minute.
    """
    return wait_until(
        lambda: admin.list_topics(topic, timeout=20).topics[topic].partitions, f"{topic} in the metadata"
    )


def isrs_of(admin: AdminClient, topic: str) -> dict[int, tuple[int, list[int]]]:
    """Return leader and ISR of each partition of a topic, as an error message shows them."""
    return {number: (seen.leader, seen.isrs) for number, seen in partitions_of(admin, topic).items()}
