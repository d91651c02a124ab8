"""The broker's copy of all ACLs: changes of its own, of others, and those that it cannot read."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from structlog.testing import capture_logs

from barnabas.broker.authorizer import audit
from barnabas.broker.authorizer import authorizer as module
from barnabas.broker.authorizer.authorizer import UpdateFailedError, requester_of
from barnabas.cluster.model.acls import (
    AclBinding,
    AclFilter,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.authorization import Action, Rules
from barnabas.cluster.model.principal import ANONYMOUS, KafkaPrincipal
from barnabas.cluster.runtime import line_limit, turn
from barnabas.cluster.zk.client.errors import BadVersion, ZooKeeperTimeout
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.acls import StoredAcls
from tests.unit.broker.authorizer.nodes import NOW_MS, FakeNodes, allow, authorizer_on
from tests.unit.broker.server.turns import Turns

TOPIC = ResourceType.TOPIC
ORDERS = ResourcePattern(TOPIC, "orders")
READ = Action(AclOperation.READ, TOPIC, "orders")
ME = requester_of(ANONYMOUS, "10.0.0.1")
MAY_READ = frozenset({allow(AclOperation.READ)})
BROKEN = ZnodeDecodeError("/kafka-acl/Topic/orders", b"{", "a JSON object")


@pytest.fixture
def nodes():
    return FakeNodes()


@contextlib.asynccontextmanager
async def running(nodes, rules=None):
    """An authorizer that has read all ACLs and follows changes."""
    authorizer = authorizer_on(nodes, rules)
    nodes.watches.append(authorizer.noticed)
    await authorizer.load()
    task = asyncio.create_task(authorizer.run())
    yield authorizer
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def may_read(authorizer):
    return authorizer.is_authorized(ME, READ, "Fetch")


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110  (any step of the authorizer may bring it about)
            await asyncio.sleep(0)


async def test_what_is_stored_holds_from_the_first_decision_on(nodes):
    nodes.stored[ORDERS] = StoredAcls(MAY_READ, 0)
    async with running(nodes) as authorizer:
        assert nodes.created == 1
        assert may_read(authorizer)
        assert await authorizer.bindings(AclFilter()) == [AclBinding(ORDERS, allow(AclOperation.READ))]
        assert await authorizer.bindings(AclFilter(ResourceType.GROUP)) == []


async def test_a_change_holds_on_the_broker_that_makes_it_at_once_and_on_others_soon(nodes):
    async with running(nodes) as maker, running(nodes) as other:
        await maker.create(ORDERS, MAY_READ)
        assert may_read(maker)
        await until(lambda: may_read(other))
        deleted = await other.delete(ORDERS, await other.index_of([AclFilter(TOPIC, "orders")]))
        assert deleted == MAY_READ
        assert not may_read(other)
        assert nodes.stored == {}
        await until(lambda: not may_read(maker))


async def test_two_writers_keep_the_acls_of_both(nodes, monkeypatch):
    monkeypatch.setattr(module, "_UPDATE_PAUSE_S", 0.0)
    one, other = authorizer_on(nodes), authorizer_on(nodes)
    await asyncio.gather(
        *(
            each.create(ORDERS, {allow(operation, f"User:{number}")})
            for number, each in enumerate((one, other, one, other))
            for operation in (AclOperation.READ, AclOperation.WRITE)
        )
    )
    assert len(nodes.stored[ORDERS].entries) == 8
    assert nodes.stored[ORDERS].version == 7


async def test_a_write_that_changes_nothing_is_not_written(nodes):
    authorizer = authorizer_on(nodes)
    await authorizer.create(ORDERS, MAY_READ)
    await authorizer.create(ORDERS, MAY_READ)
    others = await authorizer.index_of([AclFilter(host="10.9.9.9")])
    assert await authorizer.delete(ORDERS, others) == frozenset()
    assert (nodes.stored[ORDERS].version, len(nodes.notes)) == (0, 1)


async def test_an_update_that_always_comes_late_is_given_up(nodes, monkeypatch):
    monkeypatch.setattr(module, "_UPDATE_PAUSE_S", 0.0)
    tried = []

    async def late(resource, entries, version):
        tried.append(version)
        raise BadVersion(str(resource))

    nodes.write = late
    authorizer = authorizer_on(nodes)
    with pytest.raises(UpdateFailedError, match="after trying a maximum of 10 times"):
        await authorizer.create(ORDERS, MAY_READ)
    assert len(tried) == 11
    assert not may_read(authorizer)


async def test_an_update_without_zookeeper_fails(nodes):
    authorizer = authorizer_on(nodes)
    nodes.refuse.append(ZooKeeperTimeout("no answer"))
    with pytest.raises(UpdateFailedError, match="no answer"):
        await authorizer.create(ORDERS, MAY_READ)


async def test_acls_that_cannot_be_read_close_the_resource_to_all_but_super_users(nodes):
    nodes.stored[ORDERS] = StoredAcls(None, 3, BROKEN)
    async with running(nodes, Rules(allow_if_none=True)) as authorizer:
        assert not may_read(authorizer)
        assert await authorizer.bindings(AclFilter()) == []
        with pytest.raises(UpdateFailedError, match="cannot be read"):
            await authorizer.create(ORDERS, MAY_READ)
        nodes.stored[ORDERS] = StoredAcls(MAY_READ, 4)
        nodes.note(ORDERS)
        await until(lambda: may_read(authorizer))
        assert await authorizer.bindings(AclFilter()) != []
    nodes.stored[ORDERS] = StoredAcls(None, 3, BROKEN)
    async with running(nodes, Rules(frozenset({ANONYMOUS}))) as authorizer:
        assert may_read(authorizer)


async def test_a_notification_that_cannot_be_read_reads_everything(nodes):
    async with running(nodes) as authorizer:
        nodes.stored[ORDERS] = StoredAcls(MAY_READ, 0)
        nodes.note(ORDERS, error=BROKEN)
        await until(lambda: may_read(authorizer))


async def test_a_new_session_reads_what_came_and_went_unseen(nodes):
    nodes.stored[ORDERS] = StoredAcls(MAY_READ, 0)
    async with running(nodes) as authorizer:
        del nodes.stored[ORDERS]
        authorizer.session_began()
        await until(lambda: not may_read(authorizer))


async def test_numbers_that_begin_again_are_not_missed(nodes):
    async with running(nodes) as authorizer:
        for _ in range(3):
            nodes.note(ORDERS)
        await until(lambda: authorizer._last[PatternType.LITERAL] == 2)
        nodes.notes.clear()
        authorizer.session_began()
        await until(lambda: authorizer._last[PatternType.LITERAL] == -1)
        nodes.stored[ORDERS] = StoredAcls(MAY_READ, 0)
        nodes.note(ORDERS)
        await until(lambda: may_read(authorizer))


async def test_a_read_that_fails_is_repeated(nodes, monkeypatch):
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    async with running(nodes) as authorizer:
        nodes.stored[ORDERS] = StoredAcls(MAY_READ, 0)
        nodes.refuse += [ZooKeeperTimeout("no answer")] * 2
        nodes.note(ORDERS)
        await until(lambda: may_read(authorizer))


async def test_old_notifications_are_deleted(nodes):
    nodes.note(ORDERS, created_ms=NOW_MS - 16 * 60 * 1000)
    nodes.note(ORDERS, created_ms=NOW_MS - 14 * 60 * 1000)
    async with running(nodes):
        assert [each.number for each in nodes.notes] == [1]


async def test_filters_with_a_name_reach_resources_that_are_not_known_yet(nodes):
    authorizer = authorizer_on(nodes)
    filters = [AclFilter(TOPIC, f"other-{number}") for number in range(1_000)]
    named = await authorizer.index_of([*filters, AclFilter(TOPIC, "orders", PatternType.ANY)])
    assert await authorizer.resources_of(named) == []
    nodes.stored[ORDERS] = StoredAcls(MAY_READ, 0)
    assert await authorizer.resources_of(named) == [ORDERS]
    matched = await authorizer.index_of([AclFilter(TOPIC, "orders", PatternType.MATCH)])
    assert await authorizer.resources_of(matched) == []
    assert await authorizer.delete(ORDERS, named) == MAY_READ
    nodes.refuse.append(ZooKeeperTimeout("no answer"))
    with pytest.raises(ZooKeeperTimeout):
        await authorizer.resources_of(named)


async def test_a_resource_has_no_more_acls_than_its_znode_holds(nodes, monkeypatch):
    monkeypatch.setattr(module, "MOST_OF_A_RESOURCE", 3)
    authorizer = authorizer_on(nodes)
    of_users = [allow(AclOperation.READ, f"User:{number}") for number in range(4)]
    await authorizer.create(ORDERS, of_users[:2])
    await authorizer.create(ORDERS, of_users[1:3])
    with pytest.raises(
        UpdateFailedError, match="they would be 4, and ZooKeeper keeps at most 3 of a resource"
    ):
        await authorizer.create(ORDERS, of_users[3:])
    assert authorizer.known(ORDERS) == frozenset(of_users[:3])
    await authorizer.create(ORDERS, of_users[:3])


async def test_many_acls_are_read_in_portions(nodes, monkeypatch):
    """All of 10,000 resources, read and decoded in one go, kept the loop for 150 ms."""
    monkeypatch.setattr(module, "_READ_AT_ONCE", 10)
    for number in range(25):
        nodes.stored[ResourcePattern(TOPIC, f"t-{number}")] = StoredAcls(MAY_READ, 0)
    asked, read = [], nodes.read

    async def counted(resources):
        asked.append(len(resources))
        return await read(resources)

    nodes.read = counted
    authorizer = authorizer_on(nodes)
    await authorizer.load()
    assert asked == [10, 10, 5]
    assert len(await authorizer.bindings(AclFilter())) == 25


async def test_garbage_collections_do_not_visit_many_acls(nodes, monkeypatch):
    """A full collection over 10,000 of them stalled the loop for 25 ms."""
    exempted = []
    monkeypatch.setattr(module, "_MANY", 3)
    monkeypatch.setattr(module, "exempt_survivors", lambda: exempted.append(len(nodes.stored)))
    authorizer = authorizer_on(nodes)
    for number in range(7):
        await authorizer.create(ORDERS._replace(name=f"t-{number}"), MAY_READ)
        await authorizer.create(ORDERS._replace(name=f"t-{number}"), MAY_READ)
    assert exempted == [3, 6]


async def test_many_notifications_are_not_processed_in_one_turn(nodes, monkeypatch):
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    monkeypatch.setattr(module, "_READ_AT_ONCE", 1)
    authorizer = authorizer_on(nodes)
    await authorizer.load()
    turns = Turns()
    for name in turns.names(100):
        nodes.note(ORDERS._replace(name=name))
        nodes.stored[nodes.notes[-1].resource] = StoredAcls(MAY_READ, 0)
    turns, noted = Turns(), list(nodes.notes)

    async def changes(after, *, watch):
        return turns.elements(noted)

    nodes.changes = changes
    await authorizer.load()
    assert turns.all >= 200
    assert turns.most_in_a_turn() < 20
    assert len(await authorizer.bindings(AclFilter())) == 100


@pytest.mark.parametrize(
    ("address", "java"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("unknown", "unknown"),
    ],
)
def test_addresses_are_written_as_java_does(address, java):
    assert requester_of(KafkaPrincipal("User", "a"), address).host == java


@pytest.mark.parametrize(
    ("log_allowed", "log_denied", "allowed", "lines"),
    [(True, True, True, 1), (False, True, True, 0), (True, True, False, 1), (True, False, False, 0)],
)
async def test_each_decision_is_audited_unless_it_only_filters(
    nodes, caplog, *, log_allowed, log_denied, allowed, lines
):
    caplog.set_level("DEBUG", "kafka.authorizer.logger")
    rules = Rules(allow_if_none=allowed)
    authorizer = authorizer_on(nodes, rules)
    decided = authorizer.is_authorized(
        ME, READ, "Fetch", count=3, log_allowed=log_allowed, log_denied=log_denied
    )
    assert decided is allowed
    word = "Allowed" if allowed else "Denied"
    line = (
        f"Principal = User:ANONYMOUS is {word} Operation = Read from host = 10.0.0.1 on resource = "
        "Topic:LITERAL:orders for request = Fetch with resourceRefCount = 3"
    )
    assert [record.getMessage() for record in caplog.records] == [line] * lines


async def test_a_name_cannot_forge_a_line(nodes, caplog):
    caplog.set_level("INFO", "kafka.authorizer.logger")
    action = Action(AclOperation.READ, ResourceType.GROUP, "a\nPrincipal = User:b is Allowed")
    authorizer_on(nodes).is_authorized(ME, action, "JoinGroup")
    assert "Group:LITERAL:a\\nPrincipal = User:b is Allowed for" in caplog.records[0].getMessage()


async def test_of_many_denials_a_principal_gets_so_many_lines_and_others_theirs(nodes, caplog):
    """One request of 100 MB wrote 100 MB."""
    caplog.set_level("INFO", "kafka.authorizer.logger")
    authorizer = authorizer_on(nodes)
    for number in range(audit.DENIALS + 100):
        action = Action(AclOperation.READ, ResourceType.GROUP, f"{number}-" + "a" * 30_000)
        assert not authorizer.is_authorized(ME, action, "DescribeGroups")
    assert len(caplog.records) == audit.DENIALS
    longest = max(len(record.getMessage()) for record in caplog.records)
    assert longest < 500
    assert "a... (30002 characters) for request" in caplog.records[0].getMessage()
    other = requester_of(KafkaPrincipal("User", "other"), "10.0.0.1")
    authorizer.is_authorized(other, READ, "Fetch")
    assert caplog.records[-1].getMessage().startswith("Principal = User:other is Denied")
    with capture_logs() as notified:
        line_limit.LINES.log_suppressed(at_the_end=True)
    assert [line["event"] for line in notified] == [
        "Suppressed 100 more lines of the kind: denials in kafka-authorizer.log of User:ANONYMOUS"
    ]


async def test_many_changes_of_acls_are_not_all_logged(nodes):
    authorizer = authorizer_on(nodes)
    with capture_logs() as notified:
        for number in range(50):
            await authorizer.create(ResourcePattern(TOPIC, "t" * 1_000 + str(number)), MAY_READ)
    assert len(notified) == line_limit.LINES_PER_WINDOW
    assert max(len(line["event"]) for line in notified) < 400


async def test_a_decision_by_type_is_audited_without_a_name(nodes, caplog):
    caplog.set_level("DEBUG", "kafka.authorizer.logger")
    authorizer = authorizer_on(nodes)
    assert not authorizer.is_authorized_by_type(ME, AclOperation.WRITE, TOPIC, "InitProducerId")
    assert "on resource = Topic:UNKNOWN:NONE for request = InitProducerId" in caplog.records[0].getMessage()
