from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import kafka.errors
import pytest

from barnabas.tools import config_client
from barnabas.tools.config_client import ConfigClient, Refusal, Unreachable
from cluster.model.commands_configs import (
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
)
from cluster.model.configs_described import ConfigSource, ConfigSynonym

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
BROKER = ConfigResource(ConfigResourceType.BROKER, "2")
ALL_BROKERS = ConfigResource(ConfigResourceType.BROKER, "")


class Admin:
    """kafka-python's client as far as it is used."""

    answer: Any = None
    asked: list[Any]

    def __init__(self, **_: Any) -> None:
        Admin.asked = []

    def ask(self, request: Any, broker_id: int | None) -> Any:
        Admin.asked.append((request, broker_id))
        if isinstance(Admin.answer, Exception):
            raise Admin.answer
        return Admin.answer

    def list_topics(self) -> list[str]:
        return ["u", "t"]

    def describe_cluster(self) -> dict[str, Any]:
        return {"brokers": [{"broker_id": 2}, {"broker_id": 1}]}

    def close(self) -> None:
        Admin.asked.append("closed")


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> ConfigClient:
    monkeypatch.setattr(config_client, "_Admin", Admin)
    return ConfigClient("b:9092")


def result(error: int = 0, message: str | None = None, **fields: Any) -> Any:
    return SimpleNamespace(error_code=error, error_message=message, **fields)


def test_settings_come_with_their_synonyms(client: ConfigClient) -> None:
    synonym = SimpleNamespace(name="flush.ms", value="9", source=1)
    config = SimpleNamespace(
        name="flush.ms", value="9", is_sensitive=False, config_source=1, synonyms=[synonym]
    )
    Admin.answer = SimpleNamespace(results=[result(configs=[config])])
    (told,) = client.describe(TOPIC)
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert (told.name, told.value, told.source) == ("flush.ms", "9", source)
    assert told.synonyms == (ConfigSynonym("flush.ms", "9", source),)


@pytest.mark.parametrize(("resource", "asked"), [(TOPIC, None), (BROKER, 2), (ALL_BROKERS, None)])
def test_a_brokers_own_settings_are_asked_of_itself(
    client: ConfigClient, resource: ConfigResource, asked: int | None
) -> None:
    Admin.answer = SimpleNamespace(results=[result(configs=[])], responses=[result()])
    client.describe(resource)
    client.replace(resource, {"a": "b"})
    client.alter_incrementally(resource, [ConfigAlteration("a", ConfigOperation.DELETE)])
    assert [broker_id for _, broker_id in Admin.asked] == [asked] * 3


def test_a_refusal_has_its_name(client: ConfigClient) -> None:
    Admin.answer = SimpleNamespace(responses=[result(40, "Unknown topic config name: colour")])
    with pytest.raises(Refusal, match="INVALID_CONFIG: Unknown topic config name: colour"):
        client.replace(TOPIC, {})
    Admin.answer = kafka.errors.KafkaTimeoutError("late")
    with pytest.raises(Refusal, match="late"):
        client.describe(TOPIC)


def test_what_there_is_comes_in_order(client: ConfigClient) -> None:
    with client:
        assert (client.topics(), client.brokers()) == (["t", "u"], [1, 2])
    assert Admin.asked == ["closed"]


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise kafka.errors.KafkaConnectionError

    monkeypatch.setattr(config_client, "_Admin", fail)
    with pytest.raises(Unreachable, match="--bootstrap-server b:1 within 10 s"):
        ConfigClient("b:1")
