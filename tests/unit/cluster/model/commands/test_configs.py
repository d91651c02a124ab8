from __future__ import annotations

from barnabas.cluster.model.commands.configs import ConfigOperation, ConfigResource, ConfigResourceType

TOPIC, BROKER = ConfigResourceType.TOPIC, ConfigResourceType.BROKER


def test_a_resource_prints_as_kafka_prints_it():
    assert str(ConfigResource(TOPIC, "orders")) == "ConfigResource(type=TOPIC, name='orders')"


def test_the_empty_name_of_a_broker_stands_for_all():
    assert ConfigResource(BROKER, "").is_default
    assert not ConfigResource(BROKER, "1").is_default
    assert not ConfigResource(TOPIC, "").is_default


def test_the_operations_have_kafkas_numbers():
    assert {each.name: each.value for each in ConfigOperation} == {
        "SET": 0,
        "DELETE": 1,
        "APPEND": 2,
        "SUBTRACT": 3,
    }
