"""A producer that survives the death of the leader it writes to."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer, TopicPartition

RECORDS = 2_000


def test_no_acknowledged_record_is_lost(barnabas_cluster):
    barnabas_cluster.create_topic("orders")
    leader = barnabas_cluster.leader_of("orders")
    acknowledged = set()
    producer = Producer(
        {
            "bootstrap.servers": barnabas_cluster.bootstrap_servers,
            "acks": "all",  # fails here with "acks": "1", or with "acks": "0"
            "enable.idempotence": True,
        }
    )

    def delivered(error, message):
        assert error is None
        acknowledged.add(message.value())

    for number in range(RECORDS):
        producer.produce("orders", str(number).encode(), on_delivery=delivered)
        producer.poll(0)
        if number == RECORDS // 2:
            barnabas_cluster.kill(leader)
    assert producer.flush(60) == 0

    assert barnabas_cluster.leader_of("orders") != leader
    assert acknowledged == {str(number).encode() for number in range(RECORDS)}
    assert read_all(barnabas_cluster.bootstrap_servers) == acknowledged


def read_all(bootstrap_servers: str) -> set[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "reader"})
    _, end = consumer.get_watermark_offsets(TopicPartition("orders", 0), timeout=30)
    consumer.assign([TopicPartition("orders", 0, 0)])
    found = [message.value() for message in consumer.consume(end, timeout=30)]
    consumer.close()
    assert len(found) == end
    return set(found)
