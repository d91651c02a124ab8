import confluent_kafka
import pytest

from bench.cases import produce
from bench.cases.produce import BENCHES, write


def test_every_record_is_acknowledged_before_the_clock_stops(mock_bootstrap):
    assert write(mock_bootstrap, records=3_000, size=100) > 0
    client = confluent_kafka.Consumer({"bootstrap.servers": mock_bootstrap, "group.id": "x"})
    ends = [
        client.get_watermark_offsets(confluent_kafka.TopicPartition(produce.TOPIC, n), timeout=5)[1]
        for n in range(produce.PARTITIONS)
    ]
    client.close()
    assert ends == [1_000, 1_000, 1_000]


def test_records_without_outcome_are_no_figure(monkeypatch):
    monkeypatch.setattr(produce, "FLUSH_TIMEOUT_S", 0.1)
    with pytest.raises(TimeoutError, match="5 of 5 records had no outcome"):
        write("127.0.0.1:1", records=5, size=10)


def test_the_targets_are_those_that_were_asked_for():
    targets = {bench.name: (bench.target.figure, bench.unit) for bench in BENCHES}
    assert targets == {"produce-1k": (60.0, "MB/s"), "produce-100b": (400_000.0, "records/s")}
