"""The options of a test's cluster. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.cluster.model.configs.known import check_settings

MINIMUM_SESSION_TIMEOUT_MS = 1_000
"""The shortest session timeout that the embedded ZooKeeper grants."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a cluster.

    Attributes:
        brokers: The number of brokers; their ids are 1 to this.
        settings: Settings of every broker, over those of ``settings_for_tests``.
        session_timeout_ms: ``zookeeper.session.timeout.ms``, at least 1000: the milliseconds after which the
            others notice that a broker was killed or cut off.
        racks: The ``broker.rack`` of broker 1, 2 and so on; empty for none.

    Raises:
        ValueError: An option is not possible, or brokers have no such setting or refuse its value.
    """

    brokers: int = 3
    settings: Mapping[str, str] = field(default_factory=dict)
    session_timeout_ms: int = 3_000
    racks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.brokers < 1:
            raise ValueError(f"brokers is {self.brokers}, expected at least 1")
        if self.session_timeout_ms < MINIMUM_SESSION_TIMEOUT_MS:
            raise ValueError(
                f"session_timeout_ms is {self.session_timeout_ms}, expected at least "
                f"{MINIMUM_SESSION_TIMEOUT_MS}"
            )
        if self.racks and len(self.racks) != self.brokers:
            raise ValueError(f"racks has {len(self.racks)} names, expected {self.brokers}, one a broker")
        check_settings(self.settings)

    def all_settings(self) -> dict[str, str]:
        """Return the settings of every broker."""
        return {**settings_for_tests(self), **self.settings}


def settings_for_tests(options: Options) -> dict[str, str]:
    """Return the settings that differ from a broker's defaults unless a test sets them.

    A topic has three replicas and survives the death of one broker. Delays that spare large clusters are
    short. No leader is moved back after a fault, so that every move has a cause that the test knows.
    """
    replicas = min(3, options.brokers)
    return {
        "zookeeper.session.timeout.ms": str(options.session_timeout_ms),
        "replica.lag.time.max.ms": str(options.session_timeout_ms),
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(max(1, replicas - 1)),
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
        "auto.leader.rebalance.enable": "false",
        # A client that outlives its test would create the test's topic again.
        "auto.create.topics.enable": "false",
        "failpoints.over.http": "true",
    }
