from __future__ import annotations

import pytest

from barnabas.broker.server.handlers.describe_cluster import handle
from barnabas.cluster.model.errors import ErrorCode


@pytest.fixture
def describe(broker, schema, request_of):
    async def build(version=0, *, asked=False, listener="PLAINTEXT", **newer):
        body = schema(60, version).request(include_cluster_authorized_operations=asked, **newer)
        return await handle(broker.context, request_of(60, version, body, listener=listener))

    return build


async def test_the_cluster_is_described_with_the_listeners_endpoints(broker, describe):
    answer = await describe(listener="OUTSIDE")
    assert (answer.error_code, answer.cluster_id, answer.controller_id) == (ErrorCode.NONE, "a-cluster", -1)
    told = [(each.broker_id, each.host, each.port, each.rack) for each in answer.brokers]
    assert told == [(1, "outside-1", 2001, "rack-1"), (2, "outside-2", 2002, "rack-2")]
    broker.metadata.controller_changed(2)
    assert (await describe()).controller_id == 2


async def test_operations_are_returned_on_request(describe):
    assert (await describe()).cluster_authorized_operations == -2147483648
    assert (await describe(asked=True)).cluster_authorized_operations == 8096


async def test_only_brokers_have_endpoints(describe):
    assert (await describe(1)).endpoint_type == 1
    refused = await describe(1, endpoint_type=2)
    assert refused.error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
    assert refused.error_message == "Endpoint type 2 is not served; expected 1"
