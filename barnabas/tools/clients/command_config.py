"""The properties of the tools' own clients (``--command-config``)."""

from __future__ import annotations

from typing import Any

from kafka.admin import KafkaAdminClient

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.tools.clients.client_login import ClientLoginError, with_login
from barnabas.tools.clients.client_tls import taken
from barnabas.tools.command_line.files import read_properties
from barnabas.tools.command_line.parser import ToolError

_PYTHON_OBJECTS = frozenset(
    {
        "api_version",
        "kafka_client",
        "metric_reporters",
        "sasl_oauth_token_provider",
        "selector",
        "socket_options",
        "ssl_context",
    }
)
"""The arguments of kafka-python's admin client whose values cannot be given as text."""


_RENAMED = {"sasl.username": "sasl_plain_username", "sasl.password": "sasl_plain_password"}


def for_kafka_python(path: str | None, flag: str = "--command-config") -> dict[str, Any]:
    """Read the properties file as arguments of kafka-python's admin client.

    Raises:
        ToolError: The file cannot be read, that client has no such setting or value, or the login or
            a store cannot be used.
    """
    arguments: dict[str, Any] = {}
    try:
        tls, others = taken(read_properties(path, flag))
        settings = with_login(others)
        context = None if tls is None else tls.context()
    except (ClientLoginError, ConfigError) as error:
        raise ToolError(f"{flag} {path}: {error}") from None
    for name, text in settings.items():
        argument = _RENAMED.get(name, name.replace(".", "_"))
        if argument not in KafkaAdminClient.DEFAULT_CONFIG or argument in _PYTHON_OBJECTS:
            raise ToolError(f"{flag} {path}: the client has no property '{name}'")
        arguments[argument] = _typed(f"{flag} {path}", name, text, KafkaAdminClient.DEFAULT_CONFIG[argument])
    if context is not None:
        arguments["ssl_context"] = context
    return arguments


def _typed(where: str, name: str, text: str, default: object) -> object:
    """Convert ``text`` to the type of ``default``."""
    if isinstance(default, bool):
        return text.strip().lower() == "true"
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError as error:
            raise ToolError(f"{where}: {name} is '{text}', expected a whole number") from error
    return text
