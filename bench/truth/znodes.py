"""ZooKeeper's history of a scenario: registrations, controllers and partition states, with their times. Pure.

ZooKeeper's transaction log has all of them with the server's clock, so nothing has to watch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.bench.truth.truths import Tenure
from barnabas.chaos.checker.txn_log import Change, Txn, ZnodeChange
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.brokers import decode_controller, decode_controller_epoch
from barnabas.cluster.zk.schema.topics import decode_state

_REGISTRATION = re.compile(rf"{re.escape(paths.BROKER_IDS)}/(\d+)")
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (the logs' times have no zone)


@dataclass(slots=True)
class Registration:
    """A broker's registration.

    Attributes:
        broker: The broker.
        session: The session that owns it.
        since: When it was created.
        until: When it was deleted or its session ended; None if it stands.
    """

    broker: int
    session: int
    since: datetime
    until: datetime | None = None


class Written(NamedTuple):
    """A partition's state, as it was written.

    Attributes:
        time: When.
        leader: The leader; -1 for none.
        epoch: The leader epoch.
        isr: The in-sync replicas.
    """

    time: datetime
    leader: int
    epoch: int
    isr: tuple[int, ...]


@dataclass(slots=True)
class Znodes:
    """The history.

    Attributes:
        registrations: All registrations by the time of their creation.
        controllers: All controllers by time.
        states: The states of each partition by time.
    """

    registrations: list[Registration] = field(default_factory=list)
    controllers: list[Tenure] = field(default_factory=list)
    states: dict[str, list[Written]] = field(default_factory=dict)

    def controller_at(self, time: datetime) -> int | None:
        """Return the controller last elected before a moment; None if there was none."""
        elected = [each.broker for each in self.controllers if each.since <= time]
        return elected[-1] if elected else None


def znodes(txns: Iterable[Txn]) -> Znodes:
    """Collect the history from all transactions since the first one."""
    found = Znodes()
    epoch = 0
    for txn in txns:
        time = moment(txn.time_ms)
        elected: int | None = None
        for change in txn.changes:
            if change.path == paths.CONTROLLER_EPOCH and change.change is not Change.DELETE:
                epoch = decode_controller_epoch(change.data)
            elif change.path == paths.CONTROLLER and change.change is Change.CREATE:
                elected = decode_controller(change.data).broker
            _add(found, change, txn.session, time)
        if elected is not None:
            found.controllers.append(Tenure(elected, epoch, time))
        if txn.closes_session:
            for each in found.registrations:
                if each.session == txn.session and each.until is None:
                    each.until = time
    return found


def moment(ms: int) -> datetime:
    """Return the moment of a number of milliseconds since 1970, as the logs of a machine in UTC write it."""
    return _EPOCH + timedelta(milliseconds=ms)


def _add(found: Znodes, change: ZnodeChange, session: int, time: datetime) -> None:
    mine = _REGISTRATION.fullmatch(change.path)
    if mine is not None and change.change is not Change.SET:
        broker = int(mine[1])
        for each in found.registrations:
            if each.broker == broker and each.until is None:
                each.until = time
        if change.change is Change.CREATE:
            found.registrations.append(Registration(broker, session, time))
    tp = paths.partition_of_state(change.path)
    if tp is not None and change.change is not Change.DELETE:
        state = decode_state(tp, change.data, 0).leader_and_isr
        written = Written(time, state.leader, state.leader_epoch, tuple(state.isr))
        found.states.setdefault(str(tp), []).append(written)
