"""The history of a metadata log: each record that concerns brokers or partitions becomes rows of ``events``.

A PartitionRecord sets a partition's state. A PartitionChangeRecord replaces what it carries, raises the
partition epoch by one, and the leader epoch by one if and only if it carries a leader
(``PartitionRegistration.merge``). Records of a transaction count when it ends, and never if it is aborted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.analysis.reading.events.broker_kinds import SETTINGS_READ, BrokerKind
from barnabas.analysis.reading.events.entries import Entry, Row
from barnabas.analysis.reading.events.kinds import CompanionKind, Election
from barnabas.analysis.reading.files.encodings import DamagedError
from barnabas.analysis.reading.metadata.schemas import Cursor, MetadataError, decode
from barnabas.analysis.reading.metadata.segments import (
    Batch,
    Record,
    batches,
    records,
    segments_of,
    snapshot_of,
)
from barnabas.cluster.model.statechange import Kind

_LEADER_CHANGE = 2
_NOBODY = -1
_YES, _NO = 1, -1

NEVER_ASKED_TO_STOP = "a new process registered, and the one before had not asked to stop"
"""The text in the column ``error`` of a new incarnation's registration if the former one died.

It led a partition to the end, and one controller was active all the time. A broker that leads nothing is
fenced at once when it stops (``BrokerHeartbeatManager``), and nobody hears of a stop without a controller.
"""

_SESSION_MS = 9_000
"""Kafka's default of ``broker.session.timeout.ms``."""

_AT_ONCE_MS = 100
"""The most time between records of one decision."""

_RECOVERING = 1
_ENTRIES = 10_000
_BROKER_SETTINGS, _TOPIC_SETTINGS = 4, 2


@dataclass(frozen=True, slots=True)
class _Partition:
    leader: int
    leader_epoch: int
    version: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    eligible: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    def columns(self) -> Row:
        return {
            "leader": self.leader, "leader_epoch": self.leader_epoch, "version": self.version,
            "isr": self.isr, "replicas": self.replicas, "adding": self.adding, "removing": self.removing,
        }  # fmt: skip


class _Asked(NamedTuple):
    """The record by which a broker began a controlled shutdown.

    Attributes:
        epoch: The epoch of the controller that wrote it.
        time_ms: When that was, in milliseconds of Unix time; None if a snapshot says so.
    """

    epoch: int
    time_ms: int | None

    def grants(self, record: Record) -> bool:
        """Return whether the fencing of the broker by a record grants its stop.

        A broker whose session times out meanwhile is fenced by the same record. Its session began again when
        it asked, so that takes longer.
        """
        if self.time_ms is None or self.epoch != record.epoch:
            return False
        return record.timestamp_ms - self.time_ms < _SESSION_MS


@dataclass(frozen=True, slots=True)
class _Broker:
    """A broker by the records so far.

    Attributes:
        epoch: Its broker epoch.
        incarnation: The id of its process; None if no record has it.
        asked: Its request to stop; None if it has not asked.
        is_fenced: Whether it is fenced.
        directories: The ids of its log directories.
        told_by: The epoch of the controller that last unfenced it; None if no record says so. Of a release
            that does not record requests to stop it is None, too.
        led: Whether it led a partition when it was fenced.
    """

    epoch: int
    incarnation: str | None
    asked: _Asked | None
    is_fenced: bool
    directories: frozenset[str]
    told_by: int | None = None
    led: bool = False


class History:
    """The state of a cluster while its metadata log is read."""

    def __init__(self) -> None:
        self._controllers: dict[int, int] = {}
        self._topics: dict[str, str] = {}
        self._partitions: dict[tuple[str, int], _Partition] = {}
        self._brokers: dict[int, _Broker] = {}
        self._forgotten: dict[int, str | None] = {}
        self._lost: dict[int, int] = {}
        self._held: list[tuple[Record, str, dict[str, Any]]] | None = None

    def forget(self) -> None:
        """Forget the states of partitions and brokers, because records are missing that may change them.

        What is said of a broker counts again from its next registration on. If that has the same incarnation,
        the process lived on.
        """
        self._partitions.clear()
        self._forgotten |= {broker: known.incarnation for broker, known in self._brokers.items()}
        self._brokers.clear()
        self._held = None

    def entries(self, record: Record) -> Iterator[Entry]:
        """Apply a record, and return the entries that it gives.

        Raises:
            MetadataError: The record cannot be read.
        """
        if record.control is not None:
            yield from self._control(record)
            return
        found = decode(record.value)
        if found is None:
            return
        name, fields = found
        match name:
            case "BeginTransactionRecord":
                self._held = []
            case "AbortTransactionRecord":
                self._held = None
            case "EndTransactionRecord":
                held, self._held = self._held or [], None
                for each in held:
                    yield from self._apply(*each)
            case _ if self._held is not None:
                self._held.append((record, name, fields))
            case _:
                yield from self._apply(record, name, fields)

    def _control(self, record: Record) -> Iterator[Entry]:
        if record.control != _LEADER_CHANGE:
            return
        leader = int.from_bytes(Cursor(record.value, 2).take(4), "big", signed=True)
        self._controllers[record.epoch] = leader
        row = {"kind": BrokerKind.CONTROLLER_ACTIVE.value, "subject": leader}
        yield self._entry(record, "LeaderChangeMessage", {"leaderId": leader}, row)

    def _apply(self, record: Record, name: str, fields: dict[str, Any]) -> Iterator[Entry]:
        match name:
            case "TopicRecord":
                self._topics[fields["topicId"]] = fields["name"]
                rows: Iterator[Row] = iter(())
            case "RemoveTopicRecord":
                rows = self._topic_removed(fields["topicId"])
            case "PartitionRecord":
                rows = self._partition_created(fields)
            case "PartitionChangeRecord":
                rows = self._partition_changed(record, fields)
            case "ConfigRecord":
                rows = _setting(fields)
            case _:
                rows = iter(()) if self._is_forgotten(name, fields) else self._broker(record, name, fields)
        for row in rows:
            yield self._entry(record, name, fields, row)

    def _entry(self, record: Record, name: str, fields: dict[str, Any], row: Row) -> Entry:
        known: Row = {"understood": True, "role": "controller", "controller_epoch": record.epoch}
        if record.epoch in self._controllers:
            known["controller"] = self._controllers[record.epoch]
        raw = json.dumps({"offset": record.offset, "controllerEpoch": record.epoch, "type": name, **fields})
        return Entry(record.timestamp_ms * 1000, record.offset + 1, raw, known | row)

    def _partition_created(self, fields: dict[str, Any]) -> Iterator[Row]:
        place = (fields["topicId"], fields["partitionId"])
        is_new = place not in self._partitions
        state = _Partition(
            fields["leader"], fields["leaderEpoch"], fields["partitionEpoch"], tuple(fields["isr"] or ()),
            tuple(fields["replicas"] or ()), tuple(fields.get("eligibleLeaderReplicas") or ()),
            tuple(fields.get("addingReplicas") or ()), tuple(fields.get("removingReplicas") or ()),
        )  # fmt: skip
        self._partitions[place] = state
        where = self._where(*place)
        if where is None:
            return
        if is_new and state.version > 0:
            # A migration copies the states in ZooKeeper (KIP-866); who decided them, and when, is not here.
            yield where | state.columns() | {"kind": Kind.METADATA_CACHED.value}
            return
        if is_new:
            yield where | {
                "kind": Kind.PARTITION_NEW.value, "from": "NonExistentPartition", "to": "NewPartition",
                "replicas": state.replicas,
            }  # fmt: skip
        yield where | state.columns() | _decision(state, "NewPartition" if is_new else "OnlinePartition")

    def _partition_changed(self, record: Record, fields: dict[str, Any]) -> Iterator[Row]:
        place = (fields["topicId"], fields["partitionId"])
        before, where = self._partitions.get(place), self._where(*place)
        if before is None or where is None:
            # The record that created it is older than the files; a change alone is no state.
            return
        isr, replicas = fields.get("isr"), fields.get("replicas")
        eligible = fields.get("eligibleLeaderReplicas")
        adding, removing = fields.get("addingReplicas"), fields.get("removingReplicas")
        state = replace(
            before,
            leader=fields.get("leader", before.leader),
            leader_epoch=before.leader_epoch + ("leader" in fields),
            version=before.version + 1,
            isr=before.isr if isr is None else tuple(isr),
            replicas=before.replicas if replicas is None else tuple(replicas),
            eligible=before.eligible if eligible is None else tuple(eligible),
            adding=before.adding if adding is None else tuple(adding),
            removing=before.removing if removing is None else tuple(removing),
        )
        self._partitions[place] = state
        if "leader" in fields:
            self._lost[before.leader] = record.timestamp_ms
            was = "OfflinePartition" if before.leader == _NOBODY else "OnlinePartition"
            yield where | state.columns() | _decision(state, was) | _election(before, state.leader, fields)
        else:
            yield where | state.columns() | {"kind": CompanionKind.ISR_UPDATED.value}

    def _topic_removed(self, topic_id: str) -> Iterator[Row]:
        gone = [place for place in self._partitions if place[0] == topic_id]
        for place in sorted(gone, key=lambda place: place[1]):
            del self._partitions[place]
            where = self._where(*place)
            if where is not None:
                yield where | {
                    "kind": Kind.PARTITION_DOWN.value,
                    "from": "OfflinePartition",
                    "to": "NonExistentPartition",
                }
        self._topics.pop(topic_id, None)

    def _where(self, topic_id: str, partition: int) -> Row | None:
        topic = self._topics.get(topic_id)
        return None if topic is None else {"topic": topic, "partition": partition, "topic_id": topic_id}

    def _leads(self, broker: int, record: Record) -> bool:
        """Return whether a broker leads a partition, or has just lost one at the time of a record."""
        is_leader = any(state.leader == broker for state in self._partitions.values())
        lost_ms = self._lost.get(broker)
        return is_leader or (lost_ms is not None and record.timestamp_ms - lost_ms <= _AT_ONCE_MS)

    def _is_forgotten(self, name: str, fields: dict[str, Any]) -> bool:
        broker = fields.get("brokerId", fields.get("id", _NOBODY))
        return name != "RegisterBrokerRecord" and broker in self._forgotten

    def _broker(self, record: Record, name: str, fields: dict[str, Any]) -> Iterator[Row]:
        broker = fields.get("brokerId", fields.get("id", _NOBODY))
        epoch = fields.get("brokerEpoch", fields.get("epoch", _NOBODY))
        row: Row = {"subject": broker, "broker_epoch": epoch}
        known = self._brokers.get(
            broker, _Broker(epoch, None, asked=None, is_fenced=False, directories=frozenset())
        )
        directories = _directories(fields)
        match name:
            case "RegisterBrokerRecord":
                yield from self._registered(record, row, known, fields)
                return
            case "UnregisterBrokerRecord":
                self._brokers.pop(broker, None)
                yield row | {"kind": BrokerKind.BROKER_UNREGISTERED.value}
                return
            case "FenceBrokerRecord":
                fields = {"fenced": _YES}
            case "UnfenceBrokerRecord":
                fields = {"fenced": _NO}
            case "BrokerRegistrationChangeRecord" if fields.get("fenced") == _NO:
                known = replace(known, told_by=record.epoch)
        if fields.get("inControlledShutdown") == _YES:
            known = replace(known, asked=_Asked(record.epoch, record.timestamp_ms))
            yield row | {"kind": BrokerKind.BROKER_STOP_ASKED.value}
        if fields.get("fenced") == _YES and not known.is_fenced:
            # The controller fences a broker when it grants its stop, or when its session times out. A new
            # controller fences again the brokers that send it no heartbeats.
            known = replace(known, is_fenced=True, led=self._leads(broker, record))
            is_granted = known.asked is not None and known.asked.grants(record)
            kind = BrokerKind.BROKER_STOP_GRANTED if is_granted else BrokerKind.BROKER_FENCED
            yield row | {"kind": kind.value}
        elif fields.get("fenced") == _NO:
            known = replace(known, is_fenced=False)
            yield row | {"kind": BrokerKind.BROKER_UNFENCED.value}
        if "logDirs" in fields:
            lost = sorted(known.directories - directories)
            known = replace(known, directories=directories)
            if lost:
                yield row | {"kind": BrokerKind.DIRECTORY_FAILED.value, "error": ", ".join(lost)}
        self._brokers[broker] = known

    def _registered(self, record: Record, row: Row, known: _Broker, fields: dict[str, Any]) -> Iterator[Row]:
        broker, incarnation = row["subject"], fields["incarnationId"]
        is_leaving = bool(fields.get("inControlledShutdown"))
        is_again = incarnation in (known.incarnation, self._forgotten.pop(broker, None))
        is_restarted = known.incarnation is not None and not is_again
        self._brokers[broker] = _Broker(
            row["broker_epoch"],
            incarnation,
            asked=_Asked(record.epoch, None) if is_leaving else None,
            is_fenced=bool(fields.get("fenced")),
            directories=_directories(fields),
        )
        row = row | {"kind": BrokerKind.BROKER_REGISTERED.value, "incarnation": incarnation}
        led = known.led if known.is_fenced else self._leads(broker, record)
        if is_restarted and known.asked is None and led and known.told_by == record.epoch:
            row |= {"error": NEVER_ASKED_TO_STOP}
        if not is_again:
            yield row


def read_log(segment: Path) -> Iterator[list[Entry]]:
    """Read the whole metadata log to which a segment belongs, some thousand entries at a time.

    A snapshot gives the state before the first segment; it gives no entries, because it does not say when
    anything happened.

    Raises:
        OSError: A file cannot be read; the entries returned before are valid.
        DamagedError: A file is torn or damaged; likewise.
    """
    history = History()
    snapshot = snapshot_of(segment.parent)
    begin = 0
    if snapshot is not None:
        begin, path = snapshot
        for _ in _read(path, history, 0, None):
            pass
    offsets = _Offsets(begin)
    found: list[Entry] = []
    damage = None
    entries = chain.from_iterable(
        _read(path, history, begin, offsets) for path in segments_of(segment.parent)
    )
    while True:
        try:
            entry = next(entries, None)
        except (OSError, DamagedError) as error:
            # Return the entries before the damage first, and raise the error at the end.
            entry, damage = None, error
        if entry is None:
            break
        found.append(entry)
        if len(found) >= _ENTRIES:
            yield found
            found = []
    if found:
        yield found
    if offsets.missing:
        reasons = [*offsets.missing, *(() if damage is None else (str(damage),))]
        raise DamagedError("; ".join(reasons)) from damage
    if damage is not None:
        raise damage


class _Offsets:
    """The offsets of the records that were read, without which states cannot be computed.

    Every record of the log has an offset, also those without content that an idle controller writes.

    Args:
        begin: The offset of the first record that is needed.
    """

    def __init__(self, begin: int) -> None:
        self._next = begin
        self._last_ms: int | None = None
        self.missing: list[str] = []

    def reach(self, batch: Batch) -> Entry | None:
        """Return the entry that stands for the records which are missing before a batch; None if none are."""
        first, last_ms = self._next, self._last_ms
        self._next, self._last_ms = max(first, batch.next_offset), batch.timestamp_ms
        if batch.offset <= first:
            return None
        text = f"the records at the offsets {first} to {batch.offset - 1} are missing"
        self.missing.append(f"{text}; of what was known before them nothing is taken for granted after them")
        row: Row = {
            "understood": True,
            "role": "controller",
            "kind": BrokerKind.RECORDS_MISSING.value,
        }
        if last_ms is not None:
            row["duration_ms"] = max(batch.timestamp_ms - last_ms, 0)
        return Entry(batch.timestamp_ms * 1000, first + 1, text, row)


def _read(path: Path, history: History, begin: int, offsets: _Offsets | None) -> Iterator[Entry]:
    try:
        with path.open("rb") as file:
            for batch in batches(file):
                missing = None if offsets is None else offsets.reach(batch)
                if missing is not None:
                    history.forget()
                    yield missing
                for record in records(batch):
                    if record.offset >= begin:
                        yield from history.entries(record)
    except MetadataError as error:
        raise DamagedError(f"{path.name}: {error}") from error


def _directories(fields: dict[str, Any]) -> frozenset[str]:
    return frozenset(fields.get("logDirs") or ())


def _decision(state: _Partition, before: str) -> Row:
    if state.leader == _NOBODY:
        return {"kind": Kind.ISR_REMOVAL.value}
    return {"kind": Kind.PARTITION_ONLINE.value, "from": before, "to": "OnlinePartition"}


def _election(before: _Partition, leader: int, fields: dict[str, Any]) -> Row:
    """Return how a change elects a leader, from the state before it (``PartitionChangeBuilder``)."""
    if leader == _NOBODY:
        return {}
    if fields.get("leaderRecoveryState") == _RECOVERING:
        return {"election": Election.UNCLEAN.value}
    if leader in before.isr:
        return {"election": Election.CLEAN.value}
    is_eligible = leader in before.eligible
    return {"election": (Election.ELIGIBLE if is_eligible else Election.UNCLEAN).value}


def _setting(fields: dict[str, Any]) -> Iterator[Row]:
    if fields["name"] not in SETTINGS_READ:
        return
    value = fields["value"]
    row: Row = {
        "kind": BrokerKind.CONFIGURED.value,
        "settings": (f"{fields['name']}={'' if value is None else value}",),
    }
    if fields["resourceType"] == _TOPIC_SETTINGS:
        yield row | {"topic": fields["resourceName"]}
    elif fields["resourceType"] == _BROKER_SETTINGS:
        name = fields["resourceName"]
        yield row | ({"subject": int(name)} if name.isdecimal() else {})
