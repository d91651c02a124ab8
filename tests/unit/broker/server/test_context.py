from __future__ import annotations

from types import SimpleNamespace

from barnabas.broker.config.broker_config import parse
from barnabas.broker.server.context import ServerContext
from barnabas.cluster.model.configs_described import BrokerSettings


def test_the_number_of_connections_is_read_from_the_settings_in_force():
    values = parse({"zookeeper.connect": "z", "max.connections": "7"})[0].values
    in_force = SimpleNamespace(broker_settings=lambda: BrokerSettings(values, {}, {}, {}))
    assert ServerContext.max_connections.fget(in_force) == 7
