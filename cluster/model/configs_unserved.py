"""Values that Kafka's brokers act upon and ours cannot: they are refused where somebody asks for them.

Where they stand already, in ZooKeeper or a log directory that Kafka has left, they are read as they are: a
topic that is to be compacted must not lose its old segments because nobody compacts it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.cluster.model.configs import ConfigError, Rule, Value, render

OLDEST_FORMAT = (0, 11)
"""The first release that writes message format 2, the only one kept here (KIP-98)."""

_CLEANUP_POLICIES = ("cleanup.policy", "log.cleanup.policy")
_FORMAT_VERSIONS = ("message.format.version", "log.message.format.version")
_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:-IV\d+)?")


def release() -> Rule:
    """The name of a release of Kafka, as ``ApiVersion`` has them."""
    return Rule(
        lambda v: isinstance(v, str) and _RELEASE.fullmatch(v) is not None, "a release, such as 0.11.0 or 2.6"
    )


def unserved(values: Mapping[str, Value]) -> ConfigError | None:
    """What is wrong with the first of these settings, of a topic or a broker, that is not served; else None.

    Args:
        values: Parsed, those that are asked for.
    """
    for name in _CLEANUP_POLICIES:
        policies = values.get(name)
        if isinstance(policies, tuple) and "compact" in policies:
            return ConfigError(name, render(policies), "delete: logs are not compacted yet")
    for name in _FORMAT_VERSIONS:
        version = values.get(name)
        found = _RELEASE.fullmatch(version) if isinstance(version, str) else None
        if found is not None and (int(found[1]), int(found[2])) < OLDEST_FORMAT:
            allowed = "0.11.0 or later: only message format 2 is kept"
            return ConfigError(name, found[0], allowed)
    return None
