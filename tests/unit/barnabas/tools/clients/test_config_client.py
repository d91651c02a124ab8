from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.cluster.model.commands.configs import (
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
)
from barnabas.cluster.model.configs.described import ConfigSource, ConfigSynonym
from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.config_client import ConfigClient
from barnabas.tools.clients.refusals import Refusal

TOPIC = ConfigResource(ConfigResourceType.TOPIC, "t")
BROKER = ConfigResource(ConfigResourceType.BROKER, "2")
ALL_BROKERS = ConfigResource(ConfigResourceType.BROKER, "")


class Admin:
    """The client as far as it is used."""

    def __init__(self) -> None:
        self.answer: Any = None
        self.asked: list[tuple[Any, int | None]] = []

    def ask(self, request: Any) -> Any:
        return self.ask_broker(request, None)

    def ask_broker(self, request: Any, broker_id: int | None) -> Any:
        self.asked.append((request, broker_id))
        return self.answer


@pytest.fixture
def admin() -> Admin:
    return Admin()


@pytest.fixture
def client(admin: Admin) -> ConfigClient:
    return ConfigClient(cast("AdminClient", admin))


def result(error: int = 0, message: str | None = None, **fields: Any) -> Any:
    return SimpleNamespace(error_code=error, error_message=message, **fields)


def test_settings_come_with_their_synonyms(admin: Admin, client: ConfigClient) -> None:
    synonym = SimpleNamespace(name="flush.ms", value="9", source=1)
    config = SimpleNamespace(
        name="flush.ms", value="9", is_sensitive=False, config_source=1, synonyms=[synonym]
    )
    admin.answer = SimpleNamespace(results=[result(configs=[config])])
    (told,) = client.describe(TOPIC)
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    assert (told.name, told.value, told.source) == ("flush.ms", "9", source)
    assert told.synonyms == (ConfigSynonym("flush.ms", "9", source),)


@pytest.mark.parametrize(("resource", "asked"), [(TOPIC, None), (BROKER, 2), (ALL_BROKERS, None)])
def test_a_brokers_settings_are_requested_from_that_broker(
    admin: Admin, client: ConfigClient, resource: ConfigResource, asked: int | None
) -> None:
    admin.answer = SimpleNamespace(results=[result(configs=[])], responses=[result()])
    client.describe(resource)
    client.replace(resource, {"a": "b"})
    client.alter_incrementally(resource, [ConfigAlteration("a", ConfigOperation.DELETE)])
    assert [broker_id for _, broker_id in admin.asked] == [asked] * 3


def test_a_refusal_has_the_brokers_message(admin: Admin, client: ConfigClient) -> None:
    admin.answer = SimpleNamespace(responses=[result(40, "Unknown topic config name: colour")])
    with pytest.raises(
        Refusal, match=r"InvalidConfigurationException: Unknown topic config name: colour$"
    ) as refused:
        client.replace(TOPIC, {})
    assert refused.value.error is ErrorCode.INVALID_CONFIG
