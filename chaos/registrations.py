"""Nemeses of who is who: registrations deleted by hand, and a second process under a broker's id."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence

from barnabas.chaos.arena import Arena, Second
from barnabas.chaos.blows import Blow, names
from barnabas.chaos.waiting import wait_until
from barnabas.chaos.wiping import missing, wipe, wipe_parent
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths

ARRIVAL_TIMEOUT_S = 60.0
"""A process takes seconds to start; a machine that does other work beside gives it more."""

PAUSE_S = 2.0
"""A third of a session; the last ping of a broker that is held may be as old as that."""

_ARRIVES = "Connecting to zookeeper on"
_REGISTERED = "Registered broker"


def wipe_brokers(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Delete the registrations of brokers."""
    return _wipe(arena, [paths.broker(broker) for broker in victims])


def wipe_controller(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    """Delete the registration of the controller as controller."""
    return _wipe(arena, [paths.CONTROLLER])


def wipe_both(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Delete the registrations of brokers, and of the controller as controller."""
    return _wipe(arena, [paths.CONTROLLER, *(paths.broker(broker) for broker in victims)])


def wipe_all(arena: Arena, _: tuple[BrokerId, ...]) -> Blow:
    """Delete all registrations of brokers, and the znode that they stand in."""
    return _blow(arena, wipe_parent(_server(arena), paths.BROKER_IDS))


def _wipe(arena: Arena, znodes: Sequence[str]) -> Blow:
    return _blow(arena, wipe(_server(arena), znodes))


def _blow(arena: Arena, wiped: Sequence[str]) -> Blow:
    def lacking() -> str:
        gone = missing(_server(arena), wiped)
        return f"{', '.join(gone)} did not come back" if gone else ""

    return Blow(f"{', '.join(wiped)} deleted", lambda: None, lacking=lacking)


def _server(arena: Arena) -> str:
    return arena.ensemble.servers[arena.ensemble.leader()].address


def duplicate(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Start a second process under the id of a broker that runs."""
    (broker,) = victims
    second = arena.duplicate(broker)
    return Blow(
        f"a second {names(victims)} was started", lambda: None, lacking=lambda: _unrefused(broker, second)
    )


def duplicate_of_paused(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """Start a second process under a broker's id, and hold the first for a moment when the second arrives.

    The moment ends before the first one's session does: whoever comes later may take its place.
    """
    (broker,) = victims
    second = arena.duplicate(broker)
    try:
        wait_until(
            lambda: second.pid is None or _ARRIVES in second.said(),
            f"the arrival of a second {names(victims)}",
            ARRIVAL_TIMEOUT_S,
        )
    except TimeoutError:
        second.signal(signal.SIGKILL)
        raise
    arena.cluster.pause(broker)
    try:
        time.sleep(PAUSE_S)
    finally:
        arena.cluster.resume(broker)
    return Blow(
        f"a second {names(victims)} was started, SIGSTOP of the first for {PAUSE_S:g} s",
        lambda: None,
        lacking=lambda: _unrefused(broker, second),
    )


def _unrefused(broker: BrokerId, second: Second) -> str:
    """Why the second process cannot be said to be refused, or nothing; one that was registered is ended."""
    if _REGISTERED in second.said():
        second.signal(signal.SIGKILL)
        return f"a second broker {broker} was registered"
    if second.pid is not None:
        return f"a second broker {broker} still runs: {second.last_words()}"
    return "" if second.exit_status else f"a second broker {broker} ended with status {second.exit_status}"
