"""The words for a change of the controller, and for a time without one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from barnabas.analysis.story.controllers import ControllerChange, Vacancy
from barnabas.analysis.story.words import clock, node, nodes


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


def vacant(vacancy: Vacancy, day: date | None, only: Collection[int]) -> str:
    """Tell when the cluster had no active controller, or some nodes knew of none."""
    why = ""
    if vacancy.lost_majority is not None:
        why = f": {node(vacancy.lost_majority, only).lower()} had lost the majority of the voters"
    if vacancy.until is None:
        return f"From {clock(vacancy.since, day)} on no line shows an active controller{why}"
    when = f"between {clock(vacancy.since, day)} and {clock(vacancy.until, day)}"
    if vacancy.known_to:
        who = nodes(vacancy.known_to, only)
        return f"{who[0].upper()}{who[1:]} knew of no active controller {when}"
    return f"No line shows an active controller {when}{why}"
