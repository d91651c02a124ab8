"""The JSON of what was measured of a scenario, so that the truth can be derived from it again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from barnabas.bench.truth.measured import Deed, Measured
from barnabas.bench.truth.probe import Answer, Answers
from barnabas.bench.truth.scenarios import Action
from barnabas.bench.truth.truths import FailedDisk, Span, Tenure
from barnabas.bench.truth.znodes import Registration, Written, Znodes


def as_json(measured: Measured) -> dict[str, Any]:
    """Convert to JSON."""
    return {
        "window": _texts(measured.window),
        "deeds": [
            [deed.broker, deed.action.value, _texts(deed.gone), deed.returned and _texts(deed.returned)]
            for deed in measured.deeds
        ],
        "registrations": [
            [each.broker, each.session, _text(each.since), each.until and _text(each.until)]
            for each in measured.znodes.registrations
        ],
        "controllers": [[each.broker, each.epoch, _text(each.since)] for each in measured.znodes.controllers],
        "states": {
            name: [[_text(each.time), each.leader, each.epoch, list(each.isr)] for each in states]
            for name, states in measured.znodes.states.items()
            if name in measured.partitions
        },
        "answers": [[broker, name, *map(list, given)] for (broker, name), given in measured.answers.items()],
        "partitions": list(measured.partitions),
        "session_s": measured.session.total_seconds(),
        "min_insync": measured.min_insync,
        "disks": [[each.broker, _texts(each.failed), list(each.partitions)] for each in measured.disks],
    }


def from_json(content: Mapping[str, Any]) -> Measured:
    """Convert from JSON.

    Raises:
        KeyError: A part is missing.
        ValueError: A time or an action is none.
    """
    answers: Answers = {
        (broker, name): [Answer(*each) for each in given] for broker, name, *given in content["answers"]
    }
    return Measured(
        window=_span(content["window"]),
        deeds=[
            Deed(broker, Action(action), _span(gone), returned and _span(returned))
            for broker, action, gone, returned in content["deeds"]
        ],
        znodes=Znodes(
            [
                Registration(broker, session, _time(since), until and _time(until))
                for broker, session, since, until in content["registrations"]
            ],
            [Tenure(broker, epoch, _time(since)) for broker, epoch, since in content["controllers"]],
            {
                name: [Written(_time(time), leader, epoch, tuple(isr)) for time, leader, epoch, isr in states]
                for name, states in content["states"].items()
            },
        ),
        answers=answers,
        partitions=content["partitions"],
        session=timedelta(seconds=content["session_s"]),
        min_insync=content["min_insync"],
        disks=[
            FailedDisk(broker, _span(failed), tuple(partitions))
            for broker, failed, partitions in content["disks"]
        ],
    )


def _text(time: datetime) -> str:
    return time.isoformat(" ")


def _texts(span: Span) -> list[str]:
    return [_text(span.low), _text(span.high)]


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _span(texts: list[str]) -> Span:
    low, high = map(_time, texts)
    return Span(low, high)
