"""kafka-acls.sh on the nodes of ACLs, without a broker."""

from __future__ import annotations

import asyncio

import pytest

from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclFilter,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.zk.client.errors import BadVersion
from barnabas.cluster.zk.stores.acls import StoredAcls
from barnabas.tools.acls import acls, zookeeper_acls
from barnabas.tools.acls.zookeeper_acls import (
    MAX_UPDATE_RETRIES,
    connect_string,
    demand_known,
    matching,
    update,
)
from barnabas.tools.command_line.parser import ToolError
from tests.unit.broker.authorizer.nodes import FakeNodes

T = ResourcePattern(ResourceType.TOPIC, "t")
READ, WRITE = (
    AccessControlEntry("User:a", "*", operation, AclPermission.ALLOW)
    for operation in (AclOperation.READ, AclOperation.WRITE)
)
TO = ("--authorizer-properties", "zookeeper.connect=z:1")
A_READS = ("--topic", "t", "--allow-principal", "User:a", "--operation", "Read")


@pytest.mark.parametrize(
    ("properties", "connect"),
    [
        (["zookeeper.connect=z:1/a"], "z:1/a"),
        (["a=b", "zookeeper.connect=z:1", "authorizer.zookeeper.url=y:1"], "y:1"),
    ],
)
def test_the_servers_are_named_by_a_property(properties: list[str], connect: str) -> None:
    assert connect_string(properties) == connect


@pytest.mark.parametrize("properties", [["a=b"], ["zookeeper.connect"]])
def test_without_servers_there_is_an_error(properties: list[str]) -> None:
    with pytest.raises(ToolError, match=r"zookeeper\.connect"):
        connect_string(properties)


def test_other_authorizers_keep_their_acls_elsewhere() -> None:
    demand_known(None)
    demand_known("kafka.security.authorizer.AclAuthorizer")
    with pytest.raises(ToolError, match=r"com\.example\.Other"):
        demand_known("com.example.Other")


def test_acls_match_one_filter_or_more() -> None:
    found = {T: frozenset({READ, WRITE}), T._replace(name="u"): frozenset({READ})}
    only_read = AclFilter(*T, operation=AclOperation.READ)
    assert matching(found, [only_read]) == {T: frozenset({READ})}
    assert matching(found, [only_read, AclFilter()]) == found
    assert matching(found, []) == {}


class Contested(FakeNodes):
    """Nodes that a broker changes at the first writes."""

    def __init__(self, times):
        super().__init__()
        self.times = times

    async def write(self, resource, entries, version):
        if self.times:
            self.times -= 1
            raise BadVersion(str(resource))
        return await super().write(resource, entries, version)


async def test_a_change_of_a_broker_in_between_is_kept() -> None:
    nodes = Contested(MAX_UPDATE_RETRIES)
    await update(nodes, T, lambda own: own | {READ})
    assert nodes.stored[T].entries == {READ}
    with pytest.raises(ToolError, match="after trying a maximum of 10 times"):
        await update(Contested(MAX_UPDATE_RETRIES + 1), T, lambda own: own | {READ})


async def test_acls_that_cannot_be_read_are_not_replaced() -> None:
    nodes = FakeNodes()
    nodes.stored[T] = StoredAcls(None, 3, "no JSON")
    with pytest.raises(ToolError, match="cannot be read: no JSON"):
        await update(nodes, T, lambda own: own | {READ})
    assert nodes.stored[T].version == 3


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> FakeNodes:
    found = FakeNodes()
    asked = []
    monkeypatch.setattr(zookeeper_acls, "AclStore", lambda session: session)

    def in_session(connect, security, work):
        asked.append(connect)
        return asyncio.run(work(found))

    monkeypatch.setattr(zookeeper_acls, "in_session", in_session)
    return found


def test_the_tool_adds_lists_and_removes(nodes: FakeNodes, capsys: pytest.CaptureFixture[str]) -> None:
    assert acls.main([*TO, "--add", *A_READS]) == 0
    text = "(principal=User:a, host=*, operation=READ, permissionType=ALLOW)"
    of_t = "resource `ResourcePattern(resourceType=TOPIC, name=t, patternType=LITERAL)`"
    out = capsys.readouterr().out
    assert f"Adding ACLs for {of_t}" in out
    assert f"Current ACLs for {of_t}" in out
    assert nodes.stored[T].entries == {READ}
    assert [note.resource for note in nodes.notes] == [T]
    assert acls.main([*TO, "--list"]) == 0
    assert text in capsys.readouterr().out
    prefixed = ("--topic", "t", "--resource-pattern-type", PatternType.PREFIXED.name.lower())
    assert acls.main([*TO, "--list", *prefixed]) == 0
    assert text not in capsys.readouterr().out
    assert acls.main([*TO, "--remove", "--force", *A_READS]) == 0
    assert nodes.stored == {}
    assert [note.resource for note in nodes.notes] == [T, T]


def test_errors_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for more, told in (
        (("--authorizer", "com.example.Other"), "--authorizer com.example.Other"),
        (("--zk-tls-config-file", "/nowhere"), "zk-tls-config-file /nowhere"),
    ):
        assert acls.main([*TO, "--list", *more]) == 1
        assert told in capsys.readouterr().out
