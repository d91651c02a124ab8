from barnabas.cluster.model.acls import (
    AccessControlEntry,
    AclOperation,
    AclPermission,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.client_quotas import USER
from barnabas.cluster.model.commands.configs import ConfigResource, ConfigResourceType
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.schema.quotas import entity_at
from barnabas.cluster.zk.stores.acls import StoredAcls
from barnabas.cluster.zk.stores.configs import ResourceConfigs
from barnabas.testing.settings import Settings, Undo, undo

KEPT, DELETED = (ConfigResource(ConfigResourceType.TOPIC, name) for name in ("kept", "deleted"))
BROKER = ConfigResource(ConfigResourceType.BROKER, "1")
ALICE = entity_at("users/alice")
ORDERS = ResourcePattern(ResourceType.TOPIC, "orders")
READ = AccessControlEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)

NOTHING = Undo({}, {}, {})


def test_what_did_not_change_is_not_written():
    same = Settings(
        {KEPT: ResourceConfigs({"a": "1"}, 3)},
        {ALICE: ResourceConfigs({"b": "2"}, 1)},
        {ORDERS: StoredAcls(frozenset({READ}), 0)},
    )
    newer = Settings(
        {KEPT: ResourceConfigs({"a": "1"}, 9)},
        {ALICE: ResourceConfigs({"b": "2"}, 9)},
        {ORDERS: StoredAcls(frozenset({READ}), 9)},
    )
    assert undo(same, newer, ["kept"]) == NOTHING


def test_what_a_test_made_is_emptied():
    now = Settings(
        {BROKER: ResourceConfigs({"a": "1"}, 3)},
        {ALICE: ResourceConfigs({"b": "2"}, 1)},
        {ORDERS: StoredAcls(frozenset({READ}), 4)},
    )
    assert undo(Settings(), now, []) == Undo({BROKER: ({}, 3)}, {ALICE: ({}, 1)}, {ORDERS: (frozenset(), 4)})


def test_what_a_test_changed_or_deleted_is_as_before():
    then = Settings(
        {KEPT: ResourceConfigs({"a": "1"}, 3)},
        {ALICE: ResourceConfigs({"b": "2"}, 1)},
        {ORDERS: StoredAcls(frozenset({READ}), 4)},
    )
    now = Settings({KEPT: ResourceConfigs({"a": "2"}, 5)})
    assert undo(then, now, ["kept"]) == Undo(
        {KEPT: ({"a": "1"}, 5)}, {ALICE: ({"b": "2"}, None)}, {ORDERS: (frozenset({READ}), None)}
    )


def test_no_settings_are_written_for_a_topic_that_is_gone():
    then = Settings({DELETED: ResourceConfigs({"a": "1"}, 0)})
    assert undo(then, Settings(), ["kept"]) == NOTHING


def test_a_node_that_could_not_be_decoded_then_is_left_alone_and_one_of_now_is_replaced():
    error = ZnodeDecodeError("/config/brokers/1", b"{", "JSON")
    broken, sound = ResourceConfigs(None, 7, error), ResourceConfigs({"a": "1"}, 6)
    assert undo(Settings({BROKER: broken}), Settings({BROKER: sound}), []) == NOTHING
    assert undo(Settings({BROKER: sound}), Settings({BROKER: broken}), []).configs == {
        BROKER: ({"a": "1"}, 7)
    }
    unread = StoredAcls(None, 7, error)
    assert undo(Settings(acls={ORDERS: unread}), Settings(), []) == NOTHING


def test_a_snapshot_shows_no_credentials():
    assert "secret" not in repr(Settings(quotas={ALICE: ResourceConfigs({USER: "secret"}, 0)}))
