"""The syntax of listeners, ``NAME://host:port``, and of the map from their names to security protocols."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.configs.declarations import ConfigError

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""The security protocols that this broker serves."""

_LISTENER = re.compile(r"([A-Za-z0-9_.-]+)://(?:\[([0-9A-Fa-f:.%]+)\]|([^:\[\]/]*)):(\d+)")


def parse_security_map(items: Iterable[str]) -> dict[str, str]:
    """Parse ``listener.security.protocol.map``, whose items are ``NAME:PROTOCOL``.

    Raises:
        ConfigError: An item has another form or an unsupported protocol.
    """
    key = "listener.security.protocol.map"
    protocols: dict[str, str] = {}
    for item in items:
        name, colon, protocol = item.partition(":")
        if not colon or not name:
            raise ConfigError(key, item, "a list of NAME:PROTOCOL")
        if protocol not in SECURITY_PROTOCOLS:
            raise ConfigError(key, item, f"a map to one of {', '.join(SECURITY_PROTOCOLS)}")
        protocols[name.upper()] = protocol
    return protocols


def parse_listeners(key: str, items: Iterable[str], security: Mapping[str, str]) -> tuple[Endpoint, ...]:
    """Parse ``listeners`` or ``advertised.listeners``, whichever ``key`` is.

    Raises:
        ConfigError: An item has another form, a name or port is repeated, or a name is not in ``security``.
    """
    endpoints: list[Endpoint] = []
    for item in items:
        match = _LISTENER.fullmatch(item)
        if match is None or int(match[4]) > 65535:
            raise ConfigError(key, item, "a list of NAME://host:port, with a port up to 65535")
        name = match[1].upper()
        if name not in security:
            known = ", ".join(sorted(security))
            raise ConfigError(key, item, f"a name that listener.security.protocol.map has: {known}")
        endpoint = Endpoint(name, match[2] or match[3], int(match[4]), security[name])
        _refuse_repeated(key, item, endpoint, endpoints)
        endpoints.append(endpoint)
    return tuple(endpoints)


def _refuse_repeated(key: str, item: str, endpoint: Endpoint, before: Iterable[Endpoint]) -> None:
    for other in before:
        if other.listener == endpoint.listener:
            raise ConfigError(key, item, f"one address for each name; {other} stands before it")
        if key == "listeners" and endpoint.port and other.port == endpoint.port:
            raise ConfigError(key, item, f"a port of its own; {other} has the same")
