"""Quotas of all clients by the brokers' settings, as two client libraries notice them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import confluent_kafka
import kafka
import kafka.admin
import pytest

from barnabas.local.waiting import wait_until

SCRIPTS = Path(__file__).parents[2] / "scripts"

RATE = 20_000
"""Bytes a second."""

RECORDS = 24
"""Of 10 kB: more than the rate over the ten seconds in which Kafka measures it, so the last ones wait."""

TOPIC = "limited"


@pytest.fixture(scope="module")
def bootstrap(request, shared_clusters):
    quotas = {"quota.producer.default": str(RATE), "quota.consumer.default": str(RATE)}
    with shared_clusters.lent(request.session, quotas, brokers=1) as brokers:
        admin = kafka.KafkaAdminClient(bootstrap_servers=brokers.bootstrap)
        admin.create_topics([kafka.admin.NewTopic(TOPIC, 1, 1)])
        admin.close()
        yield brokers.bootstrap


def throttle_times(name, bootstrap, **settings):
    """A client of confluent-kafka, and the list to which it adds the throttle times that it is given."""
    times = []
    client = name(
        {
            "bootstrap.servers": bootstrap,
            "throttle_cb": lambda event: times.append(event.throttle_time),
            **settings,
        }
    )
    return client, times


def produce(bootstrap, client_id, records):
    """Produce records of 10 kB one by one, and return the throttle times in seconds."""
    producer, times = throttle_times(
        confluent_kafka.Producer, bootstrap, **{"client.id": client_id, "batch.num.messages": 1}
    )
    for _ in range(records):
        producer.produce(TOPIC, b"x" * 10_000, partition=0)
    assert producer.flush(120) == 0
    return times


def test_a_client_that_nobody_limited_has_the_quotas_of_the_settings(bootstrap):
    assert max(produce(bootstrap, "anybody", RECORDS)) > 0
    settings = {"client.id": "anybody", "group.id": "none", "fetch.message.max.bytes": 10_000}
    consumer, times = throttle_times(confluent_kafka.Consumer, bootstrap, **settings)
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    wait_until(lambda: consumer.consume(RECORDS, 1) and times, "a throttle time")
    consumer.close()
    assert max(times) > 0


def test_a_quota_of_its_own_takes_the_place_of_the_setting(bootstrap):
    quota = ("--entity-type", "clients", "--entity-name", "freed")
    change = ("--alter", "--add-config", "producer_byte_rate=1000000000")
    command = [str(SCRIPTS / "kafka-configs.sh"), "--bootstrap-server", bootstrap, *quota, *change]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    assert produce(bootstrap, "freed", RECORDS) == []
