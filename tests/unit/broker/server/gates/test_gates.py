"""What single gates do beside what the table says of all."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.broker.server.context import CloseConnectionError
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.server.gates.asking import Asked, ask, codes, context_with
from tests.unit.broker.server.gates.rows import OP, TOPIC, C, G, T, request_of, versions


async def test_topics_are_refused_one_by_one_behind_the_others():
    topics = [
        {"name": name, "partitions": [{"partition_index": number, "timestamp": 5} for number in (0, 1)]}
        for name in ("hidden", "secret", "other")
    ]
    handler = Asked()
    context = await context_with((OP.DESCRIBE, T))
    answer = await ask(context, request_of(ApiKey.LIST_OFFSETS, 6, {"topics": topics}), handler)
    assert [topic.name for topic in handler.bodies[0].topics] == ["secret"]
    refused = [(topic.name, [p.partition_index for p in topic.partitions]) for topic in answer.topics]
    assert refused == [("hidden", [0, 1]), ("other", [0, 1])]
    assert {p.offset for topic in answer.topics for p in topic.partitions} == {-1}


def produce(acks, *topics):
    data = [{"name": name, "partition_data": [{"index": 0, "records": records}]} for name, records in topics]
    return request_of(ApiKey.PRODUCE, 9, {"acks": acks, "topic_data": data})


async def test_a_produce_without_acks_closes_the_connection_after_the_allowed_part():
    handler = Asked()
    context = await context_with((OP.WRITE, T))
    with pytest.raises(CloseConnectionError, match="acks=0 failed"):
        await ask(context, produce(0, ("secret", None), ("hidden", None)), handler)
    assert [topic.name for topic in handler.bodies[0].topic_data] == ["secret"]


async def test_a_batch_that_says_it_is_transactional_needs_the_transactional_id():
    handler = Asked()
    context = await context_with((OP.WRITE, T))
    batch = bytes(21) + b"\0\x10" + bytes(40)
    answer = await ask(context, produce(-1, ("secret", batch)), handler)
    assert codes(answer) == {53}
    assert handler.bodies == []
    with pytest.raises(CloseConnectionError):
        await ask(context, produce(0, ("secret", batch)), handler)


async def test_another_broker_than_the_controller_says_so():
    metadata = SimpleNamespace(controller=2, partitions=lambda name: {})
    context = await context_with(metadata=metadata)
    for key, values in (
        (ApiKey.CREATE_TOPICS, {"topics": [{"name": "secret"}]}),
        (ApiKey.DELETE_TOPICS, {"topics": [{"name": "secret", "topic_id": None}]}),
        (ApiKey.CREATE_PARTITIONS, {"topics": [{"name": "secret"}]}),
        (ApiKey.ALTER_USER_SCRAM_CREDENTIALS, {"deletions": [{"name": "secret"}]}),
    ):
        handler = Asked()
        answer = await ask(context, request_of(key, APIS[key].max_version, values), handler)
        assert ErrorCode.NOT_CONTROLLER in codes(answer)
        assert handler.names == []


@pytest.mark.parametrize(
    ("version", "error"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)]
)
async def test_deletion_that_is_disabled_is_disabled_for_everybody(version, error):
    settings = SimpleNamespace(values={"delete.topic.enable": False})
    context = await context_with(broker_settings=lambda: settings)
    answer = await ask(
        context, request_of(ApiKey.DELETE_TOPICS, version, {"topic_names": ["secret"]}), Asked()
    )
    assert codes(answer) == {error}


def described(*names, operations=-2147483648):
    return [{"name": name, "partitions": [], "topic_authorized_operations": operations} for name in names]


@pytest.mark.parametrize("version", versions(ApiKey.METADATA))
async def test_all_topics_are_those_that_the_client_may_describe(version):
    handler = Asked(topics=described("secret", "hidden"))
    values = {"topics": None} if version else {"topics": []}
    answer = await ask(
        await context_with((OP.READ, T)), request_of(ApiKey.METADATA, version, values), handler
    )
    assert [topic.name for topic in answer.topics] == ["secret"]


async def test_a_list_that_becomes_empty_does_not_mean_all_topics():
    handler = Asked(topics=described("other", "hidden"))
    request = request_of(ApiKey.METADATA, 0, {"topics": [{"name": "hidden"}]})
    answer = await ask(await context_with((OP.READ, T)), request, handler)
    assert [(topic.name, topic.error_code) for topic in answer.topics] == [("hidden", TOPIC)]


@pytest.mark.parametrize("grants", [[(OP.CREATE, C)], [(OP.CREATE, T)], []])
async def test_a_missing_topic_is_created_for_those_who_may(grants):
    metadata = SimpleNamespace(controller=1, partitions=lambda name: {})
    context = await context_with((OP.DESCRIBE, T), *grants, metadata=metadata)
    handler = Asked()
    request = request_of(
        ApiKey.METADATA, 9, {"topics": [{"name": "secret"}], "allow_auto_topic_creation": True}
    )
    answer = await ask(context, request, handler)
    assert codes(answer) == (set() if grants else {TOPIC})
    assert bool(handler.names) == bool(grants)


async def test_operations_are_those_that_the_client_has():
    context = await context_with((OP.READ, T), (OP.ALTER, C))
    handler = Asked(topics=described("secret", operations=3576), cluster_authorized_operations=8096)
    answer = await ask(context, request_of(ApiKey.METADATA, 9, {"topics": [{"name": "secret"}]}), handler)
    assert answer.topics[0].topic_authorized_operations == 1 << OP.READ | 1 << OP.DESCRIBE
    assert answer.cluster_authorized_operations == 1 << OP.ALTER | 1 << OP.DESCRIBE
    handler = Asked(cluster_authorized_operations=8096)
    request = request_of(ApiKey.DESCRIBE_CLUSTER, 0, {})
    assert (
        await ask(context, request, handler)
    ).cluster_authorized_operations == 1 << OP.ALTER | 1 << OP.DESCRIBE
    assert (await ask(await context_with(), request, handler)).cluster_authorized_operations == 0
    group = {"group_id": "secret", "authorized_operations": 328}
    request = request_of(ApiKey.DESCRIBE_GROUPS, 5, {"groups": ["secret"]})
    answer = await ask(await context_with((OP.DELETE, G)), request, Asked(groups=[group]))
    assert answer.groups[0].authorized_operations == 1 << OP.DELETE | 1 << OP.DESCRIBE


@pytest.mark.parametrize("version", versions(ApiKey.LIST_GROUPS))
async def test_groups_are_listed_for_those_who_may_describe_them(version):
    groups = [{"group_id": "secret"}, {"group_id": "hidden"}]
    for grants, listed in (
        ([(OP.DESCRIBE, C)], ["secret", "hidden"]),
        ([(OP.READ, G)], ["secret"]),
        ([], []),
    ):
        answer = await ask(
            await context_with(*grants), request_of(ApiKey.LIST_GROUPS, version, {}), Asked(groups=groups)
        )
        assert [group.group_id for group in answer.groups] == listed


async def test_all_offsets_of_a_group_are_those_of_topics_that_the_client_may_describe():
    topics = [{"name": "secret"}, {"name": "hidden"}]
    request = request_of(ApiKey.OFFSET_FETCH, 7, {"group_id": "secret", "topics": None})
    context = await context_with((OP.READ, G), (OP.READ, T))
    answer = await ask(context, request, Asked(topics=topics))
    assert [topic.name for topic in answer.topics] == ["secret"]


async def test_settings_of_a_created_topic_are_hidden_without_describe_configs():
    result = {
        "name": "secret",
        "num_partitions": 4,
        "replication_factor": 3,
        "configs": [{"name": "a", "value": "b"}],
    }
    request = request_of(ApiKey.CREATE_TOPICS, 7, {"topics": [{"name": "secret"}]})
    answer = await ask(await context_with((OP.CREATE, T)), request, Asked(topics=[result]))
    (topic,) = answer.topics
    assert (topic.error_code, topic.topic_config_error_code) == (0, TOPIC)
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (-1, -1, ())


async def test_a_topic_named_twice_is_refused_by_the_handler():
    twice = {"topics": [{"name": "secret"}, {"name": "secret"}]}
    for key in (ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS):
        handler = Asked()
        await ask(await context_with(), request_of(key, APIS[key].max_version, twice), handler)
        assert len(handler.bodies[0].topics) == 2
