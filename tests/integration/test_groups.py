"""Consumers without a group, and what clients may not do with the offsets topic and transactions."""

from __future__ import annotations

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka import TopicPartition

from tests.integration.groups import (
    PATIENCE_S,
    committed,
    until,
)
from tests.metadata import metadata_of


def test_a_simple_consumer_keeps_its_offsets_without_a_group(cluster, fresh_admin, topic):
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": topic})
    consumer.commit(offsets=[TopicPartition(topic, 0, 5, "note")], asynchronous=False)
    (found,) = consumer.committed([TopicPartition(topic, 0)], PATIENCE_S)
    assert (found.offset, found.metadata) == (5, "note")
    consumer.close()
    fresh_admin.delete_topics([topic])[topic].result(PATIENCE_S)
    until(lambda: committed(cluster, topic) == {}, "the offsets of a deleted topic gone")


def test_clients_see_the_offsets_topic_and_may_not_write_to_it(cluster, topic):
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    refused = []
    producer.produce("__consumer_offsets", "junk", on_delivery=lambda error, _: refused.append(error))
    producer.flush(PATIENCE_S)
    assert [error.name() for error in refused] == ["TOPIC_EXCEPTION"]
    assert "__consumer_offsets" in metadata_of(producer).topics


def test_a_transactional_producer_is_told_at_once(cluster):
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "x"}
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        confluent_kafka.Producer(settings).init_transactions(PATIENCE_S)
    assert refused.value.args[0].name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
