"""The words for an ISR that was too small, and for what that refused."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.analysis.story.certainty import Bound, Fact, Unknown
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.minimums import Lack
from barnabas.analysis.story.sentences.together import departure_of
from barnabas.analysis.story.shortages import Shortage, overlap, refused
from barnabas.analysis.story.words import clock, count, lasted

_STEPS = 6
"""The most ISRs that a sentence tells."""


def short(shortage: Shortage) -> str:
    """Tell the ISRs of the worst partition step by step, and what they refused."""
    steps = ", then ".join(
        f"{step.size} of {step.assigned}{' replicas in sync' if index == 0 else ''} {_held(step)}"
        f"{_because(shortage, index)}"
        for index, step in enumerate(shortage.steps[:_STEPS])
    )
    more = "" if len(shortage.steps) <= _STEPS else f", and {len(shortage.steps) - _STEPS} more changes"
    whose = f"{shortage.worst}" if shortage.partitions == 1 else f"the worst, {shortage.worst},"
    many = (
        ""
        if shortage.partitions == 1
        else f"{count(shortage.partitions, 'partition')} were under-replicated; "
    )
    return f"{many}{whose} had {steps}{more}; {writes(shortage)}"


def _because(shortage: Shortage, index: int) -> str:
    """Tell because of which departures an ISR got smaller, if another incident has them."""
    causes = [departure_of(absence) for number, absence in shortage.causes if number == index]
    return f" because of {' and '.join(causes)}" if causes else ""


def _held(step: IsrStep) -> str:
    return "as far as the logs show" if step.until is None else lasted(step.held)


def writes(shortage: Shortage) -> str:
    """Tell what an ISR that was too small refused, as far as it is known."""
    mark = shortage.mark
    if mark is not None and _is_by_mark(shortage):
        when = clock(mark.time)
        return f"acks=all writes were refused with {mark.in_sync} in sync, as the line of {when} shows"
    if shortage.changed:
        return _by_time(shortage)
    if shortage.minimum is None:
        what = "min.insync.replicas"
        why = {
            Lack.DIFFERENT: f"the lines differ about {what}",
            Lack.OTHER_TIME: f"no line gives {what} for that time",
        }.get(shortage.lack or Lack.SILENT, f"no line gives {what}")
        return f"whether it refused acks=all writes is unknown: {why}"
    own, minimum = _reservation(shortage), f"min.insync.replicas={shortage.minimum}"
    refused = f"acks=all writes were refused while fewer than {shortage.minimum} were in sync"
    if shortage.refusal is not None:
        return f"{refused} ({minimum}), as the line of {clock(shortage.refusal.time)} shows"
    since = shortage.known_since
    if since is not None:
        minimum += f" from {clock(since)} on"
    steps = [step for step in shortage.steps if since is None or step.until is None or step.until > since]
    if not any(step.size < shortage.minimum for step in steps):
        return f"with {minimum} that refuses no write{own}{'' if shortage.minimum == 1 else _unseen(steps)}"
    whose = "other brokers' " if shortage.is_of_others else "the brokers' " if shortage.is_default else ""
    return f"{refused} ({whose}{minimum}){own}"


def refused_writes(shortage: Shortage) -> str:
    """Tell in a clause how long a partition refused writes; nothing if none is known to be refused."""
    steps = _refusing(shortage)
    if not steps:
        return ""
    if span := refused(shortage, by_any_setting=True):
        is_exact = shortage.known_since is None and all(map(_is_exact, steps))
        how_long = lasted(Fact(span) if is_exact and not _is_by_mark(shortage) else Bound(span, None))
    else:
        how_long = "as far as the logs show" if steps[-1].until is None else lasted(Unknown(""))
    number = shortage.partitions
    who = shortage.worst if number == 1 else f"{shortage.worst}, the worst of {number:,} partitions,"
    is_shown = _is_by_mark(shortage) or shortage.refusal is not None
    return f"acks=all writes to {who} were refused {how_long}{'' if is_shown else _reservation(shortage)}"


def _refusing(shortage: Shortage) -> list[IsrStep]:
    """Return the ISRs that are known to have refused writes, if only by the brokers' setting."""
    mark = shortage.mark
    if mark is not None and _is_by_mark(shortage):
        return [step for step in shortage.steps if step.size == mark.in_sync]
    if shortage.minimum is None and not shortage.changed:
        return []
    minimums = [each for each in shortage.held if each.value is not None]
    return [
        step
        for step in shortage.steps
        if any(step.size < (each.value or 0) and overlap(step, each) for each in minimums)
    ]


def _is_by_mark(shortage: Shortage) -> bool:
    """Return whether the leader's line, and no setting, shows that writes were refused."""
    return shortage.mark is not None and shortage.refusal is None and not shortage.is_sure


def _is_exact(step: IsrStep) -> bool:
    return step.is_certain and step.is_begun and not step.is_longer


def _unseen(steps: Sequence[IsrStep]) -> str:
    is_whole = all(step.follows and step.is_whole for step in steps)
    return "" if is_whole else "; an ISR in between, which no line shows, may have refused some"


def _by_time(shortage: Shortage) -> str:
    """Tell what writes were refused by minimums that changed meanwhile."""
    *firsts, last = shortage.changed
    until = ", ".join(f"{each.value} until {clock(each.until)}" for each in firsts if each.until is not None)
    minimums = f"with min.insync.replicas={until} and {last.value} from then on"
    steps = [
        step
        for step in shortage.steps
        for each in shortage.changed
        if each.value is not None and step.size < each.value and overlap(step, each)
    ]
    if not steps:
        return f"{minimums} that refuses no write{_unseen(shortage.steps)}"
    if not (span := refused(shortage)):
        return f"{minimums}, acks=all writes were refused while fewer were in sync"
    is_exact = all(step.is_certain and step.is_begun for step in steps)
    how_long = lasted(Fact(span) if is_exact else Bound(span, None))
    return f"{minimums}, acks=all writes were refused {how_long}"


def _reservation(shortage: Shortage) -> str:
    """Return whose settings, which no line shows, may be others than the brokers' one."""
    topic = shortage.worst.rpartition("-")[0]
    if shortage.is_of_others:
        who = f"{topic} or its leader" if shortage.is_default else "its leader"
        return f", unless {who} has another setting"
    return f", unless {topic} has its own setting" if shortage.is_default else ""
