import pytest
from structlog.testing import capture_logs

from barnabas.broker.config import topics
from barnabas.broker.config.broker_config import parse
from barnabas.broker.config.topics import TopicConfigs
from barnabas.cluster.zk.client.errors import SessionExpired, ZooKeeperTimeout
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.topics import EntityConfigs


class Store:
    def __init__(self, settings, failures=0):
        self.settings = settings
        self.failures = failures
        self.error = ZooKeeperTimeout("no answer")
        self.asked = []
        self.unreadable = {}

    async def configs(self, names):
        self.asked.append(list(names))
        if self.failures:
            self.failures -= 1
            raise self.error
        found = {name: self.settings[name] for name in names if name in self.settings}
        return EntityConfigs(
            found, {name: self.unreadable[name] for name in names if name in self.unreadable}
        )


def configs(store):
    config, _ = parse({"zookeeper.connect": "z", "min.insync.replicas": "2"}, hostname="here")
    return TopicConfigs(lambda: config, lambda: store)


async def test_a_topics_own_settings_hold_over_the_brokers():
    known = configs(Store({"a": {"min.insync.replicas": "3"}}))
    await known.read(["a", "b"])
    assert known.config_for("a").min_insync_replicas == 3
    assert known.config_for("b").min_insync_replicas == 2


def test_a_topic_that_was_not_read_has_the_brokers_settings():
    assert configs(Store({})).config_for("a").min_insync_replicas == 2


async def test_it_waits_for_a_zookeeper_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(topics, "RETRY_S", 0)
    store = Store({"a": {"min.insync.replicas": "3"}}, failures=2)
    known = configs(store)
    await known.read(["a"])
    assert len(store.asked) == 3
    assert known.config_for("a").min_insync_replicas == 3


async def test_it_does_not_wait_in_a_session_that_is_over():
    store = Store({}, failures=1)
    store.error = SessionExpired("over")
    with pytest.raises(SessionExpired):
        await configs(store).read(["a"])


async def test_known_topics_are_not_read_again_unless_they_are_new():
    store = Store({})
    known = configs(store)
    await known.read_new(["a", "b"])
    await known.read_new(["a", "b"])
    await known.read_new(["a", "b"], fresh=["b"])
    assert store.asked == [["a", "b"], ["b"]]


@pytest.mark.parametrize("settings", [{"min.insync.replicas": "0"}, {"retention.ms": "long"}])
async def test_bad_settings_in_zookeeper_do_not_count(settings):
    known = configs(Store({"a": settings}))
    await known.read(["a"])
    assert known.config_for("a").min_insync_replicas == 2


async def test_overrides_are_read_each_time():
    store = Store({"a": {"retention.ms": "5"}})
    known = configs(store)
    assert await known.overrides(["a", "b"]) == {"a": {"retention.ms": "5"}}
    store.settings["a"] = {}
    assert await known.overrides(["a"]) == {"a": {}}


async def test_a_topic_whose_settings_cannot_be_read_keeps_no_other():
    store = Store({"a": {"min.insync.replicas": "3"}})
    store.unreadable["bad"] = ZnodeDecodeError("/config/topics/bad", b"garbage", "a JSON object")
    known = configs(store)
    with capture_logs() as logs:
        await known.read(["a", "bad"])
    assert known.config_for("a").min_insync_replicas == 3
    assert known.config_for("bad").min_insync_replicas == 2
    (notified,) = logs
    assert notified["log_level"] == "error"
    assert "topic bad in ZooKeeper" in notified["event"]
    assert "expected a JSON object" in notified["event"]
    assert await known.overrides(["a", "bad"]) == {"a": {"min.insync.replicas": "3"}}


async def test_overrides_are_not_waited_for():
    with pytest.raises(ZooKeeperTimeout):
        await configs(Store({}, failures=1)).overrides(["a"])


async def test_what_a_topic_sets_itself_may_change():
    known = configs(Store({"a": {"min.insync.replicas": "3"}}))
    await known.read(["a"])
    assert list(known.topics) == ["a"]
    assert known.changed("a", {"min.insync.replicas": "4"})
    assert known.config_for("a").min_insync_replicas == 4
    assert not known.changed("a", {"min.insync.replicas": "4"})
    assert known.changed("a", {})
    assert known.config_for("a").min_insync_replicas == 2


async def test_a_change_of_an_unread_topic_is_reported_and_not_remembered():
    known = configs(Store({}))
    assert known.changed("a", {"min.insync.replicas": "3"})
    assert known.config_for("a").min_insync_replicas == 2
    assert list(known.topics) == []


async def test_topics_follow_the_broker_in_what_they_do_not_set_themselves():
    in_force = [parse({"zookeeper.connect": "z"}, hostname="here")[0]]
    store = Store({"a": {"min.insync.replicas": "3"}})
    known = TopicConfigs(lambda: in_force[0], lambda: store)
    await known.read(["a", "b"])
    in_force[0] = parse({"zookeeper.connect": "z", "min.insync.replicas": "2"}, hostname="here")[0]
    known.broker_changed()
    assert known.config_for("a").min_insync_replicas == 3
    assert known.config_for("b").min_insync_replicas == 2
