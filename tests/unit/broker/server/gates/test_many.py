"""Requests with many elements before each gate: none handles them all in one turn of the event loop."""

from __future__ import annotations

import dataclasses

import pytest

from barnabas.broker.server import access
from barnabas.broker.server.gates import configs
from barnabas.broker.server.gates.table import GATES
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.runtime import turn
from tests.unit.broker.server.gates.asking import ask, context_with, handler_of
from tests.unit.broker.server.gates.rows import request_of

MANY = 100
FEW = 10
NUMBERS = range(MANY)
NAMES = [f"n{n}" for n in NUMBERS]
TOPICS = [{"name": name, "topic_id": None} for name in NAMES]
RESOURCES = [{"resource_type": 2 + n % 2 * 2, "resource_name": f"r{n}"} for n in NUMBERS]

WITH_PARTITIONS = {
    "PRODUCE": ("topic_data", "partition_data"),
    "ALTER_PARTITION_REASSIGNMENTS": ("topics", "partitions"),
    "DELETE_RECORDS": ("topics", "partitions"),
    "DESCRIBE_PRODUCERS": ("topics", "partition_indexes"),
    "ELECT_LEADERS": ("topic_partitions", "partitions"),
    "LIST_OFFSETS": ("topics", "partitions"),
    "OFFSET_COMMIT": ("topics", "partitions"),
    "OFFSET_DELETE": ("topics", "partitions"),
    "OFFSET_FETCH": ("topics", "partition_indexes"),
    "OFFSET_FOR_LEADER_EPOCH": ("topics", "partitions"),
}
"""The lists of topics, and of their partitions, by API."""


def topic(api, name, count):
    """A topic of a request with partitions, which some APIs give as numbers."""
    listed, of_numbers = (
        WITH_PARTITIONS[api][1],
        api in {"DESCRIBE_PRODUCERS", "ELECT_LEADERS", "OFFSET_FETCH"},
    )
    partitions = [
        n if of_numbers else {"partition_index": n, "partition": n, "index": n, "records": bytes(61)}
        for n in range(count)
    ]
    return {"name": name, "topic": name, listed: partitions}


ENTITY = [{"entity_type": "user", "entity_name": name} for name in NAMES]
CASES = [
    *((api, {topics: [topic(api, "a", MANY)]}) for api, (topics, _) in WITH_PARTITIONS.items()),
    *((api, {topics: [topic(api, n, 1) for n in NAMES]}) for api, (topics, _) in WITH_PARTITIONS.items()),
    ("METADATA", {"topics": TOPICS}),
    ("CREATE_TOPICS", {"topics": TOPICS}),
    ("CREATE_PARTITIONS", {"topics": TOPICS}),
    ("DELETE_TOPICS", {"topics": TOPICS}),
    ("ALTER_REPLICA_LOG_DIRS", {"dirs": [{"path": "/d", "topics": [{"name": "a", "partitions": NUMBERS}]}]}),
    ("DESCRIBE_CONFIGS", {"resources": RESOURCES}),
    ("ALTER_CONFIGS", {"resources": RESOURCES}),
    ("INCREMENTAL_ALTER_CONFIGS", {"resources": RESOURCES}),
    ("DESCRIBE_GROUPS", {"groups": NAMES}),
    ("DELETE_GROUPS", {"groups_names": NAMES}),
    ("ALTER_CLIENT_QUOTAS", {"entries": [{"entity": ENTITY}]}),
    ("ALTER_CLIENT_QUOTAS", {"entries": [{"entity": ()} for _ in NUMBERS]}),
    ("ALTER_USER_SCRAM_CREDENTIALS", {"deletions": [{"name": name} for name in NAMES]}),
    ("CREATE_ACLS", {"creations": [{} for _ in NUMBERS]}),
    ("DELETE_ACLS", {"filters": [{} for _ in NUMBERS]}),
]

NOTHING_FOR_EACH = {
    "DESCRIBE_ACLS",
    "DESCRIBE_CLIENT_QUOTAS",
    "DESCRIBE_CLUSTER",
    "DESCRIBE_LOG_DIRS",
    "DESCRIBE_USER_SCRAM_CREDENTIALS",
    "FIND_COORDINATOR",
    "HEARTBEAT",
    "INIT_PRODUCER_ID",
    "JOIN_GROUP",
    "LEAVE_GROUP",
    "LIST_GROUPS",
    "LIST_PARTITION_REASSIGNMENTS",
    "SYNC_GROUP",
    "UPDATE_FEATURES",
}
"""The APIs whose gates pass on or refuse the whole request, whatever it lists."""


def counting(entity, turns):
    """The same entity; taking an element of a list in it counts."""
    if isinstance(entity, tuple):
        return turns.elements(counting(each, turns) for each in entity)
    if not dataclasses.is_dataclass(entity):
        return entity
    values = {
        field.name: counting(getattr(entity, field.name), turns) for field in dataclasses.fields(entity)
    }
    return dataclasses.replace(entity, **values)


def test_every_gate_of_requests_with_lists_is_here():
    assert {key.name for key in GATES} == {api for api, _ in CASES} | NOTHING_FOR_EACH


@pytest.mark.parametrize("may", ["nothing", "the group", "all"])
@pytest.mark.parametrize(("api", "values"), CASES, ids=[api for api, _ in CASES])
async def test_many_elements_are_not_checked_in_one_turn(turns, monkeypatch, api, values, may):
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    turns.add()  # some gates look at no element of what they refuse
    kinds = {
        "nothing": (),
        "the group": (ResourceType.GROUP,),
        "all": (ResourceType.GROUP, ResourceType.CLUSTER),
    }
    key = ApiKey[api]
    request = request_of(key, APIS[key].max_version, values | {"group_id": "secret", "acks": -1})
    request = dataclasses.replace(request, body=counting(request.body, turns))
    context = await context_with(*((AclOperation.ALL, kind) for kind in kinds[may]))
    await ask(context, request, handler_of(key))
    assert turns.most_in_a_turn() < FEW


@pytest.mark.parametrize("api", ["DESCRIBE_CONFIGS", "ALTER_CONFIGS", "INCREMENTAL_ALTER_CONFIGS"])
async def test_many_refused_resources_are_not_freed_in_one_turn(monkeypatch, api):
    """100,000 of them took 12 ms, after the answer was built in the same turn."""
    freed, real = [], turn.freed_in_turns

    async def noted(*containers):
        freed.extend(map(len, containers))
        await real(*containers)
        assert not any(containers)

    for module in (access, configs):
        monkeypatch.setattr(module, "freed_in_turns", noted)
    key, topics = ApiKey[api], [{"resource_type": 2, "resource_name": name} for name in NAMES]
    request = request_of(key, APIS[key].max_version, {"resources": topics})
    answer = await ask(await context_with(), request, handler_of(key))
    assert len(getattr(answer, "results", None) or answer.responses) == MANY
    # The number of times that each topic is named, and the answers for them.
    assert freed == [MANY, MANY]
