"""The first sentence about several brokers that left: who, why, and from when on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import NamedTuple

from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.causes import ORDERLY, Cause
from barnabas.analysis.story.certainty import Fact, latest
from barnabas.analysis.story.departures import all_gone, are_overlapping, first_departure
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.sentences.absences import failed_start, failed_to_start
from barnabas.analysis.story.words import at, clock, nodes

_NAMED = 3
"""The most departures of which each is named with its cause; more are counted."""


class _How(NamedTuple):
    """The words for a cause: what one broker did, what several did, and one or several departures."""

    did: str
    all_did: str
    departure: str
    departures: str


_HOW = {
    Cause.PLANNED: _How(
        "was shut down as planned", "were shut down as planned", "planned stop", "planned stops"
    ),
    Cause.STOPPED: _How("was stopped", "were stopped", "stop", "stops"),
    Cause.NOT_GRANTED: _How(
        "was stopped after a failed controlled shutdown",
        "were stopped after a failed controlled shutdown",
        "stop after a failed controlled shutdown",
        "stops after a failed controlled shutdown",
    ),
    Cause.DIED: _How("died", "died", "death", "deaths"),
    Cause.LOST_SESSION: _How(
        "was given up by the cluster", "were given up by the cluster", "lost session", "lost sessions"
    ),
    Cause.FENCED: _How("was fenced", "were fenced", "fence", "fences"),
    Cause.UNREGISTERED: _How("was unregistered", "were unregistered", "unregistration", "unregistrations"),
    Cause.UNKNOWN: _How("was lost", "were lost", "loss", "losses"),
    Cause.LOST_OR_STOPPED: _How(
        "was lost or stopped", "were lost or stopped", "loss or stop", "losses or stops"
    ),
}


def departure_of(absence: Absence) -> str:
    """Name a departure with its broker: ``the planned stop of broker 2``."""
    return f"the {_HOW[shown_cause(absence)].departure} of broker {absence.broker}"


def shown_cause(absence: Absence) -> Cause:
    """Return the cause that is proven of an absence itself: it may have begun while the process lived on.

    That a process has ended by its next start does not prove that it had when its cluster lost it.
    """
    is_only_ended = absence.cause is Cause.DIED and absence.ended_by is not None
    return Cause.UNKNOWN if is_only_ended else absence.cause


def whole_cluster(incident: Incident, names: str, day: date | None) -> str:
    """Return what happened if all brokers were gone."""
    absences, until = incident.absences, incident.until
    end = _no_return(incident, day) if until is None else f"the last of them returned by {clock(until, day)}"
    first = at(first_departure(absences), day)
    if len(absences) == 1:
        return f"The whole cluster (the only {names}) {_HOW[shown_cause(absences[0])].did} {first}; {end}"
    who = f"The whole cluster ({names})" if incident.are_listed else f"All brokers in these logs ({names})"
    is_proven = all_gone(absences, by_silence=False) == incident.all_gone
    all_were = f"{'' if is_proven else 'as far as the logs show '}all were gone"
    gone = "" if incident.all_gone is None else f", and {all_were} by {clock(incident.all_gone, day)}"
    stopped = _stopped(absences, incident.only_controllers, is_one=incident.are_listed)
    return f"{who} {stopped}, the first broker {first}{gone}; {end}"


def _no_return(incident: Incident, day: date | None) -> str:
    """Return which of several brokers no line shows to have returned, and why the only one did not."""
    away = _away(incident)
    failed = failed_start(incident, away[0]) if len(away) == 1 else None
    why = "" if failed is None else f", which {failed_to_start(failed, day)}"
    who = nodes([each.broker for each in away], incident.only_controllers)
    return f"the logs show no return{f' of {who}' if away else ''}{why}"


def _missing(incident: Incident, day: date | None) -> str:
    """Return which of several brokers did not return, as far as the logs show, if others did."""
    return f"; {_no_return(incident, day)}" if _away(incident) else ""


def _away(incident: Incident) -> list[Absence]:
    """Return the absences, by broker, of which no line shows the end; none if that is so of all."""
    lasts = {each.broker: each for each in sorted(incident.absences, key=begin_of)}
    away = [each for _, each in sorted(lasts.items()) if latest(each.returned) is None]
    return away if len(away) < len(lasts) else []


def _stopped(absences: Sequence[Absence], only: Collection[int], *, is_one: bool) -> str:
    """Return how all stopped; ``is_one`` says whether they are named as one cluster."""
    causes = {shown_cause(each) for each in absences}
    if not causes.issubset(ORDERLY) and causes != {Cause.UNKNOWN}:
        return f"went down ({_how(absences, only)})"
    if len(causes) > 1:
        return f"{'was' if is_one else 'were'} stopped ({_how(absences, only)})"
    words = _HOW[shown_cause(absences[0])]
    return words.did if is_one else words.all_did


def one_by_one(incident: Incident, names: str, day: date | None) -> str:
    """Return what happened if brokers were restarted in turn, and whose stop did not run to its end."""
    left, back = first_departure(incident.absences), max(incident.absences, key=begin_of).returned
    when = f"the first left {at(left, day)} and the last was back {at(back, day)}"
    if isinstance(left, Fact) and isinstance(back, Fact):
        when = f"{clock(left.value, day)} to {clock(back.value, day)}"
    cut = sorted({each.broker for each in incident.absences if each.cut_short is not None})
    which = "" if not cut else f"; the stop of {nodes(cut, incident.only_controllers)} did not run to its end"
    return f"{names} were restarted one after another, {when}{which}"


def several(incident: Incident, names: str, day: date | None) -> str:
    """Return what happened if some brokers were gone, or one several times."""
    absences, until = incident.absences, incident.until
    end = _missing(incident, day) if until is None else f"; all had returned by {clock(until, day)}"
    how, ruled = _how(absences, incident.only_controllers), _as_controller(incident)
    first = f"{ruled}the first {at(first_departure(absences), day)}"
    if are_overlapping(absences):
        shown = "" if are_overlapping(absences, by_silence=False) else ", as far as the logs show"
        if all(each.cause is Cause.LOST_SESSION for each in absences):
            given_up = f"{names} were given up by the cluster at overlapping times{shown}"
            return f"{given_up}, although their processes lived on, {first}{end}"
        if all(each.cause is Cause.FENCED for each in absences):
            return f"{names} were fenced at overlapping times{shown}, {first}{end}"
        lived = sorted({each.broker for each in absences if each.cause is Cause.LOST_SESSION})
        others = {each.cause for each in absences} - {Cause.LOST_SESSION}
        if lived and others <= {Cause.UNKNOWN, Cause.FENCED}:
            whose = nodes(lived, incident.only_controllers)
            on = f"the process{'' if len(lived) == 1 else 'es'} of {whose} lived on"
            fenced = " or fenced" if Cause.FENCED in others else ""
            given_up = f"{names} were given up by the cluster{fenced} at overlapping times{shown}"
            return f"{given_up} ({on}), {first}{end}"
        return f"{names} were gone at overlapping times{shown} ({how}), {first}{end}"
    times, brokers = len(absences), {each.broker for each in absences}
    how_often = ", each once" if times == len(brokers) else f" {times} times in total"
    return f"{names} left{how_often} ({how}), {first}{end}"


def _as_controller(incident: Incident) -> str:
    """Return which of several brokers left as the controller, with a comma; nothing if none did."""
    ruled = sorted({each.broker for each in incident.absences if each.was_controller})
    if not ruled:
        return ""
    role = "the active controller" if set(ruled) <= incident.only_controllers else "the controller"
    each = "each " if len(ruled) > 1 else ""
    return f"{nodes(ruled, incident.only_controllers)} {each}as {role}, "


def _how(absences: Sequence[Absence], only: Collection[int]) -> str:
    """Return why each of several brokers left; of many, how often for which reason."""
    by_cause: dict[Cause, list[int]] = {}
    for each in absences:
        by_cause.setdefault(shown_cause(each), []).append(each.broker)
    if len(by_cause) == 1:
        return f"{'both' if len(absences) == 2 else 'all'} {_HOW[shown_cause(absences[0])].all_did}"
    if len(absences) <= _NAMED and all(len({*ids}) == len(ids) for ids in by_cause.values()):
        return ", ".join(
            f"{nodes(sorted(ids), only)} {_HOW[cause].did if len(ids) == 1 else _HOW[cause].all_did}"
            for cause, ids in by_cause.items()
        )
    return ", ".join(
        f"{len(ids)} {_HOW[cause].departure if len(ids) == 1 else _HOW[cause].departures}"
        for cause, ids in by_cause.items()
    )
