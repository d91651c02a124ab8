"""Values of settings that Kafka supports and our brokers do not: requests for them are refused.

Values that exist already, in ZooKeeper or in a log directory that Kafka wrote, are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.cluster.model.configs.declarations import ConfigError, Rule, Value

OLDEST_FORMAT = (0, 11)
"""The first release that writes message format 2, the only one supported here (KIP-98)."""

_FORMAT_VERSIONS = ("message.format.version", "log.message.format.version")
_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.\d+)?(?:-IV\d+)?")


def release() -> Rule:
    """Return the rule for names of Kafka releases, as in ``ApiVersion``."""
    return Rule(
        lambda v: isinstance(v, str) and _RELEASE.fullmatch(v) is not None, "a release, such as 0.11.0 or 2.6"
    )


def unserved(values: Mapping[str, Value]) -> ConfigError | None:
    """Return the error of the first setting, of a topic or a broker, that is not supported; else None.

    Args:
        values: The parsed settings of the request.
    """
    for name in _FORMAT_VERSIONS:
        version = values.get(name)
        found = _RELEASE.fullmatch(version) if isinstance(version, str) else None
        if found is not None and (int(found[1]), int(found[2])) < OLDEST_FORMAT:
            allowed = "0.11.0 or later: only message format 2 is kept"
            return ConfigError(name, found[0], allowed)
    return None
