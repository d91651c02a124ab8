"""A client for settings that tells everything a broker says of them: every synonym, and each refusal.

kafka-python's own ``describe_configs`` hides refusals and knows no default of all brokers, so the requests
themselves are sent through its connections.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import kafka
import kafka.errors
from kafka.protocol.admin import AlterConfigsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest

from cluster.model.commands_configs import (
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
)
from cluster.model.configs_described import ConfigSource, ConfigSynonym
from cluster.model.errors import ErrorCode

DELETE = ConfigOperation.DELETE

REACH_MS = 10_000
"""How long the first answer of any broker may take."""

DEADLINE_MS = 30_000
"""How long an answer may take."""


class Unreachable(Exception):
    """No broker answered; the text names the servers."""


class Refusal(Exception):
    """The cluster refused; the text has the error's name and what the broker said."""


@dataclass(frozen=True, slots=True)
class Described:
    """One setting, as a broker tells it.

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


class _Admin(kafka.KafkaAdminClient):  # type: ignore[misc]  # the library has no types
    def ask(self, request: Any, broker_id: int | None) -> Any:
        """Send a request to a broker, or to any."""
        return self._manager.run(self._manager.send, request, broker_id)


class ConfigClient:
    """Reads and alters settings; a context manager.

    Args:
        servers: ``host:port`` of one or more brokers, separated by commas.
        settings: Arguments of kafka-python's admin client that win over its and our own defaults.

    Raises:
        Unreachable: None of them answered within ``REACH_MS``.
    """

    def __init__(self, servers: str, settings: Mapping[str, Any] | None = None) -> None:
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        try:
            self._admin = _Admin(
                **{
                    "request_timeout_ms": DEADLINE_MS,
                    "bootstrap_timeout_ms": REACH_MS,
                    **(settings or {}),
                    "bootstrap_servers": servers.split(","),
                }
            )
        except kafka.errors.KafkaError as error:
            raise Unreachable(
                f"No broker answered at --bootstrap-server {servers} within {REACH_MS // 1000} s: {error}"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._admin.close()

    def topics(self) -> list[str]:
        """The names of all topics, in order."""
        return sorted(self._admin.list_topics())

    def brokers(self) -> list[int]:
        """The ids of all live brokers, in order."""
        return sorted(broker["broker_id"] for broker in self._admin.describe_cluster()["brokers"])

    def describe(self, resource: ConfigResource) -> list[Described]:
        """Every setting of a resource, with all synonyms.

        Raises:
            Refusal: The broker does not tell.
        """
        request = DescribeConfigsRequest(
            resources=[(resource.type, resource.name, None)], include_synonyms=True, min_version=1
        )
        (result,) = self._send(request, resource).results
        _demand_success(result)
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
        _demand_success(result)

    def replace(self, resource: ConfigResource, settings: Mapping[str, str]) -> None:
        """Let the resource set exactly these itself.

        Raises:
            Refusal: Nothing was altered.
        """
        request = AlterConfigsRequest(
            resources=[(resource.type, resource.name, list(settings.items()))], validate_only=False
        )
        (result,) = self._send(request, resource).responses
        _demand_success(result)

    def _send(self, request: Any, resource: ConfigResource) -> Any:
        """A broker's own settings are its own to tell and to alter; the rest may be asked of any."""
        to_itself = resource.type is ConfigResourceType.BROKER and not resource.is_default
        broker_id = int(resource.name) if to_itself else None
        try:
            return self._admin.ask(request, broker_id)
        except kafka.errors.KafkaError as error:
            raise Refusal(f"{resource}: {error}") from error


def _demand_success(result: Any) -> None:
    error = ErrorCode.from_code(result.error_code)
    if error is not ErrorCode.NONE:
        raise Refusal(f"{error.name}: {result.error_message or error.meaning}")
