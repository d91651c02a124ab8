"""A local cluster as fault targets: each process has its own network namespace and disks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from barnabas.chaos.targets.disk import SmallDisk, run
from barnabas.chaos.targets.network import Network
from barnabas.chaos.targets.power import PowerDisk, SharedMounts
from barnabas.chaos.targets.targets import Targets, node_of
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
    "log.segment.bytes": str(1 << 20),  # short segments, so that recovery finds several
    "auto.create.topics.enable": "false",
    "min.insync.replicas": "2",  # these are for the topic of the groups, which has no settings of its own
    "offsets.topic.num.partitions": "5",
    # The groups' topic is compacted all the time, and so slowly that the process is met at work.
    "offsets.topic.segment.bytes": "8192",
    "log.cleaner.backoff.ms": "1000",
    "log.cleaner.io.max.bytes.per.second": "20000",
    "log.cleaner.min.cleanable.ratio": "0.01",
    # Damage is found within a minute; checking small batches leaves most of the CPU to the cluster.
    "log.scrub.interval.ms": "2000",
    "log.scrub.io.max.bytes.per.second": "500000",
    "failpoints.over.http": "true",  # a clock is set back by one
}


@contextmanager
def local_targets(directory: Path, say: Callable[[str], None], *, has_power: bool) -> Iterator[Targets]:
    """Run a cluster whose brokers have two log directories each, the second on a small disk.

    Args:
        directory: The folder for all files.
        say: Prints a line of progress.
        has_power: Whether log directories are on disks whose power can be cut; otherwise they are plain
            folders, and the small disk is a tmpfs.
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
        yield Targets(
            cluster,
            ensemble,
            network.links,
            disks,
            log_dirs=log_dirs,
            power=power,
            duplicate=cluster.duplicate,
            arm=lambda broker, *failpoint: cluster.brokers[broker].arm(*failpoint),
        )


def _power_disks(broker: BrokerProcess, cleaning: ExitStack) -> tuple[PowerDisk, PowerDisk]:
    mounts = broker.directory / DISKS
    cleaning.enter_context(SharedMounts(mounts))
    large = PowerDisk(mounts / LARGE, broker.directory / f"{LARGE}.image", LARGE_MIB)
    small = PowerDisk(mounts / SMALL, broker.directory / f"{SMALL}.image", SMALL_MIB)
    return cleaning.enter_context(large), cleaning.enter_context(small)


def keep_disks(targets: Targets) -> None:
    """Copy the content of disks that end with the run into the brokers' directories."""
    mounted: Mapping[BrokerId, tuple[SmallDisk, ...]] = {
        broker: targets.power.get(broker, (disk,)) for broker, disk in targets.disks.items()
    }
    for broker, disks in mounted.items():
        for disk in disks:
            target = targets.cluster.brokers[broker].directory / f"{disk.directory.name}-kept"
            # The copy lacks files that brokers delete meanwhile; that is no error. Indexes are large and
            # mostly empty.
            run("cp", "-a", "--sparse=always", str(disk.directory), str(target), may_fail=True)
