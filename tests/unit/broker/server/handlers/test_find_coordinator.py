from __future__ import annotations

import pytest

from barnabas.broker.server.handlers.find_coordinator import handle
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import encode
from barnabas.cluster.model.errors import ErrorCode

FIND_COORDINATOR = APIS[ApiKey.FIND_COORDINATOR]


@pytest.fixture
def find(broker, schema, request_of):
    def ask(version, **newer):
        answer = handle(
            broker.context, request_of(10, version, schema(10, version).request(key="g", **newer))
        )
        assert encode(1, answer)
        return answer

    return ask


@pytest.mark.parametrize("version", range(FIND_COORDINATOR.min_version, FIND_COORDINATOR.max_version + 1))
def test_a_group_is_coordinated_by_the_broker_that_is_asked(broker, find, version):
    broker.brokers(1, 2)
    answer = find(version, **({"key_type": 0} if version else {}))
    assert answer.error_code is ErrorCode.NONE
    assert (answer.node_id, answer.host, answer.port) == (1, "plaintext-1", 1001)


def test_nobody_is_named_who_cannot_be_dialled(broker, find):
    broker.brokers(2)
    answer = find(3, key_type=0)
    assert (answer.error_code, answer.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


def test_a_transactional_producer_is_refused_at_once(broker, find):
    broker.brokers(1)
    answer = find(3, key_type=1)
    assert answer.error_code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert answer.node_id == -1
