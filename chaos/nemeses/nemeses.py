"""The nemeses of the schedule: how each fault is injected, and how it is undone."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.chaos.nemeses import copies, registrations
from barnabas.chaos.nemeses.cleaning import kill_cleaner
from barnabas.chaos.nemeses.faults import TERMINATE_TIMEOUT_S, InjectedFault, kill, names, restart
from barnabas.chaos.targets.disk import turn_read_only
from barnabas.chaos.targets.links import CLIENTS
from barnabas.chaos.targets.targets import Targets, node_of
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.runtime.failpoints import CLOCK_BACK
from barnabas.local.errors import ClusterError
from barnabas.local.expiry import expire_owner

LOSS = 0.1
"""The fraction of packets that a lossy link drops."""


def inject(name: str, targets: Targets, victims: Sequence[BrokerId]) -> InjectedFault:
    """Inject the fault ``name`` into ``targets`` and return how to undo it.

    Args:
        name: The name of a kind of the schedule.
        targets: The targets of faults.
        victims: The brokers that the schedule chose.

    Raises:
        KeyError: There is no such nemesis.
        ClusterError, ZooKeeperStartError, NetworkError, DiskError, WireError, OSError: The fault could not be
            injected.
    """
    return _INJECTIONS[name](targets, tuple(victims))


def _terminate(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    for broker in victims:
        targets.cluster.brokers[broker].signal(signal.SIGTERM)

    def heal() -> None:
        for broker in victims:
            targets.cluster.terminate(broker, TERMINATE_TIMEOUT_S)
            status = targets.cluster.brokers[broker].exit_status
            if status != 0:
                words = targets.cluster.brokers[broker].last_words()
                raise ClusterError(f"broker {broker} ended with status {status} on SIGTERM: {words}")
        restart(targets, victims)

    return InjectedFault(f"SIGTERM {names(victims)}", heal, deadly=victims)


def _pause(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    for broker in victims:
        targets.cluster.pause(broker)

    def heal() -> None:
        for broker in victims:
            targets.cluster.resume(broker)

    return InjectedFault(f"SIGSTOP {names(victims)}", heal)


def _cut(targets: Targets, ways: Sequence[tuple[str, str]], detail: str) -> InjectedFault:
    targets.links.cut(ways)
    return InjectedFault(detail, lambda: None)


def _both(one: str, others: Sequence[str]) -> list[tuple[str, str]]:
    return [way for other in others for way in ((one, other), (other, one))]


def _partition_one_way(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    ways = [(node_of(broker), other) for broker in victims for other in targets.others(broker)]
    return _cut(targets, ways, f"nothing from {names(victims)} reaches other brokers")


def _partition(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    ways = [way for broker in victims for way in _both(node_of(broker), targets.others(broker))]
    return _cut(targets, ways, f"{names(victims)} | other brokers")


def _cut_off(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    ways = [
        way
        for broker in victims
        for way in _both(node_of(broker), [*targets.others(broker), *targets.zookeepers, CLIENTS])
    ]
    return _cut(targets, ways, f"{names(victims)} | everybody else")


def _cut_from_zookeeper(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    ways = [way for broker in victims for way in _both(node_of(broker), targets.zookeepers)]
    return _cut(targets, ways, f"{names(victims)} | ZooKeeper")


def _cut_zookeeper_one_way(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    ways = [(server, node_of(broker)) for broker in victims for server in targets.zookeepers]
    return _cut(targets, ways, f"nothing from ZooKeeper reaches {names(victims)}")


def _cut_from_clients(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    ways = [way for broker in victims for way in _both(node_of(broker), [CLIENTS])]
    return _cut(targets, ways, f"{names(victims)} | clients")


def _slow(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    for broker in victims:
        targets.links.slow(node_of(broker))
    return InjectedFault(f"slow links from {names(victims)}", lambda: None)


def _lose(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    for broker in victims:
        targets.links.lose(node_of(broker), LOSS)
    return InjectedFault(f"{LOSS:.0%} of packets to {names(victims)} are lost", lambda: None)


def _zookeeper_restart(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    targets.ensemble.stop()
    return InjectedFault("SIGTERM all ZooKeepers", targets.ensemble.launch)


def _zookeeper_kill(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    targets.ensemble.kill()
    return InjectedFault("SIGKILL all ZooKeepers", targets.ensemble.launch)


def _zookeeper_pause(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    return _pause_zookeepers(targets, targets.zookeepers)


def _pause_zookeepers(targets: Targets, servers: Sequence[str]) -> InjectedFault:
    for server in servers:
        targets.ensemble.servers[server].pause()

    def heal() -> None:
        for server in servers:
            targets.ensemble.servers[server].resume()

    return InjectedFault(f"SIGSTOP {', '.join(servers)}", heal)


def _zookeeper_leader_restart(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    leader = targets.ensemble.leader()
    targets.ensemble.servers[leader].stop()
    return InjectedFault(f"SIGTERM {leader}, which leads", targets.ensemble.launch)


def _zookeeper_leader_kill(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    leader = targets.ensemble.leader()
    targets.ensemble.servers[leader].kill()
    return InjectedFault(f"SIGKILL {leader}, which leads", targets.ensemble.launch)


def _zookeeper_leader_pause(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    return _pause_zookeepers(targets, [targets.ensemble.leader()])


def _zookeeper_leader_cut(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    leader = targets.ensemble.leader()
    others = [server for server in targets.zookeepers if server != leader]
    return _cut(targets, _both(leader, others), f"{leader}, which leads | other ZooKeepers")


def _expire(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    leader = targets.ensemble.servers[targets.ensemble.leader()]
    owners = [expire_owner(leader.address, f"/brokers/ids/{broker}") for broker in victims]
    sessions = ", ".join(f"{owner:#x}" for owner in owners)
    return InjectedFault(f"session {sessions} of {names(victims)} ended", lambda: None)


def _disk_full(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    for broker in victims:
        targets.disks[broker].fill()

    def heal() -> None:
        for broker in victims:
            targets.disks[broker].free()
        restart(targets, victims)  # a failed log directory returns with the restart of its broker

    return InjectedFault(f"a disk of {names(victims)} is full", heal, deadly=victims)


def _disk_read_only(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    for broker in victims:
        pid = targets.cluster.brokers[broker].pid
        if pid is not None:
            turn_read_only(_directory(targets, broker), pid)
    return InjectedFault(
        f"a disk of {names(victims)} is read-only", lambda: restart(targets, victims), deadly=victims
    )


def _clock_back(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Set the wall clocks of brokers back; healing sets them right, which is a jump, too."""
    for broker in victims:
        targets.arm(broker, CLOCK_BACK.name, "error")

    def heal() -> None:
        for broker in victims:
            # A broker that has ended starts with a right clock.
            with contextlib.suppress(OSError):
                targets.arm(broker, CLOCK_BACK.name, "off")

    return InjectedFault(f"the clock of {names(victims)} is an hour behind", heal)


def _directory(targets: Targets, broker: BrokerId) -> Path:
    return targets.disks[broker].directory


_INJECTIONS: dict[str, Callable[[Targets, tuple[BrokerId, ...]], InjectedFault]] = {
    **dict.fromkeys(("kill-any", "kill-leader", "kill-controller", "kill-several", "kill-all"), kill),
    **dict.fromkeys(("term-any", "term-leader", "term-controller"), _terminate),
    **dict.fromkeys(("pause-any", "pause-leader", "pause-controller", "pause-several"), _pause),
    "partition-one-way": _partition_one_way,
    **dict.fromkeys(("partition-both-ways", "partition-leader", "partition-controller"), _partition),
    "cut-off": _cut_off,
    **dict.fromkeys(("cut-from-zookeeper", "cut-controller-from-zookeeper"), _cut_from_zookeeper),
    "cut-zookeeper-one-way": _cut_zookeeper_one_way,
    "cut-from-clients": _cut_from_clients,
    "slow-links": _slow,
    "lossy-links": _lose,
    "zookeeper-restart": _zookeeper_restart,
    "zookeeper-kill": _zookeeper_kill,
    "zookeeper-pause": _zookeeper_pause,
    "zookeeper-leader-restart": _zookeeper_leader_restart,
    "zookeeper-leader-kill": _zookeeper_leader_kill,
    "zookeeper-leader-pause": _zookeeper_leader_pause,
    "cut-zookeeper-leader": _zookeeper_leader_cut,
    **dict.fromkeys(("session-expiry", "session-expiry-controller"), _expire),
    "disk-full": _disk_full,
    "disk-read-only": _disk_read_only,
    **dict.fromkeys(
        ("power-cut-any", "power-cut-leader", "power-cut-controller", "power-cut-several"), copies.power_cut
    ),
    "power-cut-all": copies.power_cut_all,
    "empty-directory": copies.empty_one,
    **dict.fromkeys(("empty-leader", "empty-controller"), copies.empty_all_but_the_identity),
    "empty-disks": copies.empty_all,
    "damage-flip": copies.damage_flip,
    "damage-zeros": copies.damage_zeros,
    "kill-cleaner": kill_cleaner,
    **dict.fromkeys(("clock-back-leader", "clock-back-all"), _clock_back),
    "duplicate-id": registrations.duplicate,
    "duplicate-id-of-paused": registrations.duplicate_of_paused,
    "wipe-registration": registrations.wipe_brokers,
    "wipe-controller": registrations.wipe_controller,
    "wipe-both": registrations.wipe_both,
    "wipe-all-registrations": registrations.wipe_all,
}
