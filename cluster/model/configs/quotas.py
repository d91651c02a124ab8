"""The declarations of broker settings about quotas of clients and of replication.

Source: ``kafka.server.KafkaConfig`` of release 2.8.
"""

from __future__ import annotations

from barnabas.cluster.model.configs.declarations import UNLIMITED_LONG, Config, Type, at_least

_INT, _LONG = Type.INT, Type.LONG

QUOTA_CONFIGS = (
    Config("quota.window.num", _INT, 11, "The windows over which clients' rates are taken.", at_least(1)),
    Config("quota.window.size.seconds", _INT, 1, "The length of such a window.", at_least(1)),
    Config(
        "quota.producer.default",
        _LONG,
        UNLIMITED_LONG,
        "The bytes per second of each client id that produces, if no quota is set for it.",
        at_least(1),
    ),
    Config(
        "quota.consumer.default",
        _LONG,
        UNLIMITED_LONG,
        "The bytes per second of each client id that consumes, if no quota is set for it.",
        at_least(1),
    ),
    Config(
        "replication.quota.window.num",
        _INT,
        11,
        "The windows over which the rates of throttled replicas are taken.",
        at_least(1),
    ),
    Config("replication.quota.window.size.seconds", _INT, 1, "The length of such a window.", at_least(1)),
    Config(
        "alter.log.dirs.replication.quota.window.num",
        _INT,
        11,
        "The windows over which the rate of moves between log directories is taken.",
        at_least(1),
    ),
    Config(
        "alter.log.dirs.replication.quota.window.size.seconds",
        _INT,
        1,
        "The length of such a window.",
        at_least(1),
    ),
)
"""The settings; none can be changed while the broker runs."""
