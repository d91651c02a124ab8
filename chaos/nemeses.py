"""What each nemesis of the schedule does to a cluster, and how it is undone."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.chaos import copies, registrations
from barnabas.chaos.arena import Arena, node_of
from barnabas.chaos.blows import TERMINATE_TIMEOUT_S, Blow, kill, names, restart
from barnabas.chaos.disk import turn_read_only
from barnabas.chaos.expiry import expire_owner
from barnabas.chaos.links import CLIENTS
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.cluster import ClusterError

LOSS = 0.1
"""The fraction of packets that a lossy link loses."""


def strike(name: str, arena: Arena, victims: Sequence[BrokerId]) -> Blow:
    """Do it.

    Args:
        name: That of a kind of the schedule.
        arena: To what.
        victims: As the schedule chose them.

    Raises:
        KeyError: There is no such nemesis.
        ClusterError, ZooKeeperStartError, NetworkError, DiskError, WireError, OSError: It could not be
            done.
    """
    return _STRIKES[name](arena, tuple(victims))


def _terminate(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    for broker in victims:
        arena.cluster.brokers[broker].signal(signal.SIGTERM)

    def heal() -> None:
        for broker in victims:
            arena.cluster.terminate(broker, TERMINATE_TIMEOUT_S)
            status = arena.cluster.brokers[broker].exit_status
            if status != 0:
                words = arena.cluster.brokers[broker].last_words()
                raise ClusterError(f"broker {broker} ended with status {status} on SIGTERM: {words}")
        restart(arena, victims)

    return Blow(f"SIGTERM {names(victims)}", heal, deadly=victims)


def _pause(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    for broker in victims:
        arena.cluster.pause(broker)

    def heal() -> None:
        for broker in victims:
            arena.cluster.resume(broker)

    return Blow(f"SIGSTOP {names(victims)}", heal)


def _cut(arena: Arena, ways: Sequence[tuple[str, str]], detail: str) -> Blow:
    arena.links.cut(ways)
    return Blow(detail, lambda: None)


def _both(one: str, others: Sequence[str]) -> list[tuple[str, str]]:
    return [way for other in others for way in ((one, other), (other, one))]


def _partition_one_way(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    ways = [(node_of(broker), other) for broker in victims for other in arena.others(broker)]
    return _cut(arena, ways, f"other brokers hear nothing of {names(victims)}")


def _partition(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    ways = [way for broker in victims for way in _both(node_of(broker), arena.others(broker))]
    return _cut(arena, ways, f"{names(victims)} | other brokers")


def _cut_off(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    ways = [
        way
        for broker in victims
        for way in _both(node_of(broker), [*arena.others(broker), *arena.zookeepers, CLIENTS])
    ]
    return _cut(arena, ways, f"{names(victims)} | everybody else")


def _cut_from_zookeeper(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    ways = [way for broker in victims for way in _both(node_of(broker), arena.zookeepers)]
    return _cut(arena, ways, f"{names(victims)} | ZooKeeper")


def _cut_zookeeper_one_way(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    ways = [(server, node_of(broker)) for broker in victims for server in arena.zookeepers]
    return _cut(arena, ways, f"{names(victims)} hears nothing of ZooKeeper")


def _cut_from_clients(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    ways = [way for broker in victims for way in _both(node_of(broker), [CLIENTS])]
    return _cut(arena, ways, f"{names(victims)} | clients")


def _slow(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    for broker in victims:
        arena.links.slow(node_of(broker))
    return Blow(f"slow links from {names(victims)}", lambda: None)


def _lose(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    for broker in victims:
        arena.links.lose(node_of(broker), LOSS)
    return Blow(f"{LOSS:.0%} of packets to {names(victims)} are lost", lambda: None)


def _zookeeper_restart(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    arena.ensemble.stop()
    return Blow("SIGTERM all ZooKeepers", arena.ensemble.launch)


def _zookeeper_kill(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    arena.ensemble.kill()
    return Blow("SIGKILL all ZooKeepers", arena.ensemble.launch)


def _zookeeper_pause(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    return _hold(arena, arena.zookeepers)


def _hold(arena: Arena, servers: Sequence[str]) -> Blow:
    for server in servers:
        arena.ensemble.servers[server].pause()

    def heal() -> None:
        for server in servers:
            arena.ensemble.servers[server].resume()

    return Blow(f"SIGSTOP {', '.join(servers)}", heal)


def _leader_restart(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    leader = arena.ensemble.leader()
    arena.ensemble.servers[leader].stop()
    return Blow(f"SIGTERM {leader}, which leads", arena.ensemble.launch)


def _leader_kill(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    leader = arena.ensemble.leader()
    arena.ensemble.servers[leader].kill()
    return Blow(f"SIGKILL {leader}, which leads", arena.ensemble.launch)


def _leader_pause(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    return _hold(arena, [arena.ensemble.leader()])


def _leader_cut(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    leader = arena.ensemble.leader()
    others = [server for server in arena.zookeepers if server != leader]
    return _cut(arena, _both(leader, others), f"{leader}, which leads | other ZooKeepers")


def _expire(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    leader = arena.ensemble.servers[arena.ensemble.leader()]
    owners = [expire_owner(leader.address, f"/brokers/ids/{broker}") for broker in victims]
    sessions = ", ".join(f"{owner:#x}" for owner in owners)
    return Blow(f"session {sessions} of {names(victims)} ended", lambda: None)


def _disk_full(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    for broker in victims:
        arena.disks[broker].fill()

    def heal() -> None:
        for broker in victims:
            arena.disks[broker].free()
        restart(arena, victims)  # a log directory that failed comes back with its broker

    return Blow(f"a disk of {names(victims)} is full", heal, deadly=victims)


def _disk_read_only(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    for broker in victims:
        pid = arena.cluster.brokers[broker].pid
        if pid is not None:
            turn_read_only(_directory(arena, broker), pid)
    return Blow(f"a disk of {names(victims)} is read-only", lambda: restart(arena, victims), deadly=victims)


def _directory(arena: Arena, broker: BrokerId) -> Path:
    return arena.disks[broker].directory


_STRIKES: dict[str, Callable[[Arena, tuple[BrokerId, ...]], Blow]] = {
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
    "zookeeper-leader-restart": _leader_restart,
    "zookeeper-leader-kill": _leader_kill,
    "zookeeper-leader-pause": _leader_pause,
    "cut-zookeeper-leader": _leader_cut,
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
    "duplicate-id": registrations.duplicate,
    "duplicate-id-of-paused": registrations.duplicate_of_paused,
    "wipe-registration": registrations.wipe_brokers,
    "wipe-controller": registrations.wipe_controller,
    "wipe-both": registrations.wipe_both,
    "wipe-all-registrations": registrations.wipe_all,
}
