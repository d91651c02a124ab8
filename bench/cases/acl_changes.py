"""The time until every broker obeys a changed ACL.

The clock runs from a client's CreateAcls, which denies everybody a topic, until each of three brokers hides
the topic from another client; and from the DeleteAcls that takes it back until each shows it again.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from barnabas.bench.clients.metadata_probe import MetadataProbe
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.local.waiting import wait_until

TOPIC = "denied"
REPLICATION_FACTOR = 3
DEADLINE_S = 60.0
POLL_S = 0.002
SETTINGS = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}

_WHAT = (ResourceType.TOPIC, TOPIC, ResourcePatternType.LITERAL, "User:*", "*")
_DENIAL = AclBinding(*_WHAT, AclOperation.DESCRIBE, AclPermissionType.DENY)
_FILTER = AclBindingFilter(*_WHAT, AclOperation.DESCRIBE, AclPermissionType.DENY)


def measure(changes: int) -> Run:
    """Deny a topic and take it back until there were this many changes; the figure is the longest wait."""
    with running_cluster(SETTINGS) as cluster, ExitStack() as stack:
        probes = [stack.enter_context(MetadataProbe(broker.kafka)) for broker in cluster.brokers.values()]
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        topic = NewTopic(TOPIC, num_partitions=1, replication_factor=REPLICATION_FACTOR)
        admin.create_topics([topic])[TOPIC].result(DEADLINE_S)
        for probe in probes:
            wait_until(partial(_is_shown, probe), "the topic is known")
        meter = CpuMeter(broker_pids(cluster))
        waits_s = []
        for number in range(changes):
            is_denied = number % 2 == 0
            change = _deny if is_denied else _take_back
            waits_s.append(_obeyed_after(partial(change, admin), probes, 0 if is_denied else 1))
        spent = meter.spent()
    return Run(max(waits_s), {"median, s": statistics.median(waits_s), **spent})


def _is_shown(probe: MetadataProbe) -> bool:
    return probe.leaders_known(TOPIC) == 1


def _deny(admin: AdminClient) -> None:
    admin.create_acls([_DENIAL])[_DENIAL].result(DEADLINE_S)


def _take_back(admin: AdminClient) -> None:
    admin.delete_acls([_FILTER])[_FILTER].result(DEADLINE_S)


def _obeyed_after(change: Callable[[], None], probes: list[MetadataProbe], leaders: int) -> float:
    """Make a change and return the seconds until each broker shows this many leaders of the topic."""
    began = time.perf_counter()
    change()
    for probe in probes:
        while probe.leaders_known(TOPIC) != leaders:
            if time.perf_counter() > began + DEADLINE_S:
                raise TimeoutError(f"a broker does not obey a changed ACL after {DEADLINE_S:g} s")
            time.sleep(POLL_S)
    return time.perf_counter() - began


BENCHES = (
    Bench(
        name="acl-changes",
        question="How long until all of three brokers obey a changed ACL, at the longest?",
        unit="s",
        target=at_most(1.0),
        measure=measure,
        sizes={"changes": 100},
    ),
)
