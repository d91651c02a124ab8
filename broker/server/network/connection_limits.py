"""The limits on connections, from the settings in force."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.core.quotas.connection_quotas import UNLIMITED, ConnectionLimits, ListenerLimits
from barnabas.cluster.model.addresses import numbers_by_address
from barnabas.cluster.model.configs.described import BrokerSettings
from barnabas.cluster.model.configs.security import LISTENER_PREFIX

_MAXIMUM, _RATE = "max.connections", "max.connection.creation.rate"


def limits_of(settings: BrokerSettings, listeners: Iterable[str]) -> ConnectionLimits:
    """Return the limits of a broker with these client listeners."""
    values = settings.values
    own = {
        name: ListenerLimits(_of(settings, name, _MAXIMUM), _of(settings, name, _RATE)) for name in listeners
    }
    return ConnectionLimits(
        maximum=int(str(values[_MAXIMUM])),
        rate=int(str(values[_RATE])),
        per_ip=int(str(values["max.connections.per.ip"])),
        per_ip_overrides=numbers_by_address(str(values["max.connections.per.ip.overrides"])),
        listeners=own,
    )


def _of(settings: BrokerSettings, listener: str, name: str) -> int:
    """Return a limit of a listener; those without its prefix are the broker's."""
    key = f"{LISTENER_PREFIX}{listener.lower()}.{name}"
    for layer in (settings.dynamic, settings.dynamic_default, settings.given):
        if key in layer:
            return int(layer[key])
    return UNLIMITED
