"""The metadata of topics as a broker returns them."""

from __future__ import annotations

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ClusterMetadata, PartitionMetadata

from barnabas.local.waiting import wait_until


def metadata_of(client: AdminClient | Consumer | Producer, topic: str | None = None) -> ClusterMetadata:
    """Return the metadata of one topic or all, once a broker answers.

    librdkafka leaves the request with the broker that it chose. If that one was killed at the same moment,
    the request waits for its return until it times out, while the other brokers would answer.

    Raises:
        TimeoutError: No broker answers within two minutes.
    """

    def answer() -> ClusterMetadata | None:
        try:
            return client.list_topics(topic, timeout=10)
        except KafkaException as error:
            if error.args[0].code() in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT):
                return None
            raise

    return wait_until(answer, "an answer to the request for metadata")


def partitions_of(admin: AdminClient, topic: str) -> dict[int, PartitionMetadata]:
    """Return a topic's partitions by number, once a broker that knows the topic is found.

    Raises:
        TimeoutError: No broker knows the topic within two minutes.
    """
    return wait_until(lambda: metadata_of(admin, topic).topics[topic].partitions, f"{topic} in the metadata")


def isrs_of(admin: AdminClient, topic: str) -> dict[int, tuple[int, list[int]]]:
    """Return leader and ISR of each partition of a topic, as an error message shows them."""
    return {number: (seen.leader, seen.isrs) for number, seen in partitions_of(admin, topic).items()}
