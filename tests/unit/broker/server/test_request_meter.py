import pytest
from prometheus_client import generate_latest

from barnabas.broker.server.request_meter import RequestMeter, RequestTimes
from barnabas.broker.wire.apis import ApiKey
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.metrics import Metrics


def test_requests_are_counted_by_api_under_kafkas_names():
    metrics = Metrics()
    meter = RequestMeter(metrics)
    meter.answered(ApiKey.PRODUCE, 1000, 40)
    meter.answered(ApiKey.PRODUCE, 1000, 40)
    meter.answered(ApiKey.INIT_PRODUCER_ID, 20, 30)
    page = generate_latest(metrics.registry).decode()
    assert 'kafka_network_RequestMetrics_RequestsPerSec_total{request="Produce"} 2.0' in page
    assert 'kafka_network_RequestMetrics_RequestsPerSec_total{request="InitProducerId"} 1.0' in page
    assert 'kafka_network_RequestMetrics_RequestBytes_total{request="Produce"} 2000.0' in page
    assert 'kafka_network_RequestMetrics_ResponseBytes_total{request="Produce"} 80.0' in page


@pytest.mark.parametrize(("handled", "local", "remote"), [(12.0, 2, 4), (0.0, 6, 0)])
def test_the_times_of_a_request_add_up_to_its_total(handled, local, remote):
    metrics = Metrics()
    times = RequestTimes(arrived=9.0, began=10.0, handled=handled, answered=16.0, sending=24.0)
    RequestMeter(metrics).sent(ApiKey.FETCH, times, 40.0)
    page = generate_latest(metrics.registry).decode()
    for name, seconds in {
        "RequestQueueTimeMs": 1,
        "LocalTimeMs": local,
        "RemoteTimeMs": remote,
        "ResponseQueueTimeMs": 8,
        "ResponseSendTimeMs": 16,
        "TotalTimeMs": 31,
    }.items():
        assert f'RequestMetrics_{name}_sum{{request="Fetch"}} {seconds * 1000:.1f}\n' in page


def test_fetched_bytes_are_counted():
    metrics = Metrics()
    metrics.traffic.hosted = lambda: ("t",)
    meter = RequestMeter(metrics)
    meter.fetched("t", 70, ErrorCode.NONE)
    meter.fetched("t", 0, ErrorCode.OFFSET_OUT_OF_RANGE)
    meter.fetched("t", 0, ErrorCode.UNKNOWN_SERVER_ERROR)
    page = generate_latest(metrics.registry).decode()
    assert 'BytesOutPerSec_total{topic="t"} 70.0' in page
    assert 'TotalFetchRequestsPerSec_total{topic="t"} 3.0' in page
    assert 'FailedFetchRequestsPerSec_total{topic="t"} 1.0' in page


def test_a_topic_that_nobody_knows_is_not_counted():
    """Each name that a client made up took memory until somebody read the metrics page."""
    metrics = Metrics()
    RequestMeter(metrics).fetched("made up", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert metrics.traffic._topics == {}
