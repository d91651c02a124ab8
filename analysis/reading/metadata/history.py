"""The history of a metadata log: each record that concerns brokers or partitions becomes rows of ``events``.

A PartitionRecord sets a partition's state. A PartitionChangeRecord replaces what it carries, raises the
partition epoch by one, and the leader epoch by one if and only if it carries a leader
(``PartitionRegistration.merge``). Records of a transaction count when it ends, and never if it is aborted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from barnabas.analysis.reading.events.broker_kinds import SETTINGS_READ, BrokerKind
from barnabas.analysis.reading.events.entries import Entry, Row
from barnabas.analysis.reading.events.kinds import CompanionKind, Election
from barnabas.analysis.reading.metadata.registrations import IN_SNAPSHOT, Registrations
from barnabas.analysis.reading.metadata.schemas import Cursor, decode
from barnabas.analysis.reading.metadata.segments import Record
from barnabas.cluster.model.statechange import Kind

_LEADER_CHANGE, _SNAPSHOT_HEADER = 2, 3
_HEADER_BYTES = 10
"""The version of a snapshot's header, and the time of its last record."""

_NOBODY = -1

_AT_ONCE_MS = 100
"""The most time between records of one decision."""

_RECOVERING = 1
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


class History:
    """The state of a cluster while its metadata log is read."""

    def __init__(self) -> None:
        self._controllers: dict[int, int] = {}
        self._topics: dict[str, str] = {}
        self._partitions: dict[tuple[str, int], _Partition] = {}
        self._registrations = Registrations()
        self._lost: dict[int, int] = {}
        self._snapshot_ms: int | None = None
        self._held: list[tuple[Record, str, dict[str, Any]]] | None = None

    def forget(self) -> None:
        """Forget the states of partitions and brokers, because records are missing that may change them."""
        self._partitions.clear()
        self._registrations.forget()
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

    def unled(self, begin: int, epoch: int) -> Iterator[Entry]:
        """Return the entries about partitions that had no leader when a snapshot was made, if it says when.

        So do their last leaders get one that were fenced then.

        Args:
            begin: The offset below which it holds all records.
            epoch: The epoch of the last of these.
        """
        if self._snapshot_ms is None:
            return
        last = Record(begin - 1, epoch, self._snapshot_ms, None, b"")
        found: list[tuple[str, Row, Row]] = []
        lost: dict[int, None] = {}
        for place, state in self._partitions.items():
            where = self._where(*place)
            if state.leader == _NOBODY and where is not None:
                # The last replica in sync stays in the ISR, and led until then.
                alone = state.isr[0] if len(state.isr) == 1 else None
                if alone is not None and self._registrations.was_lost(alone):
                    lost[alone] = None
                row = where | state.columns() | {"kind": Kind.METADATA_CACHED.value, "replica": alone}
                shown: Row = {
                    "partitionId": place[1],
                    "topicId": place[0],
                    "isr": state.isr,
                    "leader": _NOBODY,
                }
                found.append(("PartitionRecord", shown, row))
        for broker in lost:
            row = {"kind": BrokerKind.BROKER_FENCED.value, "subject": broker, "error": IN_SNAPSHOT}
            found.append(("RegisterBrokerRecord", {"brokerId": broker, "fenced": True}, row))
        for index, (name, fields, row) in enumerate(found):
            # Each needs a line of its own, and there is at least one offset for each of them.
            yield replace(self._entry(last, name, {"snapshot": True, **fields}, row), line=begin - index)

    def _control(self, record: Record) -> Iterator[Entry]:
        if record.control == _SNAPSHOT_HEADER and len(record.value) >= _HEADER_BYTES:
            self._snapshot_ms = int.from_bytes(Cursor(record.value, 2).take(8), "big", signed=True)
        if record.control != _LEADER_CHANGE:
            return
        leader = int.from_bytes(Cursor(record.value, 2).take(4), "big", signed=True)
        self._controllers[record.epoch] = leader
        self._registrations.elected(record)
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
                leads = partial(self._leads, record=record)
                rows = self._registrations.apply(record, name, fields, leads)
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

    def _leads(self, broker: int, *, record: Record) -> bool:
        """Return whether a broker leads a partition, or has just lost one at the time of a record."""
        is_leader = any(state.leader == broker for state in self._partitions.values())
        lost_ms = self._lost.get(broker)
        return is_leader or (lost_ms is not None and record.timestamp_ms - lost_ms <= _AT_ONCE_MS)


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
