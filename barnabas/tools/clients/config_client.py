"""A client for settings that returns everything a broker reports, with all synonyms and refusals.

kafka-python's own ``describe_configs`` hides refusals and knows no default of all brokers, so the requests
themselves are sent. None of them needs the controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import AlterConfigsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest

from barnabas.cluster.model.commands.configs import (
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
)
from barnabas.cluster.model.configs.described import ConfigSource, ConfigSynonym
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.refusals import demand_success

DELETE = ConfigOperation.DELETE


_MESSAGE_FORMAT = "message.format.version"


def warnings(settings: Mapping[str, str]) -> list[str]:
    """Return the warnings that Kafka's tools print before altering settings."""
    if _MESSAGE_FORMAT not in settings:
        return []
    specified = f"The configuration {_MESSAGE_FORMAT}={settings[_MESSAGE_FORMAT]} is specified."
    ignored = "This configuration will be ignored if the version is newer than the"
    return [f"WARNING: {specified} {ignored} inter.broker.protocol.version specified in the broker."]


@dataclass(frozen=True, slots=True)
class Described:
    """A setting as a broker describes it.

    Attributes:
        name: Its key.
        value: Its text; None where it is hidden or not set.
        is_sensitive: Whether it is hidden.
        source: Where the value comes from.
        synonyms: Where it could come from, the strongest first.
    """

    name: str
    value: str | None
    is_sensitive: bool
    source: ConfigSource
    synonyms: tuple[ConfigSynonym, ...]


class ConfigClient:
    """A client that reads and alters settings.

    Args:
        admin: A client of the cluster.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    def topics(self) -> list[str]:
        """Return the names of all topics, in order."""
        return list(self._admin.topics())

    def brokers(self) -> list[int]:
        """Return the ids of all live brokers, in order."""
        return sorted(self._admin.racks())

    def describe(self, resource: ConfigResource) -> list[Described]:
        """Describe every setting of a resource, with all synonyms.

        Raises:
            Refusal: The broker refused.
            AdminError: No broker answered, or not the one that the settings are of.
        """
        request = DescribeConfigsRequest(
            resources=[(resource.type, resource.name, None)], include_synonyms=True, min_version=1
        )
        (result,) = self._send(request, resource).results
        demand_success(result)
        return [
            Described(
                each.name,
                each.value,
                each.is_sensitive,
                ConfigSource(each.config_source),
                tuple(ConfigSynonym(s.name, s.value, ConfigSource(s.source)) for s in each.synonyms),
            )
            for each in result.configs
        ]

    def alter_incrementally(self, resource: ConfigResource, steps: Iterable[ConfigAlteration]) -> None:
        """Alter single settings.

        Raises:
            Refusal: None of them was altered.
        """
        entries = [
            (step.name, step.operation.value, None if step.operation is DELETE else step.value)
            for step in steps
        ]
        request = IncrementalAlterConfigsRequest(
            resources=[(resource.type, resource.name, entries)], validate_only=False
        )
        (result,) = self._send(request, resource).responses
        demand_success(result)

    def replace(self, resource: ConfigResource, settings: Mapping[str, str]) -> None:
        """Replace all settings of a resource.

        Raises:
            Refusal: Nothing was altered.
        """
        request = AlterConfigsRequest(
            resources=[(resource.type, resource.name, list(settings.items()))], validate_only=False
        )
        (result,) = self._send(request, resource).responses
        demand_success(result)

    def _send(self, request: Any, resource: ConfigResource) -> Any:
        """Send a request about a broker's settings to that broker, and others to any broker."""
        if resource.type is ConfigResourceType.BROKER and not resource.is_default:
            return self._admin.ask_broker(request, int(resource.name))
        return self._admin.ask(request)
