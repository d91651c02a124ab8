"""Rows of the story's input, without logs: times in seconds after ten o'clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Fact, Line, Unknown
from barnabas.analysis.story.rows import BrokerLine, State

LIFE = ("t", 0, 0)


def at(seconds: float) -> datetime:
    return datetime(2026, 11, 21, 10) + timedelta(seconds=seconds)  # noqa: DTZ001


def line(text: str) -> Line:
    return Line("log", 0, 1, text)


def state(
    seconds: float, leader: int, epoch: int | None, isr: tuple[int, ...] | None = None, **more: Any
) -> State:
    """A state of t-0 that a controller decided and its leader logged at that time; ``more`` may differ."""
    known: dict[str, Any] = {
        "decided": at(seconds),
        "first_logged": at(seconds),
        "led_at": at(seconds) if leader >= 0 else None,
        "version": epoch,
        "controller_epoch": 1,
        "was": None,
        "removed": None,
        "replicas": None,
    } | more
    return State(
        topic="t", partition=0, life=0, leader_epoch=epoch, leader=leader, isr=isr,
        line=line(f"{leader} in {epoch}"), **known,
    )  # fmt: skip


def broker_line(seconds: float, kind: str, broker: int = 1, **more: Any) -> BrokerLine:
    return BrokerLine(at(seconds), kind, "broker", broker, broker, line(f"{kind} {seconds}"), **more)


def death(broker: int, gone: float, started: float | None, returned: float | None) -> Absence:
    """A broker that died, was seen to start again, and could lead again after that."""
    return Absence(
        broker=broker,
        gone=Bound(None, at(gone), (line("gone"),)),
        cause=Cause.DIED,
        reason=None,
        has_own_log=True,
        noticed=Unknown("nobody noticed"),
        started=None if started is None else at(started),
        returned=Unknown("no line") if returned is None else Fact(at(returned)),
    )
