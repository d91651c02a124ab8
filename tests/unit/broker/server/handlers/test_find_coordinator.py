from __future__ import annotations

import pytest
import structlog

from barnabas.broker.core.group.coordinator_partition import OFFSETS_TOPIC
from barnabas.broker.server.handlers.find_coordinator import handle
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import encode
from barnabas.cluster.model.errors import ErrorCode

FIND_COORDINATOR = APIS[ApiKey.FIND_COORDINATOR]


@pytest.fixture
def find(broker, schema, request_of):
    async def ask(version=3, key="my-group", **newer):
        newer |= {} if version == 0 or newer else {"key_type": 0}
        body = schema(10, version).request(key=key, **newer)
        answer = await handle(broker.context, request_of(10, version, body))
        assert encode(1, answer)
        return answer

    return ask


@pytest.mark.parametrize("version", range(FIND_COORDINATOR.min_version, FIND_COORDINATOR.max_version + 1))
async def test_the_leader_of_a_groups_partition_coordinates_it(broker, find, version):
    broker.topic(OFFSETS_TOPIC, *(2 if number == 12 else 1 for number in range(50)))
    answer = await find(version)
    assert answer.error_code is ErrorCode.NONE
    assert (answer.node_id, answer.host, answer.port) == (2, "plaintext-2", 1002)
    assert not broker.groups.topic.created


async def test_the_first_question_creates_the_topic(broker, find):
    answer = await find()
    assert (answer.error_code, answer.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    assert broker.groups.topic.created == 1


@pytest.mark.parametrize("leader", [-1, 3])
async def test_nobody_is_named_who_cannot_be_dialled(broker, find, leader):
    broker.topic(OFFSETS_TOPIC, leader)
    answer = await find()
    assert (answer.error_code, answer.node_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (1, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (2, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (3, ErrorCode.UNSUPPORTED_VERSION),
    ],
)
async def test_a_transactional_producer_is_refused_at_once_and_reads_why(find, version, error):
    with structlog.testing.capture_logs() as lines:
        answer = await find(version, key_type=1)
    assert (answer.error_code, answer.node_id) == (error, -1)
    assert answer.error_message.startswith("Transactions are not served by this cluster; no ACL changes that")
    assert answer.error_message in lines[0]["event"]


async def test_an_unknown_kind_of_coordinator_is_refused(find):
    assert (await find(key_type=2)).error_code is ErrorCode.INVALID_REQUEST
