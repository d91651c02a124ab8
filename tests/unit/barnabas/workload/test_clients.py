import threading

import confluent_kafka
import kafka
import kafka.errors
import pytest
from kafka.future import Future

from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.clients import (
    LIBRARIES,
    ConfluentProducer,
    ConfluentReader,
    Delivery,
    KafkaPythonProducer,
    KafkaPythonReader,
)

TP = TopicPartition("clients", 1)


def test_what_confluent_kafka_writes_is_acknowledged_with_the_offset_it_is_read_at(mock_bootstrap):
    producer = ConfluentProducer(mock_bootstrap)
    deliveries = []
    for value in (b"a", b"b"):
        producer.send(TP, value, deliveries.append)
    producer.close(10)
    assert deliveries == [Delivery(offset=0), Delivery(offset=1)]

    reader = ConfluentReader(mock_bootstrap, [TP])
    records = []
    while len(records) < 2:
        records.extend(reader.poll())
    assert records == [(TP, 0, b"a"), (TP, 1, b"b")]
    assert reader.position(TP) == reader.end(TP) == 2
    reader.close()


def test_what_confluent_kafka_refuses_by_itself_is_refused_at_once(mock_bootstrap):
    producer = ConfluentProducer(mock_bootstrap, {"message.max.bytes": 1000})
    deliveries = []
    producer.send(TP, b"x" * 2000, deliveries.append)
    producer.close(1)
    assert deliveries == [Delivery(error="MSG_SIZE_TOO_LARGE", certain=True)]


def test_a_write_that_nobody_answered_is_not_certain_to_have_failed():
    producer = ConfluentProducer("127.0.0.1:1", {"message.timeout.ms": 50})
    deliveries = []
    producer.send(TP, b"a", deliveries.append)
    producer.close(5)
    assert deliveries == [Delivery(error="_MSG_TIMED_OUT", certain=False)]


def test_the_end_of_a_partition_is_unknown_where_no_broker_answers(monkeypatch):
    monkeypatch.setattr(ConfluentReader, "_TIMEOUT_S", 0.05)
    reader = ConfluentReader("127.0.0.1:1", [TP])
    assert reader.end(TP) is None
    reader.close()


class Placed:
    offset = 7


class NotTold:
    offset = -1


class KafkaPythonStandIn:
    """Answers as kafka-python's own classes do; the real ones meet real brokers in tests/faults."""

    def __init__(self, **config):
        self.config = config
        self.future = Future()
        self.sought = []

    def send(self, topic, value, partition):
        self.sent = topic, value, partition
        return self.future

    def close(self, timeout=None):
        self.closed = timeout

    def assign(self, partitions):
        self.assigned = partitions

    def seek(self, partition, offset):
        self.sought.append((partition, offset))

    def poll(self, timeout_ms, max_records):
        record = type("Record", (), {"offset": 4, "value": b"v"})()
        return {kafka.TopicPartition(*TP): [record]}

    def position(self, partition):
        return 5

    def end_offsets(self, partitions):
        return dict.fromkeys(partitions, 9)


@pytest.fixture
def stand_in(monkeypatch):
    made = []

    def make(**config):
        made.append(KafkaPythonStandIn(**config))
        return made[-1]

    monkeypatch.setattr(kafka, "KafkaProducer", make)
    monkeypatch.setattr(kafka, "KafkaConsumer", make)
    return made


@pytest.mark.parametrize(
    ("outcome", "delivery"),
    [
        (Placed, Delivery(offset=7)),
        (NotTold, Delivery(offset=None)),
        (kafka.errors.MessageSizeTooLargeError("big"), Delivery(error="", certain=True)),
        (kafka.errors.KafkaTimeoutError("late"), Delivery(error="", certain=False)),
    ],
)
def test_kafka_pythons_outcomes_are_distinguished(stand_in, outcome, delivery):
    producer = KafkaPythonProducer("a:1,b:2")
    told, deliveries = threading.Event(), []

    def done(told_delivery):
        deliveries.append(told_delivery)
        told.set()

    producer.send(TP, b"v", done)
    producer.poll()
    client = stand_in[0]
    assert client.config["bootstrap_servers"] == ["a:1", "b:2"]
    assert client.config["acks"] == "all"
    assert client.sent == (TP.topic, b"v", TP.partition)
    if isinstance(outcome, Exception):
        client.future.failure(outcome)
    else:
        client.future.success(outcome())
    assert told.wait(5)
    assert (deliveries[0].offset, deliveries[0].certain) == (delivery.offset, delivery.certain)
    assert (deliveries[0].error is None) == (delivery.error is None)
    producer.close(3)
    assert client.closed == 3


def test_what_kafka_python_did_not_queue_was_certainly_not_written(stand_in):
    producer = KafkaPythonProducer("a:1")

    def refused(*_, **__):
        raise kafka.errors.KafkaTimeoutError("no metadata")

    stand_in[0].send = refused
    deliveries = []
    producer.send(TP, b"v", deliveries.append)
    assert [delivery.certain for delivery in deliveries] == [True]


@pytest.mark.parametrize("fatal", [False, True])
def test_what_confluent_kafka_did_not_queue_was_certainly_not_written_unless_it_failed_for_good(fatal):
    producer = ConfluentProducer("127.0.0.1:1")
    told = confluent_kafka.KafkaError(confluent_kafka.KafkaError._UNKNOWN_TOPIC, "Unknown topic", fatal)

    class Refusing:
        def produce(self, *_, **__):
            raise confluent_kafka.KafkaException(told)

    producer._client = Refusing()
    deliveries = []
    if fatal:
        with pytest.raises(confluent_kafka.KafkaException, match="Unknown topic"):
            producer.send(TP, b"v", deliveries.append)
        assert deliveries == []
    else:
        producer.send(TP, b"v", deliveries.append)
        assert deliveries == [Delivery(error="_UNKNOWN_TOPIC", certain=True)]


def test_confluents_clients_look_again_for_a_topic_that_is_unknown_at_a_moment(monkeypatch):
    class Client:
        def __init__(self, config):
            made.append(config)

        def assign(self, partitions):
            pass

    made = []
    monkeypatch.setattr(confluent_kafka, "Producer", Client)
    monkeypatch.setattr(confluent_kafka, "Consumer", Client)
    ConfluentProducer("a:1")
    ConfluentReader("a:1", [TP])
    assert [config["topic.metadata.refresh.interval.ms"] for config in made] == [10_000, 10_000]


def test_kafka_pythons_settings_may_differ(stand_in):
    KafkaPythonProducer("a:1", {"enable_idempotence": False})
    KafkaPythonProducer("a:1")
    assert [client.config["enable_idempotence"] for client in stand_in] == [False, True]


def test_kafka_pythons_reader_starts_at_the_first_record_of_what_it_is_assigned(stand_in):
    reader = KafkaPythonReader("a:1", [TP])
    (client,) = stand_in
    assert client.assigned == [kafka.TopicPartition(*TP)]
    assert client.sought == [(kafka.TopicPartition(*TP), 0)]
    assert list(reader.poll()) == [(TP, 4, b"v")]
    assert (reader.position(TP), reader.end(TP)) == (5, 9)
    reader.close()


def test_both_libraries_are_there_by_name():
    assert set(LIBRARIES) == {"confluent-kafka", "kafka-python"}
