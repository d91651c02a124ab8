"""The numbers and names of commands to the controller, which are Kafka's."""

from __future__ import annotations

from barnabas.cluster.model.commands.configs import ConfigOperation, ConfigResource, ConfigResourceType
from barnabas.cluster.model.commands.elections import ElectionResult, ElectionType
from barnabas.cluster.model.errors import ErrorCode

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


def test_the_types_have_the_numbers_of_the_wire_and_kafkas_names():
    kafkas = {kind.name: kind.value for kind in ElectionType if kind is not ElectionType.DAMAGED_LEADER}
    assert kafkas == {"PREFERRED": 0, "UNCLEAN": 1}


def test_without_an_election_there_is_no_leader():
    assert ElectionResult(ErrorCode.ELECTION_NOT_NEEDED).leader == -1
