"""The brokers of a metadata log: registrations, fencing and requests to stop become rows of ``events``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.entries import Row
from barnabas.analysis.reading.metadata.segments import Record

_NOBODY = -1
_YES, _NO = 1, -1

NEVER_ASKED_TO_STOP = "a new process registered, and the one before had not asked to stop"
"""The text in the column ``error`` of a new incarnation's registration if the former one died.

It led a partition to the end, and one controller was active all the time. A broker that leads nothing is
fenced at once when it stops (``BrokerHeartbeatManager``), and without a controller no record tells of a stop.
"""

MAY_HAVE_STOPPED = "the controller fences a broker alike that stops at once and that lost its session"
"""The text in the column ``error`` of a record that fences a broker which led nothing.

Its stop is granted at once, and no record says that it asked (``BrokerHeartbeatManager``). Of releases before
3.3 none says so of any broker.
"""

IN_SNAPSHOT = "a snapshot says so"
"""The text in the column ``error`` of an entry that a broker was fenced, or had been before."""

_SESSION_MS = 9_000
"""Kafka's default of ``broker.session.timeout.ms``."""

_WHATEVER_IT_WAS = ("RegisterBrokerRecord", "UnregisterBrokerRecord", "FenceBrokerRecord")
"""The records that say where a broker is, whatever was said of it before."""

Leads = Callable[[int], bool]
"""Says of a broker whether it leads a partition, or has just lost one."""


class _Asked(NamedTuple):
    """The record by which a broker began a controlled shutdown.

    Attributes:
        epoch: The epoch of the controller that wrote it.
        time_ms: When that was, in milliseconds of Unix time; None if a snapshot says so.
    """

    epoch: int
    time_ms: int | None

    def grants(self, record: Record, elected_ms: int | None) -> bool:
        """Return whether the fencing of the broker by a record grants its stop.

        A broker whose session times out meanwhile is fenced by the same record. Its session began again when
        it asked, or when the next controller was elected, so that takes longer.

        Args:
            record: The record.
            elected_ms: When its controller was elected; None if no record says so.
        """
        begin_ms = self.time_ms if self.epoch == record.epoch else elected_ms
        return begin_ms is not None and record.timestamp_ms - begin_ms < _SESSION_MS


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


class Registrations:
    """The brokers of a cluster while its metadata log is read."""

    def __init__(self) -> None:
        self._brokers: dict[int, _Broker] = {}
        self._forgotten: dict[int, str | None] = {}
        self._elected_ms: dict[int, int] = {}

    def elected(self, record: Record) -> None:
        """Apply the record by which a controller was elected."""
        self._elected_ms[record.epoch] = record.timestamp_ms

    def was_lost(self, broker: int) -> bool:
        """Return whether a broker is fenced that had led, and had not asked to stop."""
        known = self._brokers.get(broker)
        return known is not None and known.is_fenced and known.asked is None

    def forget(self) -> None:
        """Forget the states of brokers, because records are missing that may change them.

        What is said of a broker counts again from the next record on by which it leaves or registers. If it
        registers with the same incarnation, the process lived on.
        """
        self._forgotten |= {broker: known.incarnation for broker, known in self._brokers.items()}
        self._brokers.clear()

    def apply(self, record: Record, name: str, fields: dict[str, Any], leads: Leads) -> Iterator[Row]:
        """Apply a record that concerns a broker, and return the rows that it gives.

        Args:
            record: The record.
            name: Its type.
            fields: Its fields.
            leads: Says which brokers lead.
        """
        if self._is_forgotten(name, fields):
            return
        broker = fields.get("brokerId", fields.get("id", _NOBODY))
        epoch = fields.get("brokerEpoch", fields.get("epoch", _NOBODY))
        row: Row = {"subject": broker, "broker_epoch": epoch}
        known = self._brokers.get(
            broker, _Broker(epoch, None, asked=None, is_fenced=False, directories=frozenset())
        )
        directories = _directories(fields)
        match name:
            case "RegisterBrokerRecord":
                yield from self._registered(record, row, known, fields, leads)
                return
            case "UnregisterBrokerRecord":
                self._brokers.pop(broker, None)
                yield row | {"kind": BrokerKind.BROKER_UNREGISTERED.value}
                return
            case "FenceBrokerRecord":
                row |= {"error": MAY_HAVE_STOPPED}
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
            known = replace(known, is_fenced=True, led=leads(broker))
            is_granted = known.asked is not None and known.asked.grants(
                record, self._elected_ms.get(record.epoch)
            )
            kind = BrokerKind.BROKER_STOP_GRANTED if is_granted else BrokerKind.BROKER_FENCED
            may_stop = known.asked is None and not known.led
            yield row | {"kind": kind.value} | ({"error": MAY_HAVE_STOPPED} if may_stop else {})
        elif fields.get("fenced") == _NO:
            known = replace(known, is_fenced=False)
            yield row | {"kind": BrokerKind.BROKER_UNFENCED.value}
        if "logDirs" in fields:
            lost = sorted(known.directories - directories)
            known = replace(known, directories=directories)
            if lost:
                yield row | {"kind": BrokerKind.DIRECTORY_FAILED.value, "error": ", ".join(lost)}
        self._brokers[broker] = known

    def _registered(
        self, record: Record, row: Row, known: _Broker, fields: dict[str, Any], leads: Leads
    ) -> Iterator[Row]:
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
        led = known.led if known.is_fenced else leads(broker)
        if is_restarted and known.asked is None and led and known.told_by == record.epoch:
            row |= {"error": NEVER_ASKED_TO_STOP}
        if not is_again:
            yield row

    def _is_forgotten(self, name: str, fields: dict[str, Any]) -> bool:
        broker = fields.get("brokerId", fields.get("id", _NOBODY))
        is_known = broker in self._brokers or broker not in self._forgotten
        is_leaving = _YES in (fields.get("fenced"), fields.get("inControlledShutdown"))
        return not (is_known or is_leaving or name in _WHATEVER_IT_WAS)


def _directories(fields: dict[str, Any]) -> frozenset[str]:
    return frozenset(fields.get("logDirs") or ())
