from barnabas.broker.config import parse
from barnabas.broker.handover import HandoverSettings
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.room_settings import handover_settings, replica_settings, server_settings
from barnabas.broker.server.context import ServerSettings


def config(**given):
    settings = {name.replace("_", "."): value for name, value in given.items()}
    return parse({"zookeeper.connect": "z", **settings}, hostname="here")[0]


def test_the_rooms_defaults_are_those_of_the_table():
    assert replica_settings(config()) == ReplicaSettings()
    assert server_settings(config()) == ServerSettings()
    assert handover_settings(config()) == HandoverSettings()


def test_what_is_set_arrives():
    assert replica_settings(config(replica_lag_time_max_ms="700")).lag_time_max_ms == 700
    assert server_settings(config(auto_create_topics_enable="false")).auto_create_topics is False
    assert handover_settings(config(controlled_shutdown_max_retries="7")).max_retries == 7
