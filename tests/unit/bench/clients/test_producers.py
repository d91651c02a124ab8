import confluent_kafka
import pytest

from barnabas.bench.clients import producers
from barnabas.bench.clients.producers import LostRecordsError, Producers, committed, write


@pytest.fixture(autouse=True)
def topic(mock_bootstrap):
    """The mock's topics come with their first record."""
    write(mock_bootstrap, records=producers.PARTITIONS, size=1)


def ends(bootstrap):
    client = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "x"})
    found = [
        client.get_watermark_offsets(confluent_kafka.TopicPartition(producers.TOPIC, n), timeout=5)[1]
        for n in range(producers.PARTITIONS)
    ]
    client.close()
    return found


def test_every_record_is_there_before_the_clock_stops(mock_bootstrap):
    before = ends(mock_bootstrap)
    assert write(mock_bootstrap, records=3_000, size=100) > 0
    assert [end - start for start, end in zip(before, ends(mock_bootstrap), strict=True)] == [1_000] * 3
    assert committed(mock_bootstrap) == sum(before) + 3_000


def test_records_without_outcome_are_no_figure(monkeypatch):
    monkeypatch.setattr(producers, "FLUSH_TIMEOUT_S", 0.1)
    with pytest.raises(TimeoutError, match="5 of 5 records had no outcome"):
        write("127.0.0.1:1", records=5, size=10)


def test_several_producers_share_the_records_as_evenly_as_may_be(mock_bootstrap):
    before = committed(mock_bootstrap)
    with Producers(mock_bootstrap, count=3, size=10) as clients:
        assert list(clients.pids) == ["client 1", "client 2", "client 3"]
        assert clients.write(100) > 0
    assert committed(mock_bootstrap) == before + 100


def test_records_that_failed_are_no_figure(mock_bootstrap, monkeypatch):
    with Producers(mock_bootstrap, count=1, size=10) as clients:
        monkeypatch.setattr(producers, "committed", lambda *_: 0)
        with pytest.raises(LostRecordsError, match="0 of 7 records are committed"):
            clients.write(7)
