"""What clients show of consumer groups and transactions, which are not there yet."""

from __future__ import annotations

import aiokafka
import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient

from barnabas.local.cluster import LocalCluster

TOPIC = "orders"
PATIENCE_S = 30


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with LocalCluster(tmp_path_factory.mktemp("groups"), brokers=1) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([confluent_kafka.admin.NewTopic(TOPIC, 1, 1)])[TOPIC].result(PATIENCE_S)
        yield cluster


def consumer_of(cluster):
    return confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g"})


def test_a_consumer_that_subscribes_gets_the_error_that_groups_are_missing(cluster):
    consumer = consumer_of(cluster)
    consumer.subscribe([TOPIC])
    message = consumer.poll(PATIENCE_S)
    assert message.error().name() == "UNSUPPORTED_VERSION"
    consumer.close()


def test_a_consumer_that_assigns_partitions_gets_no_error(cluster):
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    consumer = consumer_of(cluster)
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    for number in range(3):
        producer.produce(TOPIC, str(number), partition=0)
        assert producer.flush(PATIENCE_S) == 0
        message = consumer.poll(PATIENCE_S)
        assert (message.error(), message.value()) == (None, str(number).encode())
    consumer.close()


def test_kafka_python_raises(cluster):
    consumer = kafka.KafkaConsumer(TOPIC, bootstrap_servers=cluster.bootstrap, group_id="g")
    with pytest.raises(kafka.errors.UnsupportedVersionError):
        consumer.poll(timeout_ms=PATIENCE_S * 1000)
    consumer.close(autocommit=False)


async def test_aiokafka_raises(cluster):
    consumer = aiokafka.AIOKafkaConsumer(TOPIC, bootstrap_servers=cluster.bootstrap, group_id="g")
    with pytest.raises(aiokafka.errors.KafkaError, match="UnsupportedVersionError"):
        await consumer.start()
    await consumer.stop()


def test_a_transactional_producer_gets_an_error_at_once(cluster):
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "x"}
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        confluent_kafka.Producer(settings).init_transactions(PATIENCE_S)
    assert refused.value.args[0].name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
