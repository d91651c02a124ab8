from __future__ import annotations

import asyncio
import contextlib

import pytest
from structlog.testing import capture_logs

from barnabas.broker.config.changes import CHANGE_EXPIRATION_MS, ConfigChanges
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import RequestFailed, ZooKeeperTimeout
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.configs import ConfigChange, ResourceConfigs

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
OWN = ConfigResource(ConfigResourceType.BROKER, "1")
OTHER = ConfigResource(ConfigResourceType.BROKER, "2")
DEFAULT = ConfigResource(ConfigResourceType.BROKER, "")
NOW = 10 * CHANGE_EXPIRATION_MS


class Quotas:
    """The quotas of users and clients."""

    def __init__(self):
        self.settings = {}

    async def read_all(self):
        return dict(self.settings)

    async def read(self, entities):
        return {each: self.settings.get(each, ResourceConfigs({}, None)) for each in entities}


class Store:
    """``/config`` and its notes, and a listener that records what it applies."""

    def __init__(self):
        self.settings = {}
        self.notes = []
        self.reads = []
        self.failures = []
        self.applied = []
        self.something_was_applied = asyncio.Event()
        self.topic_was_applied = asyncio.Event()
        self.topics = ("t",)
        self.refused = set()
        self.quotas = Quotas()
        self.applied_quotas = []
        self.quotas_were_applied = asyncio.Event()

    def note(self, number, resource, age_ms=0, error=None, entity=None):
        name = f"config_change_{number:010d}"
        self.notes.append(ConfigChange(name, number, resource, NOW - age_ms, error, entity))

    async def read(self, resources):
        self.reads.append(list(resources))
        self._fail("read")
        if self.refused.intersection(resources):
            raise RequestFailed("/config", detail="NoAuthError")
        return {each: self.settings.get(each, ResourceConfigs({}, None)) for each in resources}

    async def changes(self, *, watch=False):
        assert watch
        self._fail("changes")
        self.something_was_applied.set()
        return list(self.notes)

    async def delete_change(self, name):
        if name in self.refused:
            raise RequestFailed(name, detail="NoAuthError")
        self.notes = [note for note in self.notes if note.name != name]

    def _fail(self, what):
        if self.failures and self.failures[0] == what:
            self.failures.pop(0)
            raise ZooKeeperTimeout("no answer")

    def topic_changed(self, topic, own):
        if topic == "poisoned":
            raise OverflowError(topic)
        self.applied.append((topic, dict(own)))
        self.topic_was_applied.set()

    def brokers_default_changed(self, settings):
        self.applied.append(("all brokers", dict(settings)))

    def own_changed(self, settings):
        self.applied.append(("this broker", dict(settings)))

    def quotas_changed(self, changed, *, are_all):
        self.applied_quotas.append((dict(changed), are_all))
        self.quotas_were_applied.set()


@pytest.fixture
def store():
    return Store()


@pytest.fixture
async def changes(store, monkeypatch):
    monkeypatch.setattr("barnabas.broker.config.changes.RETRY_S", 0)
    changes = ConfigChanges(BrokerId(1), lambda: store, lambda: store.quotas, store, lambda: NOW)
    task = asyncio.create_task(changes.run())
    yield changes
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def settled(store):
    """Until what was noticed is dealt with."""
    async with asyncio.timeout(60):
        await store.something_was_applied.wait()
    store.something_was_applied.clear()
    for _ in range(5):
        await asyncio.sleep(0)


async def test_each_kind_of_note_reaches_the_listener(changes, store):
    store.settings[TOPIC] = ResourceConfigs({"flush.ms": "9"}, 0)
    for number, resource in enumerate((TOPIC, DEFAULT, OWN, OTHER, None)):
        store.note(number, resource)
    changes.noticed()
    await settled(store)
    assert sorted(store.applied) == [("all brokers", {}), ("t", {"flush.ms": "9"}), ("this broker", {})]


async def test_a_note_is_dealt_with_once_and_many_of_one_resource_at_once(changes, store):
    store.note(3, TOPIC)
    store.note(4, TOPIC)
    changes.noticed()
    await settled(store)
    changes.noticed()
    await settled(store)
    assert store.applied == [("t", {})]
    store.note(5, TOPIC)
    changes.noticed()
    await settled(store)
    assert store.applied == [("t", {})] * 2


async def test_old_notifications_are_deleted_by_any_reader(changes, store):
    store.note(1, TOPIC, age_ms=CHANGE_EXPIRATION_MS + 1)
    store.note(2, TOPIC, age_ms=CHANGE_EXPIRATION_MS)
    changes.noticed()
    await settled(store)
    assert [note.number for note in store.notes] == [2]
    assert store.applied == [("t", {})]


async def test_with_a_session_everything_in_use_is_read(changes, store):
    changes.session_began()
    await settled(store)
    assert sorted(name for name, _ in store.applied) == ["all brokers", "t", "this broker"]
    store.applied.clear()
    changes.noticed()
    await settled(store)
    assert store.applied == []


@pytest.mark.parametrize("what", ["changes", "read"])
async def test_nothing_is_lost_while_zookeeper_does_not_answer(changes, store, what):
    store.failures = [what, what]
    store.note(1, TOPIC)
    changes.noticed()
    async with asyncio.timeout(60):
        await store.topic_was_applied.wait()
    assert ("t", {}) in store.applied
    assert store.failures == []


async def test_settings_that_cannot_be_read_change_nothing(changes, store):
    error = ZnodeDecodeError("/config/topics/t", b"?", "json")
    store.settings[TOPIC] = ResourceConfigs(None, 0, error)
    store.note(1, TOPIC)
    changes.noticed()
    await settled(store)
    assert store.applied == []


async def test_an_unreadable_notification_is_logged_once_and_skipped(changes, store):
    store.note(1, None, error=ZnodeDecodeError("/config/changes/config_change_0000000001", b"?", "json"))
    store.note(2, TOPIC)
    with capture_logs() as logs:
        for _ in range(2):
            changes.noticed()
            await settled(store)
    assert store.applied == [("t", {})]
    (line,) = (each["event"] for each in logs)
    assert line.startswith("A notification of changed settings is skipped: /config/changes/config_change_")


@pytest.mark.parametrize("how", ["raises", "is refused"])
async def test_one_resource_that_fails_keeps_no_other(changes, store, how):
    poisoned = ConfigResource(ConfigResourceType.TOPIC, "poisoned" if how == "raises" else "forbidden")
    store.refused = set() if how == "raises" else {poisoned}
    for number, resource in enumerate((DEFAULT, poisoned, TOPIC)):
        store.note(number, resource)
    changes.noticed()
    await settled(store)
    assert sorted(store.applied) == [("all brokers", {}), ("t", {})]
    store.note(9, TOPIC)
    changes.noticed()
    await settled(store)
    assert store.applied[2:] == [("t", {})]


async def test_an_old_note_that_cannot_be_removed_keeps_no_other(changes, store):
    store.note(1, TOPIC, age_ms=CHANGE_EXPIRATION_MS + 1)
    store.note(2, TOPIC, age_ms=CHANGE_EXPIRATION_MS + 1)
    store.refused = {"config_change_0000000001"}
    changes.noticed()
    await settled(store)
    assert [note.number for note in store.notes] == [1]


async def test_what_is_set_for_brokers_is_read_before_anything_goes_by_it(store):
    store.settings[OWN] = ResourceConfigs({"min.insync.replicas": "2"}, 0)
    await ConfigChanges(BrokerId(1), lambda: store, lambda: store.quotas, store, lambda: NOW).read_brokers()
    assert store.applied == [("all brokers", {}), ("this broker", {"min.insync.replicas": "2"})]


ALICE, APP = QuotaEntity("alice"), QuotaEntity(None, "app")


async def test_all_quotas_are_read_with_each_session_and_then_what_changed(changes, store):
    broken = ResourceConfigs(None, 3, ZnodeDecodeError("/config/clients/app", "what", "JSON"))
    store.quotas.settings = {ALICE: ResourceConfigs({"producer_byte_rate": "5"}, 0), APP: broken}
    changes.session_began()
    await store.quotas_were_applied.wait()
    store.quotas_were_applied.clear()
    del store.quotas.settings[ALICE]
    store.note(1, None, entity=ALICE)
    changes.noticed()
    await store.quotas_were_applied.wait()
    assert store.applied_quotas == [({ALICE: {"producer_byte_rate": "5"}}, True), ({ALICE: {}}, False)]
