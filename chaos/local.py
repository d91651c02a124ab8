"""A cluster of processes as an arena: each in a network namespace of its own, with disks of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from barnabas.chaos.arena import Arena, node_of
from barnabas.chaos.disk import SmallDisk, run
from barnabas.chaos.network import Network
from barnabas.chaos.power import PowerDisk, SharedMounts
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import BrokerProcess
from barnabas.local.cluster import LocalCluster
from barnabas.local.ensemble import local_ensemble, names_of

BROKERS = 3
ZOOKEEPERS = 3

DISKS = "disks"
LARGE, SMALL = "data", "data-small"
LARGE_MIB, SMALL_MIB = 2048, 256

SETTINGS = {
    "zookeeper.session.timeout.ms": "6000",
    "log.segment.bytes": str(1 << 20),  # short segments roll, and recovery finds several
    "auto.create.topics.enable": "false",
    # Damage is found within a minute, and a check of small batches leaves the machine to others.
    "log.scrub.interval.ms": "2000",
    "log.scrub.io.max.bytes.per.second": "500000",
}


@contextmanager
def local_arena(directory: Path, say: Callable[[str], None], *, has_power: bool) -> Iterator[Arena]:
    """A running cluster; each broker has two log directories, of which the second is on a small disk.

    Args:
        directory: Where everything lies.
        say: Takes a line for people.
        has_power: Whether log directories are on disks whose power can be cut; else they are plain ones, the
            small disk a tmpfs.
    """
    brokers = [BrokerId(n) for n in range(1, BROKERS + 1)]
    with ExitStack() as cleaning:
        network = cleaning.enter_context(Network([*names_of(ZOOKEEPERS), *map(node_of, brokers)]))
        ensemble = local_ensemble(directory, ZOOKEEPERS, network.places)
        cluster = LocalCluster(
            directory, BROKERS, overrides=SETTINGS, zookeeper=ensemble.address, places=network.places
        )
        log_dirs: dict[BrokerId, tuple[Path, ...]] = {}
        disks: dict[BrokerId, SmallDisk] = {}
        power: dict[BrokerId, tuple[PowerDisk, ...]] = {}
        for broker in cluster.brokers.values():
            if has_power:
                power[broker.id] = _power_disks(broker, cleaning)
                disks[broker.id] = power[broker.id][1]
            else:
                disks[broker.id] = cleaning.enter_context(SmallDisk(broker.directory / SMALL, SMALL_MIB))
            large = power[broker.id][0].directory if has_power else broker.directory / LARGE
            log_dirs[broker.id] = large, disks[broker.id].directory
            broker.own_settings["log.dirs"] = ",".join(map(str, log_dirs[broker.id]))
        cleaning.enter_context(ensemble)
        cleaning.enter_context(cluster)
        if not network.links.can_delay:
            say("chaos: this kernel has no netem: slow links are of few bits (tbf) without delay")
        yield Arena(
            cluster,
            ensemble,
            network.links,
            disks,
            log_dirs=log_dirs,
            power=power,
            duplicate=cluster.duplicate,
        )


def _power_disks(broker: BrokerProcess, cleaning: ExitStack) -> tuple[PowerDisk, PowerDisk]:
    mounts = broker.directory / DISKS
    cleaning.enter_context(SharedMounts(mounts))
    large = PowerDisk(mounts / LARGE, broker.directory / f"{LARGE}.image", LARGE_MIB)
    small = PowerDisk(mounts / SMALL, broker.directory / f"{SMALL}.image", SMALL_MIB)
    return cleaning.enter_context(large), cleaning.enter_context(small)


def keep_disks(arena: Arena) -> None:
    """Copy what is on disks that end with the run into the brokers' directories."""
    mounted: Mapping[BrokerId, tuple[SmallDisk, ...]] = {
        broker: arena.power.get(broker, (disk,)) for broker, disk in arena.disks.items()
    }
    for broker, disks in mounted.items():
        for disk in disks:
            target = arena.cluster.brokers[broker].directory / f"{disk.directory.name}-kept"
            # Files that their brokers delete meanwhile are missing in the copy, and it has all others.
            # Indexes are large and mostly empty.
            run("cp", "-a", "--sparse=always", str(disk.directory), str(target), may_fail=True)
