"""Nemeses that destroy copies of data: power cuts, emptied log directories, damaged segments.

Every in-sync replica has everything that was acknowledged. So a broker's copies may be destroyed while
another broker is in sync for each of its partitions. That is checked in ZooKeeper after the victims are dead,
because the ISR could change until then; if a partition has no other in-sync replica, nothing is destroyed.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from barnabas.chaos.nemeses.damage import Harm, damage
from barnabas.chaos.nemeses.faults import InjectedFault, kill, names
from barnabas.chaos.nemeses.wiping import in_sync
from barnabas.chaos.targets.disk import sync
from barnabas.chaos.targets.power import Loss
from barnabas.chaos.targets.targets import Targets
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.zookeeper_jars import ZooKeeperStartError
from barnabas.local.zookeeper_wire import WireError

META_PROPERTIES = "meta.properties"


def power_cut(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Kill brokers and lose what they had not synced, if other replicas have all acknowledged records."""
    fault = kill(targets, victims)
    alone = _only_in_sync(targets, victims)
    return replace(fault, missed=alone) if alone else _cut(targets, victims, fault)


def power_cut_all(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Kill all brokers; what was not synced is lost everywhere."""
    return _cut(targets, victims, kill(targets, victims))


def _cut(targets: Targets, victims: tuple[BrokerId, ...], fault: InjectedFault) -> InjectedFault:
    lost = sum((disk.cut() for broker in victims for disk in targets.power[broker]), Loss())
    detail = f"power cut of {names(victims)}: {lost.bytes:,} bytes lost, {lost.files} files changed"
    return replace(fault, detail=detail, missed="" if lost.files else "all was synced")


def empty_one(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Kill brokers and empty the first log directory of each, as if its disk had been replaced."""
    return _empty(targets, victims, {broker: targets.log_dirs[broker][:1] for broker in victims})


def empty_all(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Kill brokers and empty all their log directories, as if they were new machines."""
    return _empty(targets, victims, {broker: targets.log_dirs[broker] for broker in victims})


def empty_all_but_the_identity(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Kill brokers and delete everything from their log directories but meta.properties."""
    return _empty(targets, victims, {broker: targets.log_dirs[broker] for broker in victims}, META_PROPERTIES)


def _empty(
    targets: Targets,
    victims: tuple[BrokerId, ...],
    directories: dict[BrokerId, Sequence[Path]],
    kept: str | None = None,
) -> InjectedFault:
    fault = kill(targets, victims)
    alone = _only_in_sync(targets, victims)
    if alone:
        return replace(fault, missed=alone)
    emptied = [directory for broker in victims for directory in directories[broker]]
    count = sum(empty(directory, kept) for directory in emptied)
    detail = f"{len(emptied)} directories of {names(victims)} emptied of {count} files"
    return replace(
        fault,
        detail=detail if kept is None else f"{detail}, {kept} kept",
        missed="" if count else "the directories were empty",
    )


def empty(directory: Path, kept: str | None = None) -> int:
    """Delete everything in a directory, except for a file with the name ``kept``.

    Returns:
        The number of files deleted.
    """
    files = [file for file in directory.rglob("*") if file.is_file() and file.name != kept]
    for entry in [*os.scandir(directory)]:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != kept:
            Path(entry.path).unlink()
    sync(directory)
    return len(files)


def _only_in_sync(targets: Targets, victims: Sequence[BrokerId]) -> str:
    """Return which partitions have only victims in sync, or why that is unknown; empty if there are none."""
    try:
        isrs = in_sync(targets.ensemble.servers[targets.ensemble.leader()].address)
    except (OSError, WireError, ZooKeeperStartError) as error:
        return f"the ISRs cannot be read: {error}"
    lonely = [tp for tp, isr in isrs.items() if isr <= frozenset(victims)]
    return f"no other replica is in sync for {', '.join(map(str, lonely))}" if lonely else ""


def _damage(harm: Harm, targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    (broker,) = victims
    done = damage(targets.log_dirs, broker, harm)
    return InjectedFault(str(done), lambda: None, lacking=lambda: done.lacking(targets.log_dirs))


damage_flip = partial(_damage, Harm.FLIP)
damage_zeros = partial(_damage, Harm.ZEROS)
