"""The TLS of client listeners: their stores are read when the broker starts, and again when they change."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.start_error import StartError
from barnabas.cluster.model.configs.declarations import ConfigError

if TYPE_CHECKING:
    from barnabas.broker.server.security.listener_tls import ListenerTls

RELOAD_SECONDS = 2.0
"""The interval in seconds between two checks whether the files of stores have changed."""


def open_tls(config: BrokerConfig) -> Mapping[str, ListenerTls]:
    """Return the TLS of each listener that uses it, by the listener's name.

    Raises:
        StartError: A setting of a store is bad, or a store cannot be read.
    """
    secured = {name: each.ssl for name, each in config.security.items() if each.ssl is not None}
    if not secured:
        return {}
    # The library behind it takes 7 MB, which a broker without TLS does not spend.
    from barnabas.broker.server.security.listener_tls import ListenerTls  # noqa: PLC0415

    try:
        return {name: ListenerTls(name, settings) for name, settings in secured.items()}
    except ConfigError as error:
        raise StartError(str(error)) from error


async def reload(listeners: Iterable[ListenerTls]) -> None:
    """Read the stores again whose files have changed."""
    for each in listeners:
        await asyncio.to_thread(each.reload)


async def keep_stores(listeners: Collection[ListenerTls]) -> None:
    """Read changed stores again as long as the broker runs."""
    while True:
        await asyncio.sleep(RELOAD_SECONDS)
        await reload(listeners)


def refusal_of(listeners: Iterable[ListenerTls], settings: Mapping[str, str]) -> str | None:
    """Return why a broker cannot have these settings in ZooKeeper, or None; it reads files."""
    refusals = (each.refusal_of(settings) for each in listeners)
    return next((refusal for refusal in refusals if refusal is not None), None)
