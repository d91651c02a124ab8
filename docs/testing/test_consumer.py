"""A consumer that processes each record at least once, though its coordinator dies, and it does."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer

RECORDS = 200


def consume(bootstrap_servers: str, most: int) -> list[bytes]:
    """The application: process, then commit."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "billing",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 6_000,
        }
    )
    consumer.subscribe(["orders"])
    processed: list[bytes] = []
    while len(processed) < most:
        message = consumer.poll(30)
        assert message is not None, f"nothing came for 30 s after {len(processed)} records"
        assert message.error() is None, message.error()
        processed.append(message.value())
        if len(processed) % 50 == 0:
            consumer.commit(asynchronous=False)
    consumer.close()
    return processed


def test_every_record_is_processed(barnabas_cluster):
    barnabas_cluster.create_topic("orders")
    producer = Producer({"bootstrap.servers": barnabas_cluster.bootstrap_servers, "acks": "all"})
    records = [str(number).encode() for number in range(RECORDS)]
    for record in records:
        producer.produce("orders", record)
    assert producer.flush(30) == 0

    first = consume(barnabas_cluster.bootstrap_servers, 120)  # committed up to 100, and "crashed"
    coordinator = barnabas_cluster.leader_of("__consumer_offsets")  # one partition, unless settings say more
    with barnabas_cluster.killed(coordinator):
        second = consume(barnabas_cluster.bootstrap_servers, RECORDS - 100)

    assert set(first) | set(second) == set(records)
    assert second[0] == records[100]
