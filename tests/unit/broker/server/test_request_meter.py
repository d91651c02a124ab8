from prometheus_client import generate_latest

from barnabas.broker.server.request_meter import RequestMeter
from barnabas.broker.wire.apis import ApiKey
from barnabas.cluster.runtime.metrics import Metrics


def test_requests_are_counted_by_api_under_kafkas_names():
    metrics = Metrics()
    meter = RequestMeter(metrics)
    meter.answered(ApiKey.PRODUCE, 0.002, 1000, 40)
    meter.answered(ApiKey.PRODUCE, 0.002, 1000, 40)
    meter.answered(ApiKey.INIT_PRODUCER_ID, 0.002, 20, 30)
    page = generate_latest(metrics.registry).decode()
    assert 'kafka_network_RequestMetrics_RequestsPerSec_total{request="Produce"} 2.0' in page
    assert 'kafka_network_RequestMetrics_RequestsPerSec_total{request="InitProducerId"} 1.0' in page
    assert 'kafka_network_RequestMetrics_RequestBytes_total{request="Produce"} 2000.0' in page
    assert 'kafka_network_RequestMetrics_ResponseBytes_total{request="Produce"} 80.0' in page
    assert 'kafka_network_RequestMetrics_TotalTimeMs_sum{request="Produce"} 4.0' in page
