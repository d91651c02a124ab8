"""Every served API and version, without any grant and with exactly those that it needs."""

from __future__ import annotations

import dataclasses
import datetime as dt
import inspect
from collections.abc import Awaitable
from types import NoneType, SimpleNamespace, UnionType
from typing import get_args, get_origin

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from barnabas.broker.server.context import Building, CloseConnectionError, Preparing
from barnabas.broker.server.gates.table import GATES, OPEN, guarded
from barnabas.broker.server.portions import LOCAL_PORTION
from barnabas.broker.server.registry import HANDLERS
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import Request, encode
from barnabas.broker.wire.schemas import REQUEST, RESPONSE, load_schema
from barnabas.cluster.model.acls import CLUSTER_NAME, AclOperation, ResourceType
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.principal import ANONYMOUS
from tests.unit.broker.authorizer.nodes import FakeNodes, authorizer_on, grant

OP = AclOperation
T, G, X, C = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID, ResourceType.CLUSTER
TOPIC, GROUP, CLUSTER = 29, 30, 31

PARTITION = {"partition_index": 3, "partition": 3, "index": 3, "records": None}
TOPICS = {"topics": [{"name": "secret", "topic": "secret", "partitions": [PARTITION]}]}
NUMBERED = {"topics": [{"name": "secret", "partition_indexes": [3]}]}
GROUPED = {"group_id": "secret"}
RESOURCES = {"resources": [{"resource_type": 2, "resource_name": "secret"}]}
BROKERS = {"resources": [{"resource_type": 4, "resource_name": "1"}]}

ROWS = [
    (
        ApiKey.PRODUCE,
        {"acks": -1, "topic_data": [{"name": "secret", "partition_data": [PARTITION]}]},
        [(OP.WRITE, T)],
        TOPIC,
    ),
    (ApiKey.LIST_OFFSETS, TOPICS, [(OP.DESCRIBE, T)], TOPIC),
    (ApiKey.METADATA, {"topics": [{"name": "secret"}]}, [(OP.DESCRIBE, T)], TOPIC),
    (ApiKey.OFFSET_COMMIT, TOPICS | GROUPED, [(OP.READ, G), (OP.READ, T)], GROUP),
    (ApiKey.OFFSET_FETCH, NUMBERED | GROUPED, [(OP.DESCRIBE, G), (OP.DESCRIBE, T)], GROUP),
    (ApiKey.FIND_COORDINATOR, {"key": "secret"}, [(OP.DESCRIBE, G)], GROUP),
    (ApiKey.JOIN_GROUP, GROUPED, [(OP.READ, G)], GROUP),
    (ApiKey.HEARTBEAT, GROUPED, [(OP.READ, G)], GROUP),
    (ApiKey.LEAVE_GROUP, GROUPED, [(OP.READ, G)], GROUP),
    (ApiKey.SYNC_GROUP, GROUPED, [(OP.READ, G)], GROUP),
    (ApiKey.DESCRIBE_GROUPS, {"groups": ["secret"]}, [(OP.DESCRIBE, G)], GROUP),
    (
        ApiKey.CREATE_TOPICS,
        {"topics": [{"name": "secret"}]},
        [(OP.CREATE, T), (OP.DESCRIBE_CONFIGS, T)],
        TOPIC,
    ),
    (
        ApiKey.CREATE_TOPICS,
        {"topics": [{"name": "secret"}]},
        [(OP.CREATE, C), (OP.DESCRIBE_CONFIGS, T)],
        TOPIC,
    ),
    (
        ApiKey.DELETE_TOPICS,
        {"topics": [{"name": "secret", "topic_id": None}], "topic_names": ["secret"]},
        [(OP.DELETE, T)],
        TOPIC,
    ),
    (ApiKey.DELETE_RECORDS, TOPICS, [(OP.DELETE, T)], TOPIC),
    (ApiKey.INIT_PRODUCER_ID, {"transactional_id": None}, [(OP.IDEMPOTENT_WRITE, C)], CLUSTER),
    (ApiKey.INIT_PRODUCER_ID, {"transactional_id": None}, [(OP.WRITE, T)], CLUSTER),
    (ApiKey.INIT_PRODUCER_ID, {"transactional_id": "secret"}, [(OP.WRITE, X)], 53),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, TOPICS, [(OP.DESCRIBE, T)], TOPIC),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, TOPICS, [(OP.CLUSTER_ACTION, C)], TOPIC),
    (
        ApiKey.DESCRIBE_ACLS,
        {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1},
        [(OP.DESCRIBE, C)],
        CLUSTER,
    ),
    (ApiKey.CREATE_ACLS, {"creations": [{"resource_name": "secret"}]}, [(OP.ALTER, C)], CLUSTER),
    (ApiKey.DELETE_ACLS, {"filters": [{"resource_name_filter": "secret"}]}, [(OP.ALTER, C)], CLUSTER),
    (ApiKey.DESCRIBE_CONFIGS, RESOURCES, [(OP.DESCRIBE_CONFIGS, T)], TOPIC),
    (ApiKey.DESCRIBE_CONFIGS, BROKERS, [(OP.DESCRIBE_CONFIGS, C)], CLUSTER),
    (ApiKey.ALTER_CONFIGS, RESOURCES, [(OP.ALTER_CONFIGS, T)], TOPIC),
    (ApiKey.ALTER_CONFIGS, BROKERS, [(OP.ALTER_CONFIGS, C)], CLUSTER),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, RESOURCES, [(OP.ALTER_CONFIGS, T)], TOPIC),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, BROKERS, [(OP.ALTER_CONFIGS, C)], CLUSTER),
    (ApiKey.DELETE_GROUPS, {"groups_names": ["secret"]}, [(OP.DELETE, G)], GROUP),
    (
        ApiKey.ELECT_LEADERS,
        {"topic_partitions": [{"topic": "secret", "partitions": [3]}]},
        [(OP.ALTER, C)],
        CLUSTER,
    ),
    (ApiKey.ALTER_PARTITION_REASSIGNMENTS, TOPICS, [(OP.ALTER, C)], CLUSTER),
    (ApiKey.LIST_PARTITION_REASSIGNMENTS, {"topics": None}, [(OP.DESCRIBE, C)], CLUSTER),
    (ApiKey.CREATE_PARTITIONS, {"topics": [{"name": "secret"}]}, [(OP.ALTER, T)], TOPIC),
    (
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        {"dirs": [{"path": "/a", "topics": [{"name": "secret", "partitions": [3]}]}]},
        [(OP.ALTER, C)],
        CLUSTER,
    ),
    (ApiKey.DESCRIBE_LOG_DIRS, {"topics": None}, [(OP.DESCRIBE, C)], None),
    (ApiKey.DESCRIBE_CLIENT_QUOTAS, {}, [(OP.DESCRIBE_CONFIGS, C)], CLUSTER),
    (
        ApiKey.ALTER_CLIENT_QUOTAS,
        {"entries": [{"entity": [{"entity_type": "user", "entity_name": "secret"}]}]},
        [(OP.ALTER_CONFIGS, C)],
        CLUSTER,
    ),
    (ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": [{"name": "secret"}]}, [(OP.DESCRIBE, C)], CLUSTER),
    (
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        {"deletions": [{"name": "secret"}], "upsertions": [{"name": "secret"}]},
        [(OP.ALTER, C)],
        CLUSTER,
    ),
    (ApiKey.UPDATE_FEATURES, {}, [(OP.ALTER, C)], CLUSTER),
    (ApiKey.DESCRIBE_PRODUCERS, NUMBERED, [(OP.READ, T)], TOPIC),
    (ApiKey.OFFSET_DELETE, TOPICS | GROUPED, [(OP.DELETE, G), (OP.READ, T)], GROUP),
]
"""An API, the fields of a request for the resource ``secret``, what it needs, and the error without that."""

NOTHING_NAMED = {ApiKey.LIST_GROUPS, ApiKey.DESCRIBE_CLUSTER}
"""The APIs that need nothing, and whose answers have less for those without grants (tests below)."""


def versions(key):
    return range(APIS[key].min_version, APIS[key].max_version + 1)


CASES = [
    pytest.param(key, version, *row, id=f"{key.name} {version} {'+'.join(op.name for op, _ in row[1])}")
    for key, *row in ROWS
    for version in versions(key)
]


def made(kind, values):
    """An entity of kio from nested values; fields without one are empty."""
    if get_origin(kind) is UnionType:
        if values is None:
            return None
        kind = next(part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        return tuple(made(get_args(kind)[0], each) for each in values or ())
    if dataclasses.is_dataclass(kind):
        if not isinstance(values, dict):
            values = {}
        fields = {}
        for field in dataclasses.fields(kind):
            if field.name in values:
                fields[field.name] = made(field.type, values[field.name])
            elif field.default is dataclasses.MISSING:
                fields[field.name] = made(field.type, _empty(field.type))
        return kind(**fields)
    return values


def _empty(kind):
    if get_origin(kind) is UnionType:
        return None
    if get_origin(kind) is tuple:
        return ()
    if dataclasses.is_dataclass(kind):
        return {}
    base = kind if inspect.isclass(kind) else object
    if issubclass(base, KioErrorCode):
        return KioErrorCode.none
    for plain, empty in ((bool, False), (str, ""), (bytes, b""), (dt.timedelta, dt.timedelta(0))):
        if issubclass(base, plain):
            return empty
    return 0


def request_of(key, version, values):
    body = made(load_schema(key, version, REQUEST), values)
    return Request(APIS[key], version, 7, "me", "PLAINTEXT", body, "10.0.0.1", ANONYMOUS)


def codes(entity):
    """Every error code in an answer."""
    if isinstance(entity, tuple):
        return {code for each in entity for code in codes(each)}
    if not dataclasses.is_dataclass(entity):
        return set()
    found = set()
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        found |= {int(value)} if field.name.endswith("error_code") else codes(value)
    return found


class Asked:
    """A handler that answers with nothing and remembers what it was asked for."""

    def __init__(self):
        self.bodies = []

    def __call__(self, context, request):
        self.bodies.append(request.body)
        return made(load_schema(request.api.key, request.version, RESPONSE), {})

    @property
    def names(self):
        return [body for body in self.bodies if "secret" in repr(body)]


async def context_with(*grants, **more):
    nodes = FakeNodes()
    grant(nodes, *((op, kind, CLUSTER_NAME if kind is C else "secret") for op, kind in grants))
    authorizer = authorizer_on(nodes)
    await authorizer.load()
    values = {
        "authorizer": authorizer,
        "broker_id": 1,
        "metadata": SimpleNamespace(controller=1, partitions=lambda name: {0: None}),
        "settings": SimpleNamespace(auto_create_topics=True),
        "broker_settings": lambda: SimpleNamespace(values={"delete.topic.enable": True}),
    }
    return SimpleNamespace(**(values | more))


async def outcome(answer):
    while True:
        if isinstance(answer, Awaitable):
            answer = await answer
        elif isinstance(answer, Preparing):
            answer = await answer.work
        elif isinstance(answer, Building):
            answer = await answer.work()
        else:
            return answer


async def ask(context, request, handler):
    return await outcome(guarded({request.api.key: handler})[request.api.key](context, request))


def test_every_served_api_is_in_the_table():
    assert set(GATES) | OPEN == set(HANDLERS)
    assert not set(GATES) & OPEN
    assert {key for key, *_ in ROWS} | NOTHING_NAMED == set(GATES)
    with pytest.raises(KeyError):
        guarded({-1: None})


@pytest.mark.parametrize(("key", "version", "values", "needs", "error"), CASES)
async def test_without_a_grant_there_is_the_error_and_the_handler_learns_nothing(
    key, version, values, needs, error
):
    handler = Asked()
    answer = await ask(await context_with(), request_of(key, version, values), handler)
    assert handler.names == []
    encode(7, answer)
    has_code = error is not None and "error_code" in repr(answer)
    assert codes(answer) - {0} == ({error} if has_code else set())


@pytest.mark.parametrize(("key", "version", "values", "needs", "error"), CASES)
async def test_exactly_the_needed_grants_are_enough(key, version, values, needs, error):
    handler, request = Asked(), request_of(key, version, values)
    answer = await ask(await context_with(*needs), request, handler)
    assert codes(answer) <= {0}
    (body,) = handler.bodies
    # A Metadata request that needs to create nothing may create nothing.
    assert dataclasses.replace(body, **_creates(request.body)) == request.body


def _creates(body):
    name = "allow_auto_topic_creation"
    return {name: getattr(body, name)} if hasattr(body, name) else {}


@pytest.mark.parametrize(
    ("key", "version", "values", "needs", "error"), [c for c in CASES if len(c.values[3]) > 1]
)
async def test_one_of_several_needed_grants_is_not_enough(key, version, values, needs, error):
    for missing in needs:
        if missing == (OP.DESCRIBE_CONFIGS, T):
            continue  # hides settings of created topics only
        handler = Asked()
        context = await context_with(*(each for each in needs if each != missing))
        answer = await ask(context, request_of(key, version, values), handler)
        assert codes(answer) - {0} == {TOPIC if missing[1] in (T, C) else GROUP}
        assert all("'secret'" not in repr(getattr(body, "topics", ())) for body in handler.bodies)


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


async def test_an_allowed_produce_is_called_in_the_order_of_requests():
    """Its handler has appended when the gate returns; that of a refused part waits in ``Preparing``."""
    handler, context = Asked(), await context_with((OP.WRITE, T))
    assert not isinstance(GATES[ApiKey.PRODUCE](context, produce(-1, ("secret", None)), handler), Preparing)
    prepared = GATES[ApiKey.PRODUCE](context, produce(-1, ("secret", None), ("hidden", None)), handler)
    assert isinstance(prepared, Preparing)
    assert codes(await outcome(prepared)) == {29}


@pytest.mark.parametrize("hidden", [0, 1])
async def test_a_produce_of_many_partitions_is_checked_as_one_of_few(hidden):
    handler, context = Asked(), await context_with((OP.WRITE, T))
    many = [("secret", None)] * (LOCAL_PORTION + 1) + [("hidden", None)] * hidden
    answer = await ask(context, produce(-1, *many), handler)
    assert {topic.name for topic in handler.bodies[0].topic_data} == {"secret"}
    assert codes(answer) == ({TOPIC} if hidden else set())


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


class Answers:
    """A handler whose answer has these fields."""

    def __init__(self, **values):
        self.values = values
        self.bodies = []

    async def __call__(self, context, request):
        self.bodies.append(request.body)
        answer = made(load_schema(request.api.key, request.version, RESPONSE), self.values)

        async def work():
            return answer

        return Building(work)


def described(*names, operations=-2147483648):
    return [{"name": name, "partitions": [], "topic_authorized_operations": operations} for name in names]


@pytest.mark.parametrize("version", versions(ApiKey.METADATA))
async def test_all_topics_are_those_that_the_client_may_describe(version):
    handler = Answers(topics=described("secret", "hidden"))
    values = {"topics": None} if version else {"topics": []}
    answer = await ask(
        await context_with((OP.READ, T)), request_of(ApiKey.METADATA, version, values), handler
    )
    assert [topic.name for topic in answer.topics] == ["secret"]


async def test_a_list_that_becomes_empty_does_not_mean_all_topics():
    handler = Answers(topics=described("other", "hidden"))
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
    handler = Answers(topics=described("secret", operations=3576), cluster_authorized_operations=8096)
    answer = await ask(context, request_of(ApiKey.METADATA, 9, {"topics": [{"name": "secret"}]}), handler)
    assert answer.topics[0].topic_authorized_operations == 1 << OP.READ | 1 << OP.DESCRIBE
    assert answer.cluster_authorized_operations == 1 << OP.ALTER | 1 << OP.DESCRIBE
    handler = Answers(cluster_authorized_operations=8096)
    request = request_of(ApiKey.DESCRIBE_CLUSTER, 0, {})
    assert (
        await ask(context, request, handler)
    ).cluster_authorized_operations == 1 << OP.ALTER | 1 << OP.DESCRIBE
    assert (await ask(await context_with(), request, handler)).cluster_authorized_operations == 0
    group = {"group_id": "secret", "authorized_operations": 328}
    request = request_of(ApiKey.DESCRIBE_GROUPS, 5, {"groups": ["secret"]})
    answer = await ask(await context_with((OP.DELETE, G)), request, Answers(groups=[group]))
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
            await context_with(*grants), request_of(ApiKey.LIST_GROUPS, version, {}), Answers(groups=groups)
        )
        assert [group.group_id for group in answer.groups] == listed


async def test_all_offsets_of_a_group_are_those_of_topics_that_the_client_may_describe():
    topics = [{"name": "secret"}, {"name": "hidden"}]
    request = request_of(ApiKey.OFFSET_FETCH, 7, {"group_id": "secret", "topics": None})
    context = await context_with((OP.READ, G), (OP.READ, T))
    answer = await ask(context, request, Answers(topics=topics))
    assert [topic.name for topic in answer.topics] == ["secret"]


async def test_settings_of_a_created_topic_are_hidden_without_describe_configs():
    result = {
        "name": "secret",
        "num_partitions": 4,
        "replication_factor": 3,
        "configs": [{"name": "a", "value": "b"}],
    }
    request = request_of(ApiKey.CREATE_TOPICS, 7, {"topics": [{"name": "secret"}]})
    answer = await ask(await context_with((OP.CREATE, T)), request, Answers(topics=[result]))
    (topic,) = answer.topics
    assert (topic.error_code, topic.topic_config_error_code) == (0, TOPIC)
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (-1, -1, ())


async def test_a_topic_named_twice_is_refused_by_the_handler():
    twice = {"topics": [{"name": "secret"}, {"name": "secret"}]}
    for key in (ApiKey.CREATE_TOPICS, ApiKey.CREATE_PARTITIONS):
        handler = Asked()
        await ask(await context_with(), request_of(key, APIS[key].max_version, twice), handler)
        assert len(handler.bodies[0].topics) == 2
