from __future__ import annotations

from barnabas.broker.config import parse
from barnabas.broker.room_settings import server_settings
from barnabas.broker.server.context import ServerSettings


def test_the_defaults_are_those_of_the_table_of_configs():
    config, _ = parse(
        {
            "zookeeper.connect": "localhost:2181",
            "listeners": "PLAINTEXT://localhost:9092,GRPC://localhost:9192",
            "inter.broker.listener.name": "GRPC",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,GRPC:PLAINTEXT",
        }
    )
    assert server_settings(config) == ServerSettings()
