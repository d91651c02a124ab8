"""The limits on connections, as the settings in force have them."""

from __future__ import annotations

from barnabas.broker.config.broker_config import parse
from barnabas.broker.core.quotas.connection_quotas import ConnectionLimits, ListenerLimits
from barnabas.broker.server.network.connection_limits import limits_of
from barnabas.cluster.model.configs.described import BrokerSettings


def settings(dynamic=None, default=None, **given):
    named = {name.replace("_", "."): text for name, text in given.items()}
    config = parse({"zookeeper.connect": "z", **named}, hostname="h")[0]
    return BrokerSettings(config.values, config.given, dynamic or {}, default or {})


def test_nothing_is_limited_by_default():
    assert limits_of(settings(), ["PLAINTEXT"]) == ConnectionLimits(listeners={"PLAINTEXT": ListenerLimits()})


def test_the_limits_are_those_of_the_settings():
    found = limits_of(
        settings(
            max_connections="7",
            max_connection_creation_rate="8",
            max_connections_per_ip="0",
            max_connections_per_ip_overrides="10.0.0.1:5, ::1:6,localhost:1",
        ),
        [],
    )
    overrides = {"10.0.0.1": 5, "0:0:0:0:0:0:0:1": 6, "127.0.0.1": 1}
    assert found == ConnectionLimits(7, 8, 0, overrides)


def test_a_listener_has_limits_of_its_own_and_the_nearest_layer_counts():
    name, rate = (
        "listener.name.plaintext.max.connections",
        "listener.name.plaintext.max.connection.creation.rate",
    )
    given = {name.replace(".", "_"): "1", rate.replace(".", "_"): "2"}
    assert limits_of(settings(**given), ["PLAINTEXT"]).of("PLAINTEXT") == ListenerLimits(1, 2)
    both = settings({name: "5"}, {name: "4", rate: "3"}, **given)
    assert limits_of(both, ["PLAINTEXT"]).of("PLAINTEXT") == ListenerLimits(5, 3)
    assert limits_of(both, ["PLAINTEXT"]).of("OTHER") == ListenerLimits()
