from prometheus_client import CollectorRegistry, generate_latest

from barnabas.cluster.runtime import traffic as module
from barnabas.cluster.runtime.traffic import Traffic


def page_of(traffic: Traffic) -> str:
    registry = CollectorRegistry()
    registry.register(traffic)
    return generate_latest(registry).decode()


def test_records_bytes_and_requests_are_counted_by_topic_and_in_all():
    traffic = Traffic()
    traffic.hosted = lambda: ("a", "b")
    traffic.appended("a", 3, 100)
    traffic.appended("b", 1, 10)
    traffic.refused("a", failed=True)
    traffic.refused("a", failed=False)
    traffic.fetched("b", 40, failed=False)
    traffic.fetched("b", 0, failed=True)
    page = page_of(traffic)
    prefix = "kafka_server_BrokerTopicMetrics_"
    for line in (
        'MessagesInPerSec_total{topic=""} 4.0',
        'MessagesInPerSec_total{topic="a"} 3.0',
        'BytesInPerSec_total{topic="b"} 10.0',
        'BytesOutPerSec_total{topic="b"} 40.0',
        'TotalProduceRequestsPerSec_total{topic="a"} 3.0',
        'FailedProduceRequestsPerSec_total{topic="a"} 1.0',
        'TotalFetchRequestsPerSec_total{topic=""} 2.0',
        'FailedFetchRequestsPerSec_total{topic="b"} 1.0',
    ):
        assert f"{prefix}{line}\n" in page


def test_the_bytes_of_replication_have_no_topic():
    traffic = Traffic()
    traffic.replication_bytes_in, traffic.replication_bytes_out = 5, 6
    page = page_of(traffic)
    assert "kafka_server_BrokerTopicMetrics_ReplicationBytesInPerSec_total 5.0\n" in page
    assert "kafka_server_BrokerTopicMetrics_ReplicationBytesOutPerSec_total 6.0\n" in page


def test_refused_records_are_counted_over_all_topics():
    traffic = Traffic()
    traffic.refused_records("NoKeyCompactedTopicRecords", 3)
    traffic.refused_records("NoKeyCompactedTopicRecords", 1)
    page = page_of(traffic)
    assert "kafka_server_BrokerTopicMetrics_NoKeyCompactedTopicRecordsPerSec_total 4.0\n" in page
    assert "kafka_server_BrokerTopicMetrics_InvalidMessageCrcRecordsPerSec_total 0.0\n" in page


def test_topics_that_are_not_hosted_any_more_are_dropped_and_stay_in_the_sum():
    traffic = Traffic()
    hosted = ["a"]
    traffic.hosted = lambda: hosted
    traffic.appended("a", 3, 100)
    assert 'topic="a"' in page_of(traffic)
    hosted.clear()
    page = page_of(traffic)
    assert 'topic="a"' not in page
    assert 'MessagesInPerSec_total{topic=""} 3.0' in page


def test_topics_that_come_and_go_take_no_memory_although_nobody_reads_the_page(monkeypatch):
    """Kafka removes the metrics of a topic with its last partition (``BrokerTopicStats.removeMetrics``)."""
    monkeypatch.setattr(module, "MANY_TOPICS", 10)
    traffic = Traffic()
    hosted = []
    traffic.hosted = lambda: hosted
    for number in range(1_000):
        hosted[:] = [f"t{number}"]
        traffic.appended(f"t{number}", 1, 100)
        assert len(traffic._topics) <= 10
    assert 'MessagesInPerSec_total{topic="t999"} 1.0' in page_of(traffic)


def test_topics_that_are_hosted_stay_however_many_they_are(monkeypatch):
    monkeypatch.setattr(module, "MANY_TOPICS", 10)
    traffic = Traffic()
    names = [f"t{number}" for number in range(100)]
    traffic.hosted = lambda: names
    for name in names:
        traffic.appended(name, 1, 100)
    assert len(traffic._topics) == 100
