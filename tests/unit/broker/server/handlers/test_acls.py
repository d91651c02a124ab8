"""DescribeAcls, CreateAcls and DeleteAcls, each version, on an authorizer in memory."""

from __future__ import annotations

import dataclasses

import pytest

from barnabas.broker.server import acl_requests
from barnabas.broker.server.context import CloseConnectionError
from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import encode
from barnabas.cluster.model import acl_filters
from barnabas.cluster.model.acl_filters import FilterIndex
from barnabas.cluster.model.acls import AclFilter, AclOperation, PatternType, ResourcePattern, ResourceType
from barnabas.cluster.runtime import turn
from barnabas.cluster.zk.client.errors import ZooKeeperTimeout
from tests.unit.broker.authorizer.nodes import FakeNodes, allow, authorizer_on
from tests.unit.broker.server.gates.asking import context_with
from tests.unit.broker.server.gates.rows import request_of

READ, DESCRIBE, ALL = 3, 8, 2
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC = ResourceType.TOPIC


@pytest.fixture
def nodes():
    return FakeNodes()


async def ask(nodes, key, version, values, **context):
    if nodes is not None:
        context["authorizer"] = authorizer_on(nodes)
        await context["authorizer"].load()
    context.setdefault("authorizer", None)
    answer = await HANDLERS[key](await context_with(**context), request_of(key, version, values))
    encode(7, answer)
    return answer


def creation(name="t", **more):
    values = {
        "resource_type": 2,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": "User:a",
        "host": "*",
        "operation": READ,
        "permission_type": 3,
    }
    return values | more


def asked(**more):
    values = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    return values | more


VERSIONS = range(3)


@pytest.mark.parametrize("version", VERSIONS)
async def test_acls_are_created_described_and_deleted(nodes, version):
    creations = [creation(), creation("u"), creation(operation=DESCRIBE), creation()]
    answer = await ask(nodes, ApiKey.CREATE_ACLS, version, {"creations": creations})
    assert [result.error_code for result in answer.results] == [0, 0, 0, 0]
    assert nodes.stored[ResourcePattern(TOPIC, "t")].version == 0, "one write for each resource"
    answer = await ask(nodes, ApiKey.DESCRIBE_ACLS, version, asked())
    assert [(each.resource_name, [acl.operation for acl in each.acls]) for each in answer.resources] == [
        ("t", [READ, DESCRIBE]),
        ("u", [READ]),
    ]
    filters = [asked(operation=READ), asked(resource_name_filter="t"), asked(principal_filter="User:z")]
    answer = await ask(nodes, ApiKey.DELETE_ACLS, version, {"filters": filters})
    assert [
        [(acl.resource_name, acl.operation) for acl in result.matching_acls]
        for result in answer.filter_results
    ] == [[("t", READ), ("u", READ)], [("t", DESCRIBE)], []]
    assert nodes.stored == {}


async def test_version_0_knows_literal_patterns_alone(nodes):
    await ask(nodes, ApiKey.CREATE_ACLS, 1, {"creations": [creation(), creation(resource_pattern_type=4)]})
    answer = await ask(nodes, ApiKey.DESCRIBE_ACLS, 0, asked())
    assert len(answer.resources) == 1
    await ask(nodes, ApiKey.DELETE_ACLS, 0, {"filters": [asked()]})
    assert list(nodes.stored) == [ResourcePattern(TOPIC, "t", PREFIXED)]


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"resource_type": 4}, 42, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"resource_name": ""}, 42, "Invalid empty resource name"),
        ({"resource_name": "a/b"}, 42, "'a/b'; expected one without a slash"),
        ({"resource_name": ".."}, 42, "expected one without a slash"),
        ({"principal": "alice"}, -1, "principalType:principalName but got alice"),
        ({"operation": 1}, -1, "AclOperation ANY"),
        ({"resource_pattern_type": 2}, -1, "PatternType MATCH"),
    ],
)
async def test_an_acl_that_cannot_be_created_is_refused_alone(nodes, more, error, message):
    values = {"creations": [creation(**more), creation("good")]}
    bad, good = (await ask(nodes, ApiKey.CREATE_ACLS, 2, values)).results
    assert (bad.error_code, good.error_code) == (error, 0)
    assert message in bad.error_message
    assert list(nodes.stored) == [ResourcePattern(TOPIC, "good")]


@pytest.mark.parametrize("field", ["operation", "permission_type", "resource_type", "resource_pattern_type"])
async def test_an_unknown_code_closes_the_connection(nodes, field):
    with pytest.raises(CloseConnectionError, match="unknown code"):
        await ask(nodes, ApiKey.CREATE_ACLS, 2, {"creations": [creation(), creation(**{field: 99})]})
    field = field if field in asked() else f"{field.removeprefix('resource_pattern_')}_filter"
    field = {"type_filter": "pattern_type_filter"}.get(field, field)
    for key, values in (
        (ApiKey.DESCRIBE_ACLS, asked(**{field: 0})),
        (ApiKey.DELETE_ACLS, {"filters": [asked(**{field: 0})]}),
    ):
        with pytest.raises(CloseConnectionError, match="unknown code"):
            await ask(nodes, key, 2, values)


async def test_a_write_that_fails_is_an_error_of_its_acls(nodes):
    authorizer = authorizer_on(nodes)
    await authorizer.create(ResourcePattern(TOPIC, "t"), {allow(AclOperation.READ)})
    nodes.refuse += [ZooKeeperTimeout("no answer")]
    answer = await ask(None, ApiKey.CREATE_ACLS, 2, {"creations": [creation()]}, authorizer=authorizer)
    assert [(each.error_code, "no answer" in each.error_message) for each in answer.results] == [(-1, True)]
    nodes.refuse += [ZooKeeperTimeout("no answer")]
    answer = await ask(None, ApiKey.DELETE_ACLS, 2, {"filters": [asked()]}, authorizer=authorizer)
    ((deleted,),) = [result.matching_acls for result in answer.filter_results]
    assert (deleted.error_code, deleted.operation) == (-1, READ)
    assert len(await authorizer.bindings(AclFilter())) == 1


async def test_without_zookeeper_filters_that_name_unknown_resources_fail(nodes):
    authorizer = authorizer_on(nodes)
    nodes.refuse += [ZooKeeperTimeout("no answer")]
    filters = [asked(), asked(resource_type_filter=2, resource_name_filter="t")]
    answer = await ask(None, ApiKey.DELETE_ACLS, 2, {"filters": filters}, authorizer=authorizer)
    assert [(each.error_code, "no answer" in each.error_message) for each in answer.filter_results] == [
        (-1, True),
        (-1, True),
    ]


MANY = 100


@pytest.mark.parametrize("has_authorizer", [True, False])
async def test_many_acls_are_not_checked_in_one_turn(nodes, turns, monkeypatch, has_authorizer):
    """100,000 of them took 166 ms before the first one was created."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    request = request_of(ApiKey.CREATE_ACLS, 2, {"creations": [creation(f"t-{n}") for n in range(MANY)]})
    request = dataclasses.replace(request, body=turns.counting(request.body, "creations"))
    authorizer = authorizer_on(nodes) if has_authorizer else None
    await HANDLERS[ApiKey.CREATE_ACLS](await context_with(authorizer=authorizer), request)
    assert len(nodes.stored) == (MANY if has_authorizer else 0)
    assert turns.most_in_a_turn() < 5


async def test_many_filters_are_not_compared_in_one_turn(nodes, turns, monkeypatch):
    """1,000 filters and 10,000 ACLs took 5.8 s."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    authorizer = authorizer_on(nodes)
    for number in range(MANY):
        await authorizer.create(ResourcePattern(TOPIC, f"t-{number}"), {allow(AclOperation.READ)})
    turns.count(monkeypatch, FilterIndex, "first")
    turns.count(monkeypatch, FilterIndex, "concerns")
    turns.count(monkeypatch, FilterIndex, "add")
    filters = [asked(principal_filter=f"User:{number}") for number in range(MANY)] + [asked()]
    answer = await ask(None, ApiKey.DELETE_ACLS, 2, {"filters": filters}, authorizer=authorizer)
    assert len(answer.filter_results[-1].matching_acls) == MANY
    assert turns.most_in_a_turn() < 5
    assert turns.all < 5 * MANY


async def test_many_acls_are_not_compared_with_a_filter_in_one_turn(nodes, turns, monkeypatch):
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    authorizer = authorizer_on(nodes)
    entries = {allow(AclOperation.READ, f"User:{number}") for number in range(MANY)}
    await authorizer.create(ResourcePattern(TOPIC, "t"), entries)
    turns.count(monkeypatch, AclFilter, "matches")
    answer = await ask(None, ApiKey.DESCRIBE_ACLS, 2, asked(), authorizer=authorizer)
    assert len(answer.resources[0].acls) == MANY
    assert turns.most_in_a_turn() < 5


async def test_many_filters_are_not_freed_in_one_turn(nodes, turns, monkeypatch):
    """100,000 of them took 40 ms."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    monkeypatch.setattr(turn, "_FREED_PER_STEP", 1)
    freed = []

    class Filter(AclFilter):
        def __del__(self):
            turns.add()
            freed.append(self.name)

    class Resource(ResourcePattern):
        def __del__(self):
            turns.add()
            freed.append(self.name)

    monkeypatch.setattr(acl_requests, "AclFilter", Filter)
    monkeypatch.setattr(acl_filters, "ResourcePattern", Resource)
    filters = [asked(resource_type_filter=2, resource_name_filter=f"t-{n}") for n in range(MANY)]
    answer = await ask(nodes, ApiKey.DELETE_ACLS, 2, {"filters": filters})
    assert len(answer.filter_results) == MANY
    assert len(freed) == 3 * MANY  # each of any pattern type, so with two resources
    assert turns.most_in_a_turn() < 5


@pytest.mark.parametrize("version", VERSIONS)
async def test_without_an_authorizer_security_is_disabled(version):
    answer = await ask(None, ApiKey.DESCRIBE_ACLS, version, asked())
    assert (answer.error_code, answer.error_message) == (54, "No Authorizer is configured on the broker")
    answer = await ask(None, ApiKey.CREATE_ACLS, version, {"creations": [creation(), creation()]})
    assert {(each.error_code, each.error_message) for each in answer.results} == {
        (54, "No Authorizer is configured on the broker.")
    }
    answer = await ask(None, ApiKey.DELETE_ACLS, version, {"filters": [asked()]})
    assert [each.error_code for each in answer.filter_results] == [54]
    assert all(APIS[key].max_version == 2 for key in (29, 30, 31))
