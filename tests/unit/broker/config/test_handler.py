from __future__ import annotations

from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from barnabas.broker.config.broker_config import parse
from barnabas.broker.config.dynamic import DynamicBrokerConfig
from barnabas.broker.config.handler import ConfigHandler
from barnabas.broker.config.topics import TopicConfigs
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.scram import ScramCredential, ScramMechanism
from barnabas.cluster.zk.stores.topics import EntityConfigs


class Elections:
    def __init__(self):
        self.notified = []

    def enable_unclean_leader_election(self, topic):
        self.notified.append(topic)

    def set_unclean_leader_election(self, *, enabled):
        self.notified.append(enabled)


class Store:
    async def configs(self, names):
        return EntityConfigs({}, {})


class Room:
    def __init__(self):
        self.live = DynamicBrokerConfig(parse({"zookeeper.connect": "z"}, hostname="here")[0])
        self.topics = TopicConfigs(lambda: self.live.config, Store)
        self.applier = ConfigHandler(self.live, self.topics)
        self.elections = Elections()
        self.logs = {TopicPartition(name, n): SimpleNamespace(config=None) for name in "ab" for n in range(2)}

    def in_sync(self):
        """``min.insync.replicas`` of each open log; None for one that was told nothing."""
        return [log.config and log.config.min_insync_replicas for log in self.logs.values()]


@pytest.fixture
async def room():
    room = Room()
    await room.topics.read(["a", "b"])
    room.applier.serve(lambda: room.logs, room.elections)
    return room


async def test_a_topics_open_logs_go_by_its_settings(room):
    room.applier.topic_changed("a", {"min.insync.replicas": "2"})
    assert room.in_sync() == [2, 2, None, None]
    room.applier.topic_changed("a", {})
    assert room.in_sync() == [1, 1, None, None]


async def test_a_broker_setting_reaches_the_logs_of_topics_that_do_not_set_it(room):
    room.applier.topic_changed("a", {"min.insync.replicas": "2"})
    room.applier.brokers_default_changed({"min.insync.replicas": "3"})
    assert room.in_sync() == [2, 2, 3, 3]
    room.applier.own_changed({"min.insync.replicas": "4"})
    assert room.in_sync() == [2, 2, 4, 4]


async def test_the_controller_is_notified_of_topics_that_allow_unclean_elections(room):
    room.applier.topic_changed("a", {"unclean.leader.election.enable": "TRUE"})
    room.applier.topic_changed("elsewhere", {"unclean.leader.election.enable": "true"})
    room.applier.topic_changed("a", {"unclean.leader.election.enable": "false"})
    room.applier.topic_changed("a", {"unclean.leader.election.enable": "perhaps"})
    assert room.elections.notified == ["a", "elsewhere"]


async def test_the_controller_is_notified_of_changed_broker_settings(room):
    unclean = {"unclean.leader.election.enable": "true"}
    room.applier.brokers_default_changed(unclean)
    room.applier.own_changed(unclean)
    room.applier.brokers_default_changed({})
    room.applier.own_changed({"min.insync.replicas": "2"})
    assert room.elections.notified == [True, False]


async def test_before_the_logs_are_open_only_the_settings_change():
    room = Room()
    room.applier.brokers_default_changed({"min.insync.replicas": "3"})
    assert room.topics.config_for("a").min_insync_replicas == 3
    assert room.in_sync() == [None] * 4


async def test_only_changes_are_logged(room):
    with capture_logs() as lines:
        for _ in range(2):
            room.applier.topic_changed("a", {"flush.ms": "9"})
    assert [line["event"] for line in lines] == ["Topic a now overrides: flush.ms"]
    assert sorted(room.applier.topics) == ["a", "b"]


async def test_quotas_are_replaced_by_what_is_read(room):
    handler = room.applier
    alice, app = QuotaEntity("alice"), QuotaEntity(None, "app")
    handler.quotas_changed({alice: {"producer_byte_rate": "5"}, app: {"SCRAM-SHA-256": "x"}}, are_all=True)
    held = handler.quotas
    assert held == {alice: {"producer_byte_rate": 5.0}}
    handler.quotas_changed({app: {"request_percentage": "1.5"}}, are_all=False)
    handler.quotas_changed({alice: {}}, are_all=False)
    assert held == {app: {"request_percentage": 1.5}}
    handler.quotas_changed({}, are_all=True)
    assert held == {}


async def test_the_rate_of_an_address_is_found_by_java_s_form_of_it(room):
    quota = {"connection_creation_rate": "5"}
    room.applier.quotas_changed({QuotaEntity(ip="::1"): quota, QuotaEntity(ip=""): quota}, are_all=True)
    assert set(room.applier.quotas) == {QuotaEntity(ip="0:0:0:0:0:0:0:1"), QuotaEntity(ip="")}
    room.applier.quotas_changed({QuotaEntity(ip="::1"): {}}, are_all=False)
    assert set(room.applier.quotas) == {QuotaEntity(ip="")}


async def test_credentials_follow_their_users(room):
    handler = room.applier
    text = ScramCredential(b"salt", b"stored", b"server", 4096).text
    held = handler.credentials[ScramMechanism.SCRAM_SHA_512]
    alice, with_client = QuotaEntity("alice"), QuotaEntity("bob", "app")
    own = {"SCRAM-SHA-512": text, "SCRAM-SHA-256": "unreadable"}
    handler.quotas_changed({alice: own, with_client: own, QuotaEntity(""): own}, are_all=True)
    assert list(held) == ["alice"]
    assert handler.credentials[ScramMechanism.SCRAM_SHA_256] == {}
    handler.quotas_changed({alice: {}}, are_all=False)
    assert held == {}
    handler.quotas_changed({alice: own}, are_all=False)
    handler.quotas_changed({}, are_all=True)
    assert held == {}


async def test_the_rates_of_throttled_replication_are_this_brokers(room):
    throttles = room.applier.throttles
    rates = {"leader.replication.throttled.rate": "1000", "follower.replication.throttled.rate": "much"}
    room.applier.brokers_default_changed(rates)
    assert (throttles.leader.limit, throttles.follower.limit) == (None, None)
    room.applier.own_changed(rates)
    assert (throttles.leader.limit, throttles.follower.limit) == (1000.0, None)
    room.applier.own_changed({})
    assert (throttles.leader.limit, throttles.follower.limit) == (None, None)


async def test_listeners_get_the_broker_s_settings_for_their_stores(room):
    class Tls:
        def __init__(self):
            self.seen = []

        def alter(self, settings):
            self.seen.append(settings)

    tls = Tls()
    room.applier.tls = (tls,)
    own = {"listener.name.ssl.ssl.keystore.location": "/x"}
    room.applier.own_changed(own)
    assert tls.seen == [own]
