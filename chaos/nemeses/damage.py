"""Damage to sealed segments of a running broker, as from a disk that loses or flips bits."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from barnabas.chaos.nemeses.segments import base_of, differences, partitions_in, replica, segments_of
from barnabas.chaos.targets.disk import DiskError
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.topic_names import INTERNAL_TOPICS

ZEROS = 4096
"""The bytes of a block that was never written."""

MOST = 6
"""The most partitions that are damaged at once, some of which the broker leads."""


class Harm(StrEnum):
    """The kind of damage."""

    FLIP = "a bit flipped"
    ZEROS = "a block of zeros"


@dataclass(frozen=True)
class Damage:
    """The damage on one broker.

    Attributes:
        broker: The broker of the replicas.
        harm: The kind of damage.
        ranges: For each partition, the first offset of the damaged segment and that of the next segment.
    """

    broker: BrokerId
    harm: Harm
    ranges: Mapping[TopicPartition, tuple[int, int]]

    def __str__(self) -> str:
        where = ", ".join(f"{tp} from offset {start}" for tp, (start, _) in self.ranges.items())
        return f"{self.harm} in sealed segments of broker {self.broker}: {where}"

    def lacking(self, log_dirs: Mapping[BrokerId, Sequence[Path]]) -> str:
        """Return a text about damage and differences that are left in the files; empty if there are none."""
        lines = [
            f"{tp}: {line}"
            for tp, (start, end) in self.ranges.items()
            for line in differences({b: replica(dirs, tp) for b, dirs in log_dirs.items()}, start, end)
        ]
        return "; ".join(lines)


def damage(log_dirs: Mapping[BrokerId, Sequence[Path]], broker: BrokerId, harm: Harm) -> Damage:
    """Damage one sealed segment in each of up to ``MOST`` replicas of a broker.

    Internal topics are left out: their replicas are compacted one by one, and differ.

    Raises:
        DiskError: The broker has no sealed segment.
    """
    ranges: dict[TopicPartition, tuple[int, int]] = {}
    for tp in partitions_in(log_dirs[broker]):
        segments = segments_of(log_dirs[broker], tp)
        if len(segments) < 2 or len(ranges) == MOST or tp.topic in INTERNAL_TOPICS:
            continue
        *_, segment, following = segments
        ruin(segment, harm)
        ranges[tp] = (base_of(segment), base_of(following))
    if not ranges:
        raise DiskError(f"broker {broker} has no sealed segment yet")
    return Damage(broker, harm, ranges)


def ruin(segment: Path, harm: Harm) -> None:
    """Damage the middle of a file without changing its length."""
    with segment.open("r+b", buffering=0) as file:
        middle = os.fstat(file.fileno()).st_size // 2
        length = 1 if harm is Harm.FLIP else ZEROS
        sound = os.pread(file.fileno(), length, middle)
        ill = bytes([sound[0] ^ 0x10]) if harm is Harm.FLIP else bytes(len(sound))
        os.pwrite(file.fileno(), ill, middle)
