from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import replace

import pytest

from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.replicas.interface import EpochEndOffset, Fetched, FetchPartition
from barnabas.broker.server.handlers import fetch as module
from barnabas.broker.server.handlers.fetch import handle
from barnabas.cluster.model.acls import AclFilter, AclOperation, ResourcePattern, ResourceType
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime import turn
from barnabas.cluster.zk.stores.acls import StoredAcls
from tests.unit.broker.authorizer.nodes import FakeNodes, allow, authorizer_on

ORDERS_0, ORDERS_1, PAYMENTS_0 = (
    TopicPartition("orders", 0),
    TopicPartition("orders", 1),
    TopicPartition("payments", 0),
)


@pytest.fixture
def fetch(schema, request_of):
    def build(version=12, isolation_level=0, max_wait_ms=500, **newer):
        s = schema(1, version)

        def partition(number):
            epochs = {"current_leader_epoch": 3} if version >= 9 else {}
            epochs |= {"last_fetched_epoch": 2} if version >= 12 else {}
            return s.FetchPartition(
                partition=number, fetch_offset=40 + number, partition_max_bytes=1000, **epochs
            )

        if version >= 7:
            newer.setdefault("forgotten_topics_data", ())
        body = s.request(
            max_wait=dt.timedelta(milliseconds=max_wait_ms),
            min_bytes=1,
            max_bytes=100_000_000,
            isolation_level=isolation_level,
            topics=(
                s.FetchTopic(topic="orders", partitions=(partition(0), partition(1))),
                s.FetchTopic(topic="payments", partitions=(partition(0),)),
            ),
            **newer,
        )
        return request_of(1, version, body)

    return build


def partitions(answer):
    return {
        TopicPartition(topic.topic, partition.partition_index): partition
        for topic in answer.responses
        for partition in topic.partitions
    }


async def test_the_replicas_are_asked_within_the_limits(broker, fetch):
    await handle(broker.context, fetch())
    (asked, options) = broker.reads.calls[0]
    assert asked[ORDERS_1] == FetchPartition(41, 1000, 3, 2, rack="")
    assert list(asked) == [ORDERS_0, ORDERS_1, PAYMENTS_0]
    assert options == {"max_wait_ms": 500, "min_bytes": 1}
    assert broker.reads.portions == [(3, broker.settings.fetch_max_bytes, True)]


async def test_older_versions_check_no_epoch_and_never_wait_less_than_nothing(broker, fetch):
    await handle(broker.context, fetch(4, max_wait_ms=-5))
    (asked, options) = broker.reads.calls[0]
    assert asked[ORDERS_0] == FetchPartition(40, 1000, -1, -1, allow_zstd=False)
    assert options["max_wait_ms"] == 0


@pytest.mark.parametrize(("version", "allowed"), [(9, False), (10, True)])
async def test_zstd_is_for_newer_versions(broker, fetch, version, allowed):
    await handle(broker.context, fetch(version))
    (asked, _) = broker.reads.calls[0]
    assert asked[ORDERS_0].allow_zstd is allowed


@pytest.mark.parametrize("version", range(4, 13))
async def test_exactly_the_partitions_asked_are_answered(broker, fetch, version):
    broker.reads.fetched[ORDERS_1] = Fetched(ErrorCode.NONE, b"batches", 50, 49, 10)
    broker.reads.fetched[PAYMENTS_0] = Fetched(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    answer = await handle(broker.context, fetch(version))
    answered = partitions(answer)
    assert list(answered) == [ORDERS_0, ORDERS_1, PAYMENTS_0]
    assert (answered[ORDERS_1].high_watermark, answered[ORDERS_1].last_stable_offset) == (50, 49)
    assert answered[ORDERS_1].records == b"batches"
    assert answered[ORDERS_0].records == b""
    assert answered[PAYMENTS_0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if version >= 7:
        assert (answer.error_code, answer.session_id) == (ErrorCode.NONE, 0)


async def test_a_partition_asked_for_a_thousand_times_is_answered_once(broker, fetch):
    """Or one batch, by reference in memory, would be gigabytes on the wire."""
    broker.reads.fetched[ORDERS_1] = Fetched(ErrorCode.NONE, b"batches", 50, 49, 10)
    request = fetch()
    orders, payments = request.body.topics
    often = replace(request.body, topics=(replace(orders, partitions=orders.partitions * 1000), payments))
    answer = await handle(broker.context, replace(request, body=often))
    answered = [
        TopicPartition(topic.topic, p.partition_index) for topic in answer.responses for p in topic.partitions
    ]
    assert answered == [ORDERS_0, ORDERS_1, PAYMENTS_0]


async def test_many_partitions_are_waited_for_at_once_and_read_in_portions(broker, fetch):
    broker.reads.fetched = {
        TopicPartition("orders", n): Fetched(ErrorCode.NONE, b"r" * 400, n, n) for n in range(30, 32)
    }
    request = fetch()
    (one, *_), _ = request.body.topics[0].partitions, None
    many = tuple(replace(one, partition=n) for n in range(70))
    body = replace(request.body, max_bytes=1_000, topics=(replace(request.body.topics[0], partitions=many),))
    answer = await handle(broker.context, replace(request, body=body))
    answered = partitions(answer)
    assert list(answered) == [TopicPartition("orders", n) for n in range(70)]
    assert (answered[TopicPartition("orders", 31)].records, answered[ORDERS_0].records) == (b"r" * 400, b"")
    ((waited_for, options),) = broker.reads.calls
    assert (len(waited_for), options) == (70, {"max_wait_ms": 500, "min_bytes": 1})
    assert waited_for[ORDERS_0] == FetchPartition(40, 1000, 3, 2, rack="")
    # What one portion gives is taken off the next one, and only what is empty so far may go beyond it.
    assert broker.reads.portions == [
        (20, 1_000, True),
        (20, 1_000, True),
        (20, 200, False),
        (10, 200, False),
    ]


@pytest.mark.parametrize("version", range(4, 13))
async def test_read_committed_gets_the_aborted_transactions(broker, fetch, version):
    aborted = [AbortedTransaction(7, 40, 45, 46), AbortedTransaction(8, 42, 48, 49)]
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, aborted_transactions=aborted)
    answer = await handle(broker.context, fetch(version, isolation_level=1))
    answered = partitions(answer)[ORDERS_0].aborted_transactions
    assert [(each.producer_id, each.first_offset) for each in answered] == [(7, 40), (8, 42)]
    assert partitions(answer)[ORDERS_1].aborted_transactions == ()
    assert broker.reads.calls[0][0][ORDERS_0].read_committed
    answer = await handle(broker.context, fetch(version))
    assert partitions(answer)[ORDERS_0].aborted_transactions is None
    assert not broker.reads.calls[1][0][ORDERS_0].read_committed


async def test_a_version_without_diverging_epochs_gets_no_records(broker, fetch):
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, diverging_epoch=EpochEndOffset(4, 33))
    assert partitions(await handle(broker.context, fetch(11)))[ORDERS_0].records == b""


async def test_a_diverging_log_is_reported(broker, fetch):
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, diverging_epoch=EpochEndOffset(4, 33))
    diverging = partitions(await handle(broker.context, fetch()))[ORDERS_0].diverging_epoch
    assert (diverging.epoch, diverging.end_offset) == (4, 33)


@pytest.mark.parametrize("session_id", [0, 17])
async def test_a_request_without_a_session_is_answered_whole(broker, fetch, session_id):
    answer = await handle(broker.context, fetch(session_id=session_id, session_epoch=-1))
    assert answer.session_id == 0
    assert len(partitions(answer)) == 3


@pytest.mark.parametrize("session_id", [0, 17])
async def test_an_unknown_session_is_refused(broker, fetch, session_id):
    answer = await handle(broker.context, fetch(session_id=session_id, session_epoch=1))
    assert (answer.error_code, answer.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    assert answer.responses == ()
    assert broker.reads.calls == []


async def test_a_session_names_and_tells_what_changed(broker, fetch, schema):
    context = broker.context
    first = await handle(context, fetch(session_epoch=0))
    assert first.session_id > 0
    assert len(partitions(first)) == 3
    broker.reads.fetched[ORDERS_1] = Fetched(ErrorCode.NONE, b"batches", 50, 49, 10)
    gone = schema(1, 12).ForgottenTopic(topic="payments", partitions=(0,))
    more = {"session_id": first.session_id, "forgotten_topics_data": (gone,), "rack_id": "near"}
    request = fetch(session_epoch=1, **more)
    second = await handle(context, replace(request, body=replace(request.body, topics=())))
    assert (second.error_code, second.session_id) == (ErrorCode.NONE, first.session_id)
    assert list(partitions(second)) == [ORDERS_1]
    # Whose rack it is, the last request says, also for what it does not name.
    assert broker.reads.calls[1][0] == {
        ORDERS_0: FetchPartition(40, 1000, 3, 2, rack="near"),
        ORDERS_1: FetchPartition(41, 1000, 3, 2, rack="near"),
    }
    again = await handle(context, request)
    assert (again.error_code, again.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)


async def test_many_partitions_are_not_freed_in_one_turn(broker, fetch, turns, monkeypatch):
    """100,000 of them took turns of 21 to 50 ms."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    monkeypatch.setattr(turn, "_FREED_PER_STEP", 1)
    freed = []

    class Wanted(FetchPartition):
        __slots__ = ()

        def __del__(self):
            turns.add()
            freed.append(self.offset)

    monkeypatch.setattr(module, "FetchPartition", Wanted)
    request = fetch(max_wait_ms=0)
    one = request.body.topics[0].partitions[0]
    many = tuple(replace(one, partition=n) for n in range(150))
    body = replace(request.body, topics=(replace(request.body.topics[0], partitions=many),))

    async def waited(wanted, **_):
        assert len(wanted) == 150

    monkeypatch.setattr(broker.reads, "wait", waited)
    answer = await handle(broker.context, replace(request, body=body))
    assert len(partitions(answer)) == len(freed) == 150
    assert turns.most_in_a_turn() < 5


async def test_a_session_of_many_partitions_is_read_in_portions(broker, fetch):
    context, request = broker.context, fetch(session_epoch=0)
    (one, *_), _ = request.body.topics[0].partitions, None
    many = tuple(replace(one, partition=n) for n in range(150))
    body = replace(request.body, topics=(replace(request.body.topics[0], partitions=many),))
    first = await handle(context, replace(request, body=body))
    assert len(partitions(first)) == 150
    broker.reads.fetched[ORDERS_1] = Fetched(ErrorCode.NONE, high_watermark=3)
    body = replace(body, topics=(), session_id=first.session_id, session_epoch=1)
    second = await handle(context, replace(request, body=body))
    assert list(partitions(second)) == [ORDERS_1]


@pytest.mark.parametrize(("version", "rack"), [(10, None), (11, "near"), (12, "near")])
async def test_racks_are_known_since_version_11(broker, fetch, version, rack):
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, preferred_read_replica=2)
    answer = await handle(broker.context, fetch(version, **({"rack_id": rack} if rack else {})))
    assert {each.rack for each in broker.reads.calls[0][0].values()} == {rack}
    if rack:
        answered = partitions(answer)
        assert [answered[each].preferred_read_replica for each in (ORDERS_0, ORDERS_1)] == [2, -1]


async def test_a_long_poll_is_answered_when_there_is_something(broker, fetch):
    broker.reads.hold = True
    later = asyncio.ensure_future(handle(broker.context, fetch()))
    await asyncio.sleep(0)
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, b"late")
    broker.reads.held.set_result(None)
    assert partitions(await later)[ORDERS_0].records == b"late"


@pytest.mark.parametrize(
    ("version", "error"), [(5, ErrorCode.NOT_LEADER_OR_FOLLOWER), (6, ErrorCode.KAFKA_STORAGE_ERROR)]
)
async def test_a_failed_disk_is_answered_with_the_versions_error(broker, fetch, version, error):
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.KAFKA_STORAGE_ERROR)
    assert partitions(await handle(broker.context, fetch(version)))[ORDERS_0].error_code == error


@pytest.mark.parametrize("epoch", [-1, -2, -(2**31)])
async def test_a_negative_epoch_is_none(broker, schema, request_of, epoch):
    s = schema(1, 12)
    partition = s.FetchPartition(
        partition=0,
        current_leader_epoch=epoch,
        fetch_offset=0,
        last_fetched_epoch=epoch,
        partition_max_bytes=1000,
    )
    body = s.request(
        replica_id=7,
        max_wait=dt.timedelta(0),
        min_bytes=1,
        max_bytes=1000,
        isolation_level=0,
        topics=(s.FetchTopic(topic="orders", partitions=(partition,)),),
        forgotten_topics_data=(),
    )
    await handle(broker.context, request_of(1, 12, body))
    ((asked, _),) = broker.reads.calls
    (wanted,) = asked.values()
    assert (wanted.current_leader_epoch, wanted.last_fetched_epoch, wanted.replica_id) == (-1, -1, 7)


async def guarded_context(broker, *grants):
    nodes = FakeNodes()
    for operation, kind, name in grants:
        nodes.stored[ResourcePattern(kind, name)] = StoredAcls(frozenset({allow(operation)}), 0)
    authorizer = authorizer_on(nodes)
    await authorizer.load()
    return replace(broker.context, authorizer=authorizer)


READ_ORDERS = (AclOperation.READ, ResourceType.TOPIC, "orders")
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


async def test_topics_that_may_not_be_read_are_not_read(broker, fetch):
    context = await guarded_context(broker, READ_ORDERS)
    answer = partitions(await handle(context, fetch()))
    assert {tp: each.error_code for tp, each in answer.items()} == {
        ORDERS_0: 0,
        ORDERS_1: 0,
        PAYMENTS_0: DENIED,
    }
    assert (answer[PAYMENTS_0].high_watermark, len(answer[PAYMENTS_0].records)) == (-1, 0)
    assert list(broker.reads.calls[0][0]) == [ORDERS_0, ORDERS_1]


async def test_a_client_that_may_read_nothing_does_not_wait(broker, fetch):
    context = await guarded_context(broker)
    broker.reads.hold = True
    answer = partitions(await handle(context, fetch()))
    assert {each.error_code for each in answer.values()} == {DENIED}
    assert broker.reads.portions == [(0, broker.settings.fetch_max_bytes, True)]


async def test_a_session_is_checked_at_each_of_its_fetches(broker, fetch, schema):
    context = await guarded_context(broker, READ_ORDERS)
    first = await handle(context, fetch(session_id=0, session_epoch=0))
    assert first.session_id
    request = fetch(session_id=first.session_id, session_epoch=1)
    silent = replace(request, body=replace(request.body, topics=()))
    assert {tp: each.error_code for tp, each in partitions(await handle(context, silent)).items()} == {
        PAYMENTS_0: DENIED
    }
    everything = await context.authorizer.index_of([AclFilter()])
    await context.authorizer.delete(ResourcePattern(*READ_ORDERS[1:]), everything)
    silent = replace(silent, body=replace(silent.body, session_epoch=2))
    answer = partitions(await handle(context, silent))
    assert {tp: each.error_code for tp, each in answer.items()} == dict.fromkeys(
        (ORDERS_0, ORDERS_1, PAYMENTS_0), DENIED
    )


@pytest.mark.parametrize("granted", [True, False])
async def test_a_fetch_as_a_follower_needs_cluster_action(broker, fetch, granted):
    grants = (
        [(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, "kafka-cluster")] if granted else [READ_ORDERS]
    )
    context = await guarded_context(broker, *grants)
    answer = await handle(context, fetch(replica_id=2))
    assert {each.error_code for each in partitions(answer).values()} == {0 if granted else DENIED}
