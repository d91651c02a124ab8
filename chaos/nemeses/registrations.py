"""Nemeses of registrations: deleted ones, and a second process with a broker's id."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence

from barnabas.chaos.nemeses.faults import InjectedFault, names
from barnabas.chaos.nemeses.wiping import missing, wipe, wipe_parent
from barnabas.chaos.targets.targets import Second, Targets
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths
from barnabas.local.waiting import wait_until

ARRIVAL_TIMEOUT_S = 60.0
"""The longest time for a process to start in seconds; on a busy machine it takes longer."""

PAUSE_S = 2.0
"""The seconds of a pause.

That is a third of a session, and the paused broker's last ping may be a third old.
"""

_ARRIVES = "Connecting to zookeeper on"
_REGISTERED = "Registered broker"


def wipe_brokers(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Delete the registrations of brokers."""
    return _wipe(targets, [paths.broker(broker) for broker in victims])


def wipe_controller(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    """Delete ``/controller``."""
    return _wipe(targets, [paths.CONTROLLER])


def wipe_both(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Delete the registrations of brokers, and ``/controller``."""
    return _wipe(targets, [paths.CONTROLLER, *(paths.broker(broker) for broker in victims)])


def wipe_all(targets: Targets, _: tuple[BrokerId, ...]) -> InjectedFault:
    """Delete all registrations of brokers, and their parent znode."""
    return _wiped_fault(targets, wipe_parent(_server(targets), paths.BROKER_IDS))


def _wipe(targets: Targets, znodes: Sequence[str]) -> InjectedFault:
    return _wiped_fault(targets, wipe(_server(targets), znodes))


def _wiped_fault(targets: Targets, wiped: Sequence[str]) -> InjectedFault:
    def lacking() -> str:
        gone = missing(_server(targets), wiped)
        return f"{', '.join(gone)} did not come back" if gone else ""

    return InjectedFault(f"{', '.join(wiped)} deleted", lambda: None, lacking=lacking)


def _server(targets: Targets) -> str:
    return targets.ensemble.servers[targets.ensemble.leader()].address


def duplicate(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Start a second process with the id of a running broker."""
    (broker,) = victims
    second = targets.duplicate(broker)
    return InjectedFault(
        f"a second {names(victims)} was started", lambda: None, lacking=lambda: _unrefused(broker, second)
    )


def duplicate_of_paused(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Start a second process with a broker's id, and pause the first when the second arrives.

    The pause ends before the first one's session would expire, because after that the second may register.
    """
    (broker,) = victims
    second = targets.duplicate(broker)
    try:
        wait_until(
            lambda: second.pid is None or _ARRIVES in second.said(),
            f"the arrival of a second {names(victims)}",
            ARRIVAL_TIMEOUT_S,
        )
    except TimeoutError:
        second.signal(signal.SIGKILL)
        raise
    targets.cluster.pause(broker)
    try:
        time.sleep(PAUSE_S)
    finally:
        targets.cluster.resume(broker)
    return InjectedFault(
        f"a second {names(victims)} was started, SIGSTOP of the first for {PAUSE_S:g} s",
        lambda: None,
        lacking=lambda: _unrefused(broker, second),
    )


def _unrefused(broker: BrokerId, second: Second) -> str:
    """Return why the second process was not refused; empty if it was. End one that was registered."""
    if _REGISTERED in second.said():
        second.signal(signal.SIGKILL)
        return f"a second broker {broker} was registered"
    if second.pid is not None:
        return f"a second broker {broker} still runs: {second.last_words()}"
    return "" if second.exit_status else f"a second broker {broker} ended with status {second.exit_status}"
