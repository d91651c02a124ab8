from __future__ import annotations

import asyncio
import datetime as dt
import struct
from dataclasses import replace

import pytest

from barnabas.broker.core.records.refusals import RecordFault
from barnabas.broker.replicas.interface import Appended
from barnabas.broker.server.context import CloseConnectionError
from barnabas.broker.server.handlers import produce as produce_module
from barnabas.broker.server.handlers.produce import handle
from barnabas.broker.wire.frames import encode
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

ORDERS_0, ORDERS_1, PAYMENTS_0 = (
    TopicPartition("orders", 0),
    TopicPartition("orders", 1),
    TopicPartition("payments", 0),
)


@pytest.fixture
def produce(schema, request_of):
    def build(version=9, acks=-1, client_id="test", transactional_id=None):
        s = schema(0, version)

        def topic(name, *partitions):
            data = tuple(s.PartitionProduceData(index=n, records=f"{name}-{n}".encode()) for n in partitions)
            return s.TopicProduceData(name=name, partition_data=data)

        body = s.request(
            transactional_id=transactional_id,
            acks=acks,
            timeout=dt.timedelta(milliseconds=1500),
            topic_data=(topic("orders", 0, 1), topic("payments", 0)),
        )
        return request_of(0, version, body, client_id=client_id)

    return build


def partitions(answer):
    return {
        TopicPartition(topic.name, partition.index): partition
        for topic in answer.responses
        for partition in topic.partition_responses
    }


def many(request, count):
    """The request with so many partitions of its first topic."""
    topic = request.body.topic_data[0]
    data = tuple(replace(topic.partition_data[0], index=n) for n in range(count))
    return replace(request, body=replace(request.body, topic_data=(replace(topic, partition_data=data),)))


async def test_many_partitions_are_appended_in_portions_and_answered_together(broker, produce):
    broker.appends.hold = True
    answer = asyncio.ensure_future(handle(broker.context, many(produce(), 70)))
    for _ in range(10):
        await asyncio.sleep(0)
    assert [len(batches) for batches, _ in broker.appends.calls] == [20, 20, 20, 10]
    assert broker.appends.calls[3][1]["acks"] == -1
    for number in reversed(range(4)):
        assert not answer.done()
        broker.appends.release(number)
    assert list(partitions(await answer)) == [TopicPartition("orders", n) for n in range(70)]


async def test_an_error_among_many_partitions_closes_without_acks(broker, produce):
    assert await handle(broker.context, many(produce(acks=0), 101)) is None
    broker.appends.outcomes[TopicPartition("orders", 100)] = Appended(ErrorCode.CORRUPT_MESSAGE)
    with pytest.raises(CloseConnectionError) as closed:
        await handle(broker.context, many(produce(acks=0), 101))
    assert closed.value.details == {"partition": "orders-100", "error": "CORRUPT_MESSAGE"}


NOW = 100.0


@pytest.fixture
def sent(produce, monkeypatch):
    """A request that was sent so many milliseconds ago; its timeout is 1500."""
    monkeypatch.setattr(produce_module, "monotonic", lambda: NOW)
    return lambda age_ms, **more: replace(produce(**more), sent_at=NOW - age_ms / 1000)


@pytest.mark.parametrize("count", [2, 70])
async def test_what_is_not_recompressed_in_time_is_not_appended(broker, sent, count):
    request = many(sent(1499), count)

    async def prepared(_batches):
        await asyncio.Event().wait()

    broker.appends.preparing = [prepared] * 4
    found = partitions(await handle(broker.context, request))
    assert {each.error_code for each in found.values()} == {ErrorCode.REQUEST_TIMED_OUT}
    assert len(found) == count
    assert broker.appends.calls == []


async def test_what_waited_behind_others_for_too_long_is_not_appended(broker, sent):
    found = partitions(await handle(broker.context, sent(1500)))
    assert {each.error_code for each in found.values()} == {ErrorCode.REQUEST_TIMED_OUT}
    assert broker.appends.calls == []


@pytest.mark.parametrize("acks", [0, 1])
async def test_who_waits_for_no_answer_or_sends_no_timeout_is_not_late(broker, sent, acks):
    request = sent(5000, acks=acks) if acks == 0 else sent(999, acks=acks)
    await handle(broker.context, replace(request, body=replace(request.body, timeout=dt.timedelta())))
    assert len(broker.appends.calls) == 1


async def test_batches_go_to_the_replicas_as_they_came(broker, produce):
    await handle(broker.context, produce())
    assert broker.appends.calls == [
        (
            {ORDERS_0: b"orders-0", ORDERS_1: b"orders-1", PAYMENTS_0: b"payments-0"},
            {"acks": -1, "timeout_ms": 1500, "allow_zstd": True, "allow_internal_topics": False},
        )
    ]


@pytest.mark.parametrize(("version", "allowed"), [(6, False), (7, True)])
async def test_zstd_is_allowed_from_version_7(broker, produce, version, allowed):
    await handle(broker.context, produce(version))
    assert broker.appends.calls[0][1]["allow_zstd"] is allowed


async def test_only_the_admin_client_may_write_to_internal_topics(broker, produce):
    await handle(broker.context, produce(client_id="__admin_client"))
    assert broker.appends.calls[0][1]["allow_internal_topics"] is True


@pytest.mark.parametrize("version", range(3, 10))
async def test_what_is_done_is_answered_at_once(broker, produce, version):
    broker.appends.outcomes[ORDERS_1] = Appended(
        ErrorCode.INVALID_RECORD, record_faults=(RecordFault(3, "no key"),), message="one bad record"
    )
    answer = partitions(await handle(broker.context, produce(version)))
    assert list(answer) == [ORDERS_0, ORDERS_1, PAYMENTS_0]
    assert answer[ORDERS_0].error_code == ErrorCode.NONE
    assert answer[ORDERS_0].base_offset == 0
    assert answer[ORDERS_0].log_append_time == -1
    assert answer[ORDERS_1].error_code == ErrorCode.INVALID_RECORD
    assert answer[ORDERS_1].base_offset == -1
    if version >= 8:
        (fault,) = answer[ORDERS_1].record_errors
        assert (fault.batch_index, fault.batch_index_error_message) == (3, "no key")
        assert answer[ORDERS_1].error_message == "one bad record"


@pytest.mark.parametrize("time", [1_700_000_000_123, -1, 0, 2**63 - 1, -(2**63)])
async def test_any_append_time_is_returned(broker, produce, time):
    """A duplicate is answered with the timestamp that its producer made up."""
    broker.appends.outcomes[ORDERS_0] = Appended(ErrorCode.NONE, 5, time, 2)
    answer = await handle(broker.context, produce())
    assert partitions(answer)[ORDERS_0].log_start_offset == 2
    assert struct.pack(">qqq", 5, time, 2) in b"".join(encode(7, answer))


async def test_acks_all_is_answered_when_it_is_committed(broker, produce):
    broker.appends.hold = True
    later = asyncio.ensure_future(handle(broker.context, produce()))
    await asyncio.sleep(0)
    assert len(broker.appends.calls) == 1
    broker.appends.release(0)
    assert partitions(await later)[ORDERS_0].error_code == ErrorCode.NONE


async def test_acks_0_gets_no_answer(broker, produce):
    assert await handle(broker.context, produce(acks=0)) is None


async def test_acks_0_with_an_error_closes_the_connection(broker, produce):
    broker.appends.outcomes[PAYMENTS_0] = Appended(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    with pytest.raises(CloseConnectionError) as closed:
        await handle(broker.context, produce(acks=0))
    assert closed.value.details == {"partition": "payments-0", "error": "NOT_LEADER_OR_FOLLOWER"}


@pytest.mark.parametrize(
    ("version", "error"), [(3, ErrorCode.NOT_LEADER_OR_FOLLOWER), (4, ErrorCode.KAFKA_STORAGE_ERROR)]
)
async def test_a_failed_disk_is_answered_with_the_versions_error(broker, produce, version, error):
    broker.appends.outcomes[ORDERS_0] = Appended(ErrorCode.KAFKA_STORAGE_ERROR)
    assert partitions(await handle(broker.context, produce(version)))[ORDERS_0].error_code == error


async def test_a_transaction_is_refused_and_nothing_written(broker, produce):
    answer = partitions(await handle(broker.context, produce(transactional_id="t")))
    assert {partition.error_code for partition in answer.values()} == {ErrorCode.UNSUPPORTED_VERSION}
    assert broker.appends.calls == []
