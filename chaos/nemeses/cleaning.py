"""The nemesis that kills the process that compacts, while it works (see ``barnabas.broker.cleaning``)."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from barnabas.chaos.nemeses.faults import InjectedFault, names
from barnabas.chaos.targets.targets import Broker, Targets
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.waiting import wait_until

WORKER = b"barnabas.broker.cleaning.worker"
"""The module in the command line of the process."""

WAIT_S = 20.0
"""The seconds for which the process is awaited: it runs only while there is something to compact."""

CLEANED = b" cleaned log "
"""The part of a line in server.log that each finished cleaning has."""


def kill_cleaner(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Send SIGKILL to the process that compacts; a later cleaning of that broker shows that it goes on."""
    broker = targets.cluster.brokers[victims[0]]
    detail = f"SIGKILL the cleaner of {names(victims)}"
    try:
        worker = wait_until(lambda: worker_of(broker), "a process that compacts", WAIT_S)
        cleanings = _cleanings(broker)
        os.kill(worker, signal.SIGKILL)
    except (TimeoutError, ProcessLookupError) as error:
        return InjectedFault(detail, lambda: None, missed=f"there is none: {error}")

    def lacking() -> str:
        return "" if _cleanings(broker) > cleanings else f"a cleaning of {names(victims)} after the kill"

    return InjectedFault(detail, lambda: None, lacking=lacking)


def worker_of(broker: Broker) -> int | None:
    """Return the id of the process that compacts for a broker; None while there is none."""
    with contextlib.suppress(OSError):  # a process has ended meanwhile
        for task in Path(f"/proc/{broker.pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                if WORKER in Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
    return None


def _cleanings(broker: Broker) -> int:
    """Return the number of finished cleanings in a broker's log files."""
    return sum(file.read_bytes().count(CLEANED) for file in (broker.directory / "logs").glob("server.log*"))
