"""Nemeses that take copies away: power cuts, emptied log directories, damaged segments.

What is acknowledged has been taken by every in-sync replica. So copies may be taken from brokers that others
are in sync beside: these have everything. Whether there are such others is read from ZooKeeper after the
victims are dead, when nobody can ask them for records any more; where there are none, nothing is taken.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from barnabas.chaos.arena import Arena
from barnabas.chaos.blows import Blow, kill, names
from barnabas.chaos.damage import Harm, damage
from barnabas.chaos.disk import sync
from barnabas.chaos.power import Loss
from barnabas.chaos.wiping import in_sync
from barnabas.chaos.zookeeper_wire import WireError
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.zookeeper_jars import ZooKeeperStartError

META_PROPERTIES = "meta.properties"


def power_cut(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Kill brokers whose machines lose what was not synced, as long as others have all that is promised."""
    blow = kill(arena, victims)
    alone = _only_in_sync(arena, victims)
    return replace(blow, missed=alone) if alone else _cut(arena, victims, blow)


def power_cut_all(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Kill all; nobody has what was not synced."""
    return _cut(arena, victims, kill(arena, victims))


def _cut(arena: Arena, victims: tuple[BrokerId, ...], blow: Blow) -> Blow:
    lost = sum((disk.cut() for broker in victims for disk in arena.power[broker]), Loss())
    told = f"power cut of {names(victims)}: {lost.bytes:,} bytes lost, {lost.files} files changed"
    return replace(blow, detail=told, missed="" if lost.files else "all was synced")


def empty_one(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Kill brokers and empty the first log directory of each, as if its disk had been replaced."""
    return _empty(arena, victims, {broker: arena.log_dirs[broker][:1] for broker in victims})


def empty_all(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Kill brokers and empty all their log directories, as if they were new machines."""
    return _empty(arena, victims, {broker: arena.log_dirs[broker] for broker in victims})


def empty_all_but_the_identity(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Kill brokers and delete everything from their log directories but meta.properties."""
    return _empty(arena, victims, {broker: arena.log_dirs[broker] for broker in victims}, META_PROPERTIES)


def _empty(
    arena: Arena,
    victims: tuple[BrokerId, ...],
    directories: dict[BrokerId, Sequence[Path]],
    kept: str | None = None,
) -> Blow:
    blow = kill(arena, victims)
    alone = _only_in_sync(arena, victims)
    if alone:
        return replace(blow, missed=alone)
    emptied = [directory for broker in victims for directory in directories[broker]]
    count = sum(empty(directory, kept) for directory in emptied)
    told = f"{len(emptied)} directories of {names(victims)} emptied of {count} files"
    return replace(
        blow,
        detail=told if kept is None else f"{told}, {kept} kept",
        missed="" if count else "there was nothing in them",
    )


def empty(directory: Path, kept: str | None = None) -> int:
    """Delete all that lies in a directory, for good, but for a file of the name ``kept``.

    Returns:
        How many files were deleted.
    """
    files = [file for file in directory.rglob("*") if file.is_file() and file.name != kept]
    for entry in [*os.scandir(directory)]:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path)
        elif entry.name != kept:
            Path(entry.path).unlink()
    sync(directory)
    return len(files)


def _only_in_sync(arena: Arena, victims: Sequence[BrokerId]) -> str:
    """Which partition has nobody but victims in sync, or why nobody can say, in words; or nothing."""
    try:
        isrs = in_sync(arena.ensemble.servers[arena.ensemble.leader()].address)
    except (OSError, WireError, ZooKeeperStartError) as error:
        return f"nobody can say who is in sync: {error}"
    lonely = [tp for tp, isr in isrs.items() if isr <= frozenset(victims)]
    return f"nobody else is in sync for {', '.join(map(str, lonely))}" if lonely else ""


def _damage(harm: Harm, arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    (broker,) = victims
    done = damage(arena.log_dirs, broker, harm)
    return Blow(str(done), lambda: None, lacking=lambda: done.lacking(arena.log_dirs))


damage_flip = partial(_damage, Harm.FLIP)
damage_zeros = partial(_damage, Harm.ZEROS)
