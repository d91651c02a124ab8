"""librdkafka's own mock cluster: what a bench does with its client can be tested without our brokers."""

import pytest
from confluent_kafka.admin import AdminClient


@pytest.fixture(scope="module")
def mock_bootstrap():
    owner = AdminClient({"test.mock.num.brokers": 3, "bootstrap.servers": "mock", "log_level": 2})
    brokers = owner.list_topics(timeout=5).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    del owner
