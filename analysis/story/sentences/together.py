"""The words for several brokers that left: who, why, and from when on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.departures import all_gone, are_overlapping, first_departure
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.sentences.absences import DID, did, shown_cause
from barnabas.analysis.story.words import at, clock, nodes

_NAMED = 5
"""The most nodes that a first sentence names; it counts more."""


def who_left(incident: Incident) -> str:
    """Name the brokers that left, or count them."""
    brokers = sorted({each.broker for each in incident.absences})
    return nodes(brokers, incident.only_controllers) if len(brokers) <= _NAMED else f"{len(brokers)} brokers"


def all_did(incident: Incident) -> str:
    """Tell in a few words what happened to several brokers."""
    causes = {shown_cause(each) for each in incident.absences}
    if incident.kind is IncidentKind.ROLLING_RESTART:
        return "were restarted one after another"
    if len(causes) > 1:
        return "went down" if incident.kind is IncidentKind.WHOLE_CLUSTER else "left"
    return did(incident.absences[0]).replace("was ", "were ")


def when_all(incident: Incident, day: date | None) -> str:
    """Tell when several brokers left and returned, and whether all were gone at once."""
    absences, until = incident.absences, incident.until
    first = f"The first left {at(first_departure(absences), day)}"
    together = ""
    if incident.all_gone is not None:
        is_proven = all_gone(absences, by_silence=False) == incident.all_gone
        shown = "" if is_proven else "as far as the logs show "
        together = f", {shown}all were gone by {clock(incident.all_gone, day)}"
    elif incident.kind is IncidentKind.SEVERAL and are_overlapping(absences):
        together = ", at overlapping times"
    if until is not None:
        return f"{first}{together}; all had returned by {clock(until, day)} ({_how(absences)})"
    away = _away(incident)
    who = f" of {nodes([each.broker for each in away], incident.only_controllers)}" if away else ""
    return f"{first}{together}; the logs show no return{who} ({_how(absences)})"


def _away(incident: Incident) -> list[Absence]:
    """Return the absences, by broker, of which no line shows the end; none if that is so of all."""
    lasts = {each.broker: each for each in sorted(incident.absences, key=begin_of)}
    away = [each for _, each in sorted(lasts.items()) if latest(each.returned) is None]
    return away if len(away) < len(lasts) else []


def _how(absences: Sequence[Absence]) -> str:
    """Return how many brokers left for which reason."""
    causes = [shown_cause(each) for each in absences]
    return ", ".join(f"{causes.count(cause)} {DID[cause]}" for cause in dict.fromkeys(causes))
