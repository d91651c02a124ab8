"""The story of a scenario from its logs alone, without Spark: a row for each line.

Spark merges the lines of one state before the incident model gets them (``analysis.derived.states``); here
each line is a state of its own, which must lead to the same story.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from barnabas.analysis.reading.blocks import BlockReader, Origin
from barnabas.analysis.reading.broker_kinds import BrokerKind
from barnabas.analysis.reading.companions import CompanionKind
from barnabas.analysis.reading.kinds import OtherKind
from barnabas.analysis.reading.times import Clock
from barnabas.analysis.story.observed import (
    BrokerLine,
    Controller,
    Mark,
    Observed,
    State,
    broker_line,
    line_of,
    seconds,
    state,
)
from barnabas.cluster.model.statechange import Kind

Row = dict[str, Any]

_DECISIONS = (Kind.PARTITION_ONLINE, Kind.ISR_REMOVAL)
_STATES = (
    *_DECISIONS, Kind.LEADER_AND_ISR_SENDING, Kind.LEADER_AND_ISR_RECEIVED, Kind.METADATA_CACHED,
    Kind.LEADER_STARTS, Kind.FOLLOWER_STARTS, OtherKind.UPDATE_METADATA_SENDING, CompanionKind.ISR_UPDATED,
)  # fmt: skip
_OFFLINE = ("OfflinePartition", "Offline")
_OWNER = re.compile(r"broker-(\d+)/")


def read(logs: Mapping[str, str]) -> list[Row]:
    """Read logs by name; a name such as ``broker-1/server.log`` gives the broker."""
    rows: list[Row] = []
    for name, text in logs.items():
        owner = _OWNER.match(name)
        broker = None if owner is None else int(owner[1])
        origin = Origin(name, 0, 1, broker)
        reader = BlockReader(Clock(UTC), _always(broker))
        rows.extend(reader.read(text.encode(), origin).rows.to_pylist())
    return rows


def _always(broker: int | None) -> Callable[[str], int | None]:
    return lambda _: broker


def observed(rows: Sequence[Row], min_insync: int | None = None) -> Observed:
    """Return what rows of ``events`` show, as ``analysis.questions.story`` does for Spark's tables."""
    dated = [row for row in rows if row["time"] is not None]
    spoken: dict[int, list[datetime]] = {}
    first: dict[tuple[int, int], datetime] = {}
    for row in dated:
        if row["broker"] is not None:
            spoken.setdefault(row["broker"], []).append(row["time"])
        if row["controller"] is not None and row["controller_epoch"] is not None:
            key = row["controller_epoch"], row["controller"]
            if row["role"] == "controller" or key not in first:
                first[key] = min(first.get(key, row["time"]), row["time"])
    return Observed(
        brokers=[line for row in dated for line in _about_brokers(row)],
        states=_with_epochs([each for row in dated for each in _states(row)]),
        marks=[each for row in dated for each in _marks(row)],
        controllers=[
            Controller(who, epoch, since)
            for (epoch, who), since in sorted(first.items(), key=lambda each: each[1])
        ],
        spoken={broker: seconds(times) for broker, times in spoken.items()},
        min_insync=min_insync,
    )


def _about_brokers(row: Row) -> list[BrokerLine]:
    if row["kind"] in {*BrokerKind, CompanionKind.CONTROLLER_ELECTED}:
        return [broker_line(row)]
    if row["role"] != "controller":
        return []
    if row["kind"] in (Kind.LEADER_AND_ISR_BATCH, Kind.LEADER_AND_ISR_SENDING):
        return [broker_line(row | {"subject": target}) for target in row["targets"] or ()]
    is_offline = row["kind"] in (Kind.ISR_REMOVAL, Kind.REPLICAS_OFFLINE) or (
        row["kind"] == Kind.REPLICA_CHANGE and row["to"] == "OfflineReplica"
    )
    return [broker_line(row | {"subject": row["replica"]})] if is_offline else []


def _states(row: Row) -> list[State]:
    if row["kind"] not in _STATES or row["topic"] is None:
        return []
    leader = row["broker"] if row["kind"] == Kind.LEADER_STARTS else row["leader"]
    if leader is None or leader < -1:
        return []
    if row["leader_epoch"] is None and row["kind"] not in (Kind.PARTITION_ONLINE, CompanionKind.ISR_UPDATED):
        return []
    is_decision = row["kind"] in _DECISIONS
    return [
        state(
            row
            | {
                "life": 0,
                "leader": leader,
                "decided": row["time"] if is_decision else None,
                "first_logged": row["time"],
                "led_at": row["time"] if row["kind"] == Kind.LEADER_STARTS else None,
                "removed": row["replica"] if row["kind"] == Kind.ISR_REMOVAL and leader == -1 else None,
            }
        )
    ]


def _with_epochs(states: Sequence[State]) -> list[State]:
    """Add the epoch of the leader that changed the ISR, which its line in server.log lacks."""
    known: dict[tuple[str, int], list[State]] = {}
    for each in states:
        if each.leader_epoch is not None and each.version is not None:
            known.setdefault((each.topic, each.partition), []).append(each)
    for found in known.values():
        found.sort(key=_version)
    has_epochs = any(each.leader_epoch is not None for each in states)
    return [with_epoch for each in states for with_epoch in _with_epoch(each, known, has_epochs=has_epochs)]


def _with_epoch(
    each: State, known: Mapping[tuple[str, int], Sequence[State]], *, has_epochs: bool
) -> Iterable[State]:
    if each.leader_epoch is not None or each.version is None or not has_epochs:
        return (each,)
    before = known.get((each.topic, each.partition), ())
    index = bisect_left(before, each.version, key=_version)
    if not index or before[index - 1].leader != each.leader:
        return ()
    return (each._replace(leader_epoch=before[index - 1].leader_epoch),)


def _version(each: State) -> int:
    return each.version or 0


def _marks(row: Row) -> list[Mark]:
    if row["role"] != "controller" or row["topic"] is None:
        return []
    failed = row["kind"] == Kind.PARTITION_CHANGE_FAILED and row["from"] in (*_OFFLINE, "NewPartition", "New")
    down = row["kind"] == Kind.PARTITION_DOWN and row["to"] in _OFFLINE
    if not failed and not down:
        return []
    reason = (row["trace"] or row["error"] or "no reason given").split("\n")[0] if failed else None
    return [
        Mark(row["topic"], row["partition"], 0, row["time"], row["controller_epoch"], reason, line_of(row))
    ]
