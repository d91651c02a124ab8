from __future__ import annotations

import datetime as dt

import pytest

from barnabas.broker.replicas.producer_ids import ProducerIdsUnavailableError
from barnabas.broker.server.handlers.init_producer_id import handle
from barnabas.cluster.model.errors import ErrorCode


@pytest.fixture
def init(schema, request_of):
    def build(version=4, transactional_id=None, **newer):
        timeout = dt.timedelta(seconds=60)
        body = schema(22, version).request(
            transactional_id=transactional_id, transaction_timeout=timeout, **newer
        )
        return request_of(22, version, body)

    return build


@pytest.mark.parametrize("version", range(5))
async def test_each_producer_gets_the_next_id_at_epoch_0(broker, init, version):
    given = [await handle(broker.context, init(version)) for _ in range(2)]
    assert [(answer.producer_id, answer.producer_epoch) for answer in given] == [(4000, 0), (4001, 0)]
    assert given[0].error_code == ErrorCode.NONE


async def test_a_known_producer_without_transactions_gets_a_new_id_too(broker, init):
    answer = await handle(broker.context, init(producer_id=12, producer_epoch=3))
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (ErrorCode.NONE, 4000, 0)


@pytest.mark.parametrize(
    "values",
    [
        {"transactional_id": ""},
        {"producer_id": 12, "producer_epoch": -1},
        {"producer_id": -1, "producer_epoch": 3},
    ],
)
async def test_a_contradiction_is_refused(broker, init, values):
    answer = await handle(broker.context, init(**values))
    assert (answer.error_code, answer.producer_id) == (ErrorCode.INVALID_REQUEST, -1)


async def test_a_transactional_producer_is_refused(broker, init):
    answer = await handle(broker.context, init(transactional_id="t"))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_without_a_block_the_client_shall_try_again(broker, init):
    broker.producer_ids.error = ProducerIdsUnavailableError("ZooKeeper is away")
    answer = await handle(broker.context, init())
    assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert answer.error_code.retriable
