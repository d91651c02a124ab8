"""The checker: what a history proves about the cluster. Pure.

The checks follow ``jepsen.tests.kafka`` without its transactions. A partition's log is known from what
readers saw: a value at each offset. Every reader that read a partition from begin to end must have received
everything that was promised, whatever other readers received before. The checker finds:

* **lost**: acknowledged values that were not read, though a reader passed their offset or the log ends
  before it;
* **unread**: acknowledged values that no reader got far enough to read: no proof of a loss, but no success;
* **vanished**: values not acknowledged but read by one reader, and missing for another that passed them;
* **misplaced**: values acknowledged at one offset and read only at others;
* **jumps**: offsets that a reader of a whole partition skipped, or received again;
* **unfinished**: readers of a whole partition that stopped before its end;
* **duplicated**: values at two offsets;
* **reordered**: two values of one producer in a partition, in the opposite order of their sending;
* **inconsistent offsets**: two values at one offset, whether by two reads, two acks, or an ack and a read;
* **aborted reads**: values that were read although their write certainly failed;
* **phantoms**: values that were read but never sent;
* **resurrected**: values acknowledged by a topic that was deleted, and read from a later one of its name;
* **stale reads**: an end of a partition below what had been acknowledged or read before the question, while
  no nemesis was active. (A leader that is cut off or paused does not know that it is no longer the leader
  and answers with its own end, because Kafka has no leases.)

A producer that is not idempotent may write values twice, and a deleted topic may lose what was sent before
its deletion. A history without any acknowledgement proves nothing.

The checker also measures how long writes to each partition waited for acknowledgements (``waits``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barnabas.checker.readings import Jump, Reading
from barnabas.checker.stale import StaleRead, stale_reads
from barnabas.checker.waits import Stall, longest
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Acked, Created, Deleted, Failed, Joined, Op, Read, Sent, Tail


@dataclass(frozen=True, slots=True)
class Write:
    """A record that was written.

    Attributes:
        offset: The offset where the record is or should be; None if the client did not learn it.
        reader: The reader that did not receive the record, if that is the problem; None if no reader did.
    """

    partition: TopicPartition
    offset: int | None
    value: str
    reader: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A value that no reader found at the offset at which it was acknowledged.

    Attributes:
        acknowledged: The acknowledged offset.
        offsets: The actual offsets, ascending.
    """

    partition: TopicPartition
    value: str
    acknowledged: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A value at several offsets."""

    partition: TopicPartition
    value: str
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Inversion:
    """Two values of one producer in the wrong order: ``later`` was sent after ``earlier`` and is before it.

    Attributes:
        offsets: The offsets of ``later`` and ``earlier``, in this order, which is ascending.
    """

    partition: TopicPartition
    process: str
    earlier: str
    later: str
    offsets: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """Several values reported at one offset."""

    partition: TopicPartition
    offset: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a history.

    Attributes:
        sent: The number of writes attempted.
        acknowledged: The number of writes that the cluster promised to keep.
        excused: The number of those that were not read because their topic was deleted.
        failed: The number of writes that certainly did not happen.
        unknown: The number of writes with an unknown outcome.
        read: The number of distinct values read.
        stale: The stale reads while no nemesis was active.
        tolerated: The numbers of duplicates of producers that are not idempotent, and of stale reads while a
            nemesis was active.
        stalls: The longest wait of each partition that was written to, in the order of partitions.
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
    resurrected: tuple[Write, ...]
    stale: tuple[StaleRead, ...]
    tolerated: Mapping[str, int]
    stalls: tuple[Stall, ...]

    @property
    def missing(self) -> int:
        """Return the number of acknowledged writes that were not read back, for any reason."""
        return len(self.lost) + len(self.unread)

    @property
    def valid(self) -> bool:
        """Return whether there were promises and all were kept, with every value once and in order."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Return a line for each kind of broken promise, with its count and first case."""
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
            "resurrected": self.resurrected,
            "stale reads": self.stale,
        }
        found = [f"{name}: {len(cases)}, first {cases[0]}" for name, cases in kinds.items() if cases]
        return found if self.acknowledged else [*found, "nothing was acknowledged, which proves nothing"]


@dataclass(slots=True)
class _Partition:
    """The content of the history about one partition."""

    sent: dict[str, tuple[str, int]] = field(default_factory=dict)  # value -> producer, sequence number
    acked: dict[str, int | None] = field(default_factory=dict)  # value -> offset
    failed: set[str] = field(default_factory=set)
    at: dict[int, set[str]] = field(default_factory=lambda: defaultdict(set))  # offset -> values read there
    where: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # value -> offsets read at
    readings: dict[str, Reading] = field(default_factory=lambda: defaultdict(Reading))  # by reader
    excused: set[str] = field(default_factory=set)  # sent before the topic was deleted
    former: set[str] = field(default_factory=set)  # acknowledged by a topic that had the name before

    def producer_of(self, value: str) -> str | None:
        """Return the producer of a value; None for a phantom."""
        return self.sent[value][0] if value in self.sent else None

    def whole(self) -> dict[str, Reading]:
        """Return the readings of readers that read the whole partition, by reader."""
        return {name: reading for name, reading in self.readings.items() if reading.is_whole}


def check(history: Iterable[Op]) -> Verdict:
    """Judge a history, whose ops must be in the order of their times."""
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
        resurrected=tuple(
            Write(tp, min(p.where[value]), value)
            for tp, p in partitions.items()
            for value in sorted(p.former & p.where.keys())
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
                for partition in _of(topic, found):
                    partition.excused |= partition.sent.keys()
            case Created(topic=topic):
                for partition in _of(topic, found):
                    partition.former |= partition.acked.keys()
            case _:
                pass
    return dict(sorted(found.items()))


def _of(topic: str, partitions: Mapping[TopicPartition, _Partition]) -> list[_Partition]:
    return [partition for tp, partition in partitions.items() if tp.topic == topic]


def _missing(
    partitions: Mapping[TopicPartition, _Partition],
) -> tuple[tuple[Write, ...], tuple[Write, ...], tuple[Write, ...]]:
    """Find the lost, the unread and the vanished values."""
    lost, unread, vanished = [], [], []
    for tp, partition in partitions.items():
        readings = partition.whole()
        for value, offset in partition.acked.items():
            if value in partition.excused:
                continue
            # An acknowledged value is lost if some reader of the whole partition did not receive it and got
            # past its place. A value is unread if readers lack it but none got that far, or if no reader
            # read the whole partition.
            lacking = {name: each for name, each in readings.items() if value not in each.values}
            proof = next((name for name, each in lacking.items() if each.proves_missing(offset)), None)
            if proof is not None:
                lost.append(Write(tp, offset, value, proof))
            elif lacking or not readings:
                unread.append(Write(tp, offset, value, next(iter(lacking), None)))
        # A value that was never acknowledged may be in the log or not, but not both: if one reader received
        # it, every other reader that got past its offset must receive it too.
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
        if value not in partition.former
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
    """Find values that follow, in the log, a value that their producer sent later.

    Each is paired with the latest-sent value before it. Of a duplicated value only the first offset counts:
    the second is a duplicate, not a reordering.
    """
    inversions = []
    latest: dict[str, tuple[int, str, int]] = {}  # producer -> highest sequence number so far, value, offset
    # Walk through the log by offset. A value whose sequence number is lower than one seen before from the
    # same producer was overtaken.
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
        if acked_at is not None and value not in partition.former:
            claimed[acked_at].add(value)
    return [
        Inconsistency(tp, offset, tuple(sorted(values)))
        for offset, values in sorted(claimed.items())
        if len(values) > 1
    ]
