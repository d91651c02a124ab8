"""What a history proves about the cluster. Pure.

After ``jepsen.tests.kafka``, without transactions. The log of a partition is what readers saw: offset to
value. Each reader that read a partition whole must have been given everything that was promised, whatever
others were given before it. Judged are:

* **lost**: acknowledged, not read, though a reader got past its offset or the log ends before it;
* **unread**: acknowledged, not read, and no reader got that far (proves nothing, but is no success);
* **vanished**: never acknowledged, but read by one reader, and not by another that got past it;
* **misplaced**: acknowledged at one offset, and read at others alone;
* **jumps**: a reader of a whole partition skipped offsets, or was given some again;
* **unfinished**: a reader of a whole partition stopped before its end;
* **duplicated**: one value at two offsets;
* **reordered**: two values of one producer stand in a partition in the order opposite to their sending;
* **inconsistent offsets**: two values at one offset, whether by two reads, two acks, or an ack and a read;
* **aborted reads**: read, though its write certainly failed;
* **phantoms**: read, but sent by nobody;
* **stale reads**: an end of a partition below what was acknowledged or read before it was asked for, while no
  nemesis was about. (A leader that is cut off or held does not know yet that it leads no more, and tells what
  it has: Kafka has no leases.)

A producer that is not idempotent may have values twice, and a deleted topic may have lost what was sent
before the deletion. Where nothing at all was acknowledged, nothing was proven.

And measured: per partition the waits for acknowledgements (``waits``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barnabas.chaos.history import Acked, Deleted, Failed, Joined, Op, Read, Sent, Tail
from barnabas.chaos.readings import Jump, Reading
from barnabas.chaos.stale import StaleRead, stale_reads
from barnabas.chaos.waits import Stall, longest
from barnabas.cluster.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Write:
    """A record.

    Attributes:
        offset: Where it stands or should stand; None where the client was not told.
        reader: Who was not given it, where that is what is wrong; None where nobody read it at all.
    """

    partition: TopicPartition
    offset: int | None
    value: str
    reader: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A value that was acknowledged at an offset at which nobody found it.

    Attributes:
        acknowledged: Where it should stand.
        offsets: Where it stands, ascending.
    """

    partition: TopicPartition
    value: str
    acknowledged: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A value that stands at several offsets."""

    partition: TopicPartition
    value: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Inversion:
    """Two values of one producer: ``later`` was sent after ``earlier`` and stands before it.

    Attributes:
        offsets: Where ``later`` and ``earlier`` stand, in this order, so ascending.
    """

    partition: TopicPartition
    process: str
    earlier: str
    later: str
    offsets: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Several values that are said to stand at one offset."""

    partition: TopicPartition
    offset: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a history.

    Attributes:
        sent: Writes attempted.
        acknowledged: Writes promised to be kept.
        excused: Those of them of which nothing was read, as their topic was deleted: nobody knows of them.
        failed: Writes certainly not made.
        unknown: Writes of which nobody can say.
        read: Distinct values read.
        stale: Where a reader was told an older end, while no nemesis was about.
        tolerated: How many duplicates of producers that are not idempotent there were, and how many stale
            reads while a nemesis was about.
        stalls: One for each partition that was written to, in the order of partitions.
    """

    sent: int
    acknowledged: int
    excused: int
    failed: int
    unknown: int
    read: int
    lost: tuple[Write, ...]
    unread: tuple[Write, ...]
    vanished: tuple[Write, ...]
    misplaced: tuple[Misplaced, ...]
    jumps: tuple[Jump, ...]
    unfinished: tuple[Tail, ...]
    duplicated: tuple[Duplicate, ...]
    reordered: tuple[Inversion, ...]
    inconsistent: tuple[Inconsistency, ...]
    aborted_reads: tuple[Write, ...]
    phantoms: tuple[Write, ...]
    stale: tuple[StaleRead, ...]
    tolerated: Mapping[str, int]
    stalls: tuple[Stall, ...]

    @property
    def missing(self) -> int:
        """Acknowledged writes that were not read back, for whatever reason."""
        return len(self.lost) + len(self.unread)

    @property
    def valid(self) -> bool:
        """Whether there were promises and all were kept, each value standing once and in order."""
        return not self.problems()

    def problems(self) -> list[str]:
        """A line for each kind of broken promise, with its count and first case."""
        kinds = {
            "lost": self.lost,
            "unread": self.unread,
            "vanished": self.vanished,
            "misplaced": self.misplaced,
            "jumps": self.jumps,
            "not read to the end": self.unfinished,
            "duplicated": self.duplicated,
            "reordered": self.reordered,
            "inconsistent offsets": self.inconsistent,
            "aborted reads": self.aborted_reads,
            "phantoms": self.phantoms,
            "stale reads": self.stale,
        }
        found = [f"{name}: {len(cases)}, first {cases[0]}" for name, cases in kinds.items() if cases]
        return found if self.acknowledged else [*found, "nothing was acknowledged: that proves nothing"]


@dataclass(slots=True)
class _Partition:
    """What the history says of one partition."""

    sent: dict[str, tuple[str, int]] = field(default_factory=dict)  # value -> producer, its running number
    acked: dict[str, int | None] = field(default_factory=dict)  # value -> offset
    failed: set[str] = field(default_factory=set)
    at: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))  # offset -> values read there
    where: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # value -> offsets read at
    readings: dict[str, Reading] = field(default_factory=lambda: defaultdict(Reading))  # by reader
    excused: set[str] = field(default_factory=set)  # sent before the topic was deleted

    def producer_of(self, value: str) -> str | None:
        """Who sent it; None for a phantom."""
        return self.sent[value][0] if value in self.sent else None

    def whole(self) -> dict[str, Reading]:
        """The readings of those that set out to read everything, by reader."""
        return {name: reading for name, reading in self.readings.items() if reading.is_whole}


def check(history: Iterable[Op]) -> Verdict:
    """Judge a history; the ops must be in the order of their times for the stalls to be right."""
    ops = tuple(history)
    partitions = _by_partition(ops)
    lenient = {op.process for op in ops if isinstance(op, Joined) and not op.idempotent}
    duplicates = [d for tp, p in partitions.items() for d in _duplicates(tp, p)]
    forbidden = [d for d in duplicates if partitions[d.partition].producer_of(d.value) not in lenient]
    stale = stale_reads(ops)
    lost, unread, vanished = _missing(partitions)
    return Verdict(
        sent=sum(len(p.sent) for p in partitions.values()),
        acknowledged=sum(len(p.acked) for p in partitions.values()),
        excused=sum(len((p.acked.keys() & p.excused) - p.where.keys()) for p in partitions.values()),
        failed=sum(len(p.failed) for p in partitions.values()),
        unknown=sum(len(p.sent.keys() - p.acked.keys() - p.failed) for p in partitions.values()),
        read=sum(len(p.where) for p in partitions.values()),
        lost=lost,
        unread=unread,
        vanished=vanished,
        misplaced=tuple(m for tp, p in partitions.items() for m in _misplaced(tp, p)),
        jumps=tuple(j for tp, p in partitions.items() for j in _jumps(tp, p)),
        unfinished=tuple(
            op for op in ops if isinstance(op, Tail) and (op.end is None or op.position < op.end)
        ),
        duplicated=tuple(forbidden),
        reordered=tuple(i for tp, p in partitions.items() for i in _inversions(tp, p)),
        inconsistent=tuple(i for tp, p in partitions.items() for i in _inconsistencies(tp, p)),
        aborted_reads=tuple(
            Write(tp, min(p.where[value]), value)
            for tp, p in partitions.items()
            for value in sorted(p.failed & p.where.keys())
        ),
        phantoms=tuple(
            Write(tp, min(p.where[value]), value)
            for tp, p in partitions.items()
            for value in sorted(p.where.keys() - p.sent.keys())
        ),
        stale=tuple(read for read in stale if not read.disturbed),
        tolerated={
            "duplicated": len(duplicates) - len(forbidden),
            "stale reads": sum(read.disturbed for read in stale),
        },
        stalls=longest(ops),
    )


def _by_partition(ops: tuple[Op, ...]) -> dict[TopicPartition, _Partition]:
    found: dict[TopicPartition, _Partition] = defaultdict(_Partition)
    for op in ops:
        match op:
            case Sent(process=process, partition=tp, value=value):
                sent = found[tp].sent
                sent[value] = process, len(sent)
            case Acked(partition=tp, value=value, offset=offset):
                found[tp].acked[value] = offset
            case Failed(partition=tp, value=value):
                found[tp].failed.add(value)
            case Read(process=process, partition=tp, value=value, offset=offset):
                found[tp].at[offset].add(value)
                found[tp].where[value].add(offset)
                found[tp].readings[process].take(offset, value)
            case Tail(process=process, partition=tp, position=position, end=end):
                found[tp].readings[process].stop(position, end)
            case Deleted(topic=topic):
                for tp, partition in found.items():
                    if tp.topic == topic:
                        partition.excused |= partition.sent.keys()
            case _:
                pass
    return dict(sorted(found.items()))


def _missing(
    partitions: Mapping[TopicPartition, _Partition],
) -> tuple[tuple[Write, ...], tuple[Write, ...], tuple[Write, ...]]:
    """What is lost, what is unread and what has vanished."""
    lost, unread, vanished = [], [], []
    for tp, partition in partitions.items():
        readings = partition.whole()
        for value, offset in partition.acked.items():
            if value in partition.excused:
                continue
            lacking = {name: each for name, each in readings.items() if value not in each.values}
            proof = next((name for name, each in lacking.items() if each.proves_missing(offset)), None)
            if proof is not None:
                lost.append(Write(tp, offset, value, proof))
            elif lacking or not readings:
                unread.append(Write(tp, offset, value, next(iter(lacking), None)))
        for value in partition.where.keys() - partition.acked.keys() - partition.excused:
            offset = min(partition.where[value])
            vanished += [
                Write(tp, offset, value, name)
                for name, each in readings.items()
                if value not in each.values and each.proves_missing(offset)
            ][:1]
    return tuple(lost), tuple(unread), tuple(sorted(vanished, key=lambda write: write.value))


def _misplaced(tp: TopicPartition, partition: _Partition) -> list[Misplaced]:
    return [
        Misplaced(tp, value, offset, tuple(sorted(partition.where[value])))
        for value, offset in partition.acked.items()
        if offset is not None and value in partition.where and offset not in partition.where[value]
    ]


def _jumps(tp: TopicPartition, partition: _Partition) -> list[Jump]:
    return [Jump(tp, name, *jump) for name, reading in partition.whole().items() for jump in reading.jumps]


def _duplicates(tp: TopicPartition, partition: _Partition) -> list[Duplicate]:
    return [
        Duplicate(tp, value, tuple(sorted(offsets)))
        for value, offsets in partition.where.items()
        if len(offsets) > 1
    ]


def _inversions(tp: TopicPartition, partition: _Partition) -> list[Inversion]:
    """Each value that stands behind one sent later by the same producer, with the latest such one.

    Of a duplicated value only the first place counts: its second is a duplicate, not a reordering.
    """
    inversions = []
    latest: dict[str, tuple[int, str, int]] = {}  # producer -> highest running number so far, value, offset
    places = sorted((min(offsets), value) for value, offsets in partition.where.items())
    for offset, value in places:
        if value not in partition.sent:
            continue
        process, number = partition.sent[value]
        before = latest.get(process)
        if before is None or before[0] < number:
            latest[process] = number, value, offset
        else:
            inversions.append(
                Inversion(tp, process, earlier=value, later=before[1], offsets=(before[2], offset))
            )
    return inversions


def _inconsistencies(tp: TopicPartition, partition: _Partition) -> list[Inconsistency]:
    claimed: dict[int, set[str]] = defaultdict(set)
    for offset, values in partition.at.items():
        claimed[offset] |= values
    for value, acked_at in partition.acked.items():
        if acked_at is not None:
            claimed[acked_at].add(value)
    return [
        Inconsistency(tp, offset, tuple(sorted(values)))
        for offset, values in sorted(claimed.items())
        if len(values) > 1
    ]
