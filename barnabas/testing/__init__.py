"""Clusters of real brokers for tests: a typed API, sync and async, and a pytest plugin.

The plugin is ``barnabas.testing.plugin``; pytest finds it by itself. docs/testing/README.md is the manual.
The names are imported when they are first used, because pytest imports this package in every run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.local.errors import ClusterError
    from barnabas.testing.aio import AsyncCluster
    from barnabas.testing.cluster import Cluster
    from barnabas.testing.errors import (
        RefusedError,
        UnknownBrokerError,
        UnknownTopicError,
        WaitTimeoutError,
    )

__all__ = [
    "AsyncCluster",
    "Cluster",
    "ClusterError",
    "RefusedError",
    "UnknownBrokerError",
    "UnknownTopicError",
    "WaitTimeoutError",
]

_HOMES = {"AsyncCluster": "aio", "Cluster": "cluster"}


def __getattr__(name: str) -> object:
    """Import a public name from its module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
