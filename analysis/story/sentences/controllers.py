"""The words for a change of the controller, and for a time without one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from barnabas.analysis.story.controllers import ControllerChange, Vacancy
from barnabas.analysis.story.words import clock, node


def became(change: ControllerChange, only: Collection[int]) -> str:
    """Tell in a few words which node became controller after which."""
    role = "active controller" if change.new.broker in only else "controller"
    return f"{node(change.new.broker, only)} became {role} after {node(change.former, only).lower()}"


def elected(change: ControllerChange, day: date | None, only: Collection[int]) -> str:
    """Tell which node became controller, when, and after whom."""
    new = change.new
    role = "active controller" if new.broker in only else "controller"
    return (
        f"{node(new.broker, only)} was elected {role} in epoch {new.epoch} by {clock(new.since, day)}, "
        f"after {node(change.former, only).lower()}{_unseen(change)}"
    )


def _unseen(change: ControllerChange) -> str:
    """Return which controller epochs lie between two controllers, if any do."""
    if not change.unseen:
        return ""
    first, last = change.new.epoch - change.unseen, change.new.epoch - 1
    between = f"epoch {first}" if first == last else f"epochs {first} to {last}"
    return f" in epoch {first - 1}; no line names a controller of {between}"


def vacant(vacancy: Vacancy, day: date | None) -> str:
    """Tell from when to when the cluster had no active controller, which no partition can do without."""
    since, costs = clock(vacancy.since, day), "without one no partition gets another leader"
    if vacancy.until is None:
        return f"From {since} on no line shows an active controller; {costs}"
    return f"No line shows an active controller between {since} and {clock(vacancy.until, day)}; {costs}"
