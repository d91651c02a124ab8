from __future__ import annotations

import dataclasses
import uuid

import pytest

from barnabas.broker.server.handlers.metadata import handle
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.errors import ErrorCode

E = ErrorCode


@pytest.fixture
def metadata(schema, request_of):
    def build(version, *names, every=False, may_create=True, listener="PLAINTEXT", operations=False):
        s = schema(3, version)
        ids = {"topic_id": None} if version >= 10 else {}
        topics = tuple(s.MetadataRequestTopic(name=name, **ids) for name in names)
        newer = {"allow_auto_topic_creation": may_create} if version >= 4 else {}
        if version >= 8:
            newer["include_topic_authorized_operations"] = operations
        if 8 <= version <= 10:
            newer["include_cluster_authorized_operations"] = operations
        body = s.request(topics=(() if version == 0 else None) if every else topics, **newer)
        return request_of(3, version, body, listener=listener)

    return build


def errors(answer):
    return {topic.name: topic.error_code for topic in answer.topics}


@pytest.mark.parametrize("version", range(12))
async def test_all_topics_are_returned(broker, metadata, version):
    broker.topic("orders", 1, 2)
    broker.topic("__consumer_offsets", 1)
    answer = await handle(broker.context, metadata(version, every=True))
    assert errors(answer) == {"orders": E.NONE, "__consumer_offsets": E.NONE}
    assert [(b.node_id, b.host, b.port) for b in answer.brokers] == [
        (1, "plaintext-1", 1001),
        (2, "plaintext-2", 1002),
    ]
    orders, offsets = answer.topics
    assert [(p.partition_index, p.leader_id) for p in orders.partitions] == [(0, 1), (1, 2)]
    assert orders.partitions[0].replica_nodes == (1, 2)
    if version >= 1:
        assert (orders.is_internal, offsets.is_internal) == (False, True)
        assert [b.rack for b in answer.brokers] == ["rack-1", "rack-2"]
    if version >= 2:
        assert answer.cluster_id == "a-cluster"
    if version >= 7:
        assert orders.partitions[0].leader_epoch == 7


@pytest.mark.parametrize("version", [8, 9, 10, 11])
async def test_operations_are_returned_on_request(broker, metadata, version):
    broker.topic("orders", 1)
    silent = await handle(broker.context, metadata(version, "orders"))
    told = await handle(broker.context, metadata(version, "orders", operations=True))
    assert silent.topics[0].topic_authorized_operations == -2147483648
    assert told.topics[0].topic_authorized_operations == 3576
    if version <= 10:
        assert silent.cluster_authorized_operations == -2147483648
        assert told.cluster_authorized_operations == 8096


@pytest.mark.parametrize("version", range(1, 12))
async def test_an_empty_list_means_no_topic_from_version_1(broker, metadata, version):
    broker.topic("orders", 1)
    assert (await handle(broker.context, metadata(version))).topics == ()


async def test_only_the_requested_topics_are_returned_once_each(broker, metadata):
    broker.topic("orders", 1)
    broker.topic("payments", 1)
    assert [
        topic.name for topic in (await handle(broker.context, metadata(9, "orders", "orders"))).topics
    ] == ["orders"]


async def test_a_client_gets_the_endpoints_of_its_listener(broker, metadata):
    answer = await handle(broker.context, metadata(9, listener="OUTSIDE"))
    assert [(b.host, b.port) for b in answer.brokers] == [("outside-1", 2001), ("outside-2", 2002)]


async def test_the_controller_is_named_while_it_is_live(broker, metadata):
    assert (await handle(broker.context, metadata(9))).controller_id == -1
    broker.metadata.controller_changed(2)
    assert (await handle(broker.context, metadata(9))).controller_id == 2
    broker.metadata.controller_changed(3)
    assert (await handle(broker.context, metadata(9))).controller_id == -1


@pytest.mark.parametrize("leader", [-1, 3])
async def test_a_partition_whose_leader_cannot_be_dialled_says_so(broker, metadata, leader):
    broker.topic("orders", leader, replicas=(1, 3), offline=(1,))
    (topic,) = (await handle(broker.context, metadata(9, "orders"))).topics
    (partition,) = topic.partitions
    assert (topic.error_code, partition.error_code) == (E.NONE, E.LEADER_NOT_AVAILABLE)
    assert (partition.leader_id, partition.leader_epoch) == (-1, 7)
    assert partition.replica_nodes == (1, 3)
    assert partition.offline_replicas == (1, 3)


async def test_a_leader_without_the_clients_listener_has_its_own_error_from_version_6(broker, metadata):
    broker.brokers(1, listeners=("PLAINTEXT",))
    broker.topic("orders", 1, replicas=(1,))

    async def error(version):
        (topic,) = (await handle(broker.context, metadata(version, "orders", listener="OUTSIDE"))).topics
        return topic.partitions[0].error_code

    assert await error(5) == E.LEADER_NOT_AVAILABLE
    assert await error(6) == E.LISTENER_NOT_FOUND


async def test_version_0_gets_no_brokers_that_it_cannot_reach(broker, metadata):
    broker.topic("orders", 1, replicas=(1, 3))
    (topic,) = (await handle(broker.context, metadata(0, "orders"))).topics
    (partition,) = topic.partitions
    assert partition.error_code == E.REPLICA_NOT_AVAILABLE
    assert (partition.replica_nodes, partition.isr_nodes) == ((1,), (1,))


@pytest.mark.parametrize("version", range(12))
async def test_a_missing_topic_is_created(broker, metadata, version):
    broker.topic("orders", 1)
    answer = await handle(broker.context, metadata(version, "orders", "new"))
    assert errors(answer) == {"orders": E.NONE, "new": E.LEADER_NOT_AVAILABLE}
    ((command, timeout_ms),) = broker.any_controller.commands
    assert command.topics == (NewTopic("new"),)
    assert timeout_ms == broker.settings.request_timeout_ms
    assert broker.controller.commands == []


async def test_a_created_topic_that_is_known_is_returned_completely(broker, metadata):
    broker.any_controller.on_submit = lambda command: broker.topic("new", 1)
    answer = await handle(broker.context, metadata(9, "new"))
    assert errors(answer) == {"new": E.NONE}
    assert len(answer.topics[0].partitions) == 1


@pytest.mark.parametrize(
    ("told", "error"),
    [
        (E.NONE, E.LEADER_NOT_AVAILABLE),
        (E.TOPIC_ALREADY_EXISTS, E.LEADER_NOT_AVAILABLE),
        (E.INVALID_REPLICATION_FACTOR, E.INVALID_REPLICATION_FACTOR),
    ],
)
async def test_the_outcome_of_the_creation_is_returned(broker, metadata, told, error):
    broker.any_controller.answer = CreateTopicsResult((TopicResult("new", told),))
    assert errors(await handle(broker.context, metadata(9, "new"))) == {"new": error}


async def test_without_a_controller_the_client_shall_ask_again(broker, metadata):
    broker.any_controller.answer = Refused(E.NOT_CONTROLLER, "nobody is")
    assert errors(await handle(broker.context, metadata(9, "new"))) == {"new": E.LEADER_NOT_AVAILABLE}


async def test_nothing_is_created_against_the_clients_will(broker, metadata):
    answer = await handle(broker.context, metadata(9, "new", "a b", may_create=False))
    assert errors(answer) == {"new": E.UNKNOWN_TOPIC_OR_PARTITION, "a b": E.UNKNOWN_TOPIC_OR_PARTITION}


async def test_nothing_is_created_against_the_brokers_settings(broker, metadata):
    broker.settings = dataclasses.replace(broker.settings, auto_create_topics=False)
    answer = await handle(broker.context, metadata(9, "new"))
    assert errors(answer) == {"new": E.UNKNOWN_TOPIC_OR_PARTITION}


async def test_a_name_that_no_topic_may_have_is_never_created(broker, metadata):
    assert errors(await handle(broker.context, metadata(9, "a b"))) == {"a b": E.INVALID_TOPIC_EXCEPTION}
    assert broker.any_controller.commands == []


async def test_a_topic_id_is_refused(broker, schema, request_of):
    s = schema(3, 10)
    topics = (s.MetadataRequestTopic(topic_id=uuid.UUID(int=5), name=None),)
    body = s.request(
        topics=topics,
        include_topic_authorized_operations=False,
        include_cluster_authorized_operations=False,
    )
    assert errors(await handle(broker.context, request_of(3, 10, body))) == {"": E.INVALID_REQUEST}
