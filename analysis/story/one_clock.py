"""The story by the lines of brokers whose clocks agree, where other clocks differ.

A story stays true if any lines are missing. That of the lines by clocks that agree with each other is true,
too, so all its spans are. A state of a partition is known to all, as epochs order it whatever the clocks say:
of one that no line by these clocks shows, they show only that it was before the next one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.accounts import Account, account_of
from barnabas.analysis.story.certainty import Bound, Line, Unknown, latest
from barnabas.analysis.story.clocks import Clocks, duration_of
from barnabas.analysis.story.costs import greatest, least
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, Life, Outage
from barnabas.analysis.story.rows import RECORD, LeaderIsr, LedAgain, Mark, Refusal, State

R = TypeVar("R", Mark, LedAgain, Refusal, LeaderIsr)

ONE_CLOCK = Clocks(())
"""The clocks of brokers that agree with each other."""

_RECORD_EPOCH = re.compile(rf'{RECORD}\d+, "controllerEpoch": (\d+)')

_Key = tuple[Life, int]
"""A partition, and the last leader epoch that the lines of a time without a leader are about."""


def account_by_clocks(observed: Observed, clocks: Clocks) -> Account:
    """Return the account of all lines, with what the lines by clocks that agree show where others differ.

    Args:
        observed: Everything in the lines.
        clocks: The clocks that differ.
    """
    account = account_of(observed, clocks)
    if not account.mixed:
        return account
    by_clock = [account_of(each, ONE_CLOCK) for each in views(observed, account.mixed, clocks)]
    return sharpened(account, by_clock)


def views(observed: Observed, lives: Collection[Life], clocks: Clocks) -> list[Observed]:
    """Return what each group of brokers shows whose clocks agree.

    Args:
        observed: Everything in the lines.
        lives: The partitions whose lines are by clocks that differ.
        clocks: The clocks that differ.
    """
    group_of = clocks.groups(_writers(observed))
    members: dict[int, set[int | None]] = {}
    for broker, group in group_of.items():
        members.setdefault(group, {None}).add(broker)
    kept = {life for life in lives if life not in observed.deleted}
    states = _states(observed, kept, group_of)
    return [
        _view(observed, kept, states.get(group, ()), brokers) for group, brokers in sorted(members.items())
    ]


def _writers(observed: Observed) -> set[int]:
    lines = (each.line.broker for rows in (observed.brokers, observed.states) for each in rows)
    known = {
        *lines,
        *(each.leader for each in observed.states),
        *(each.broker for each in observed.controllers),
    }
    return {broker for broker in known if broker is not None and broker >= 0}


def _view(
    observed: Observed, lives: Collection[Life], states: Sequence[State], brokers: Collection[int | None]
) -> Observed:
    def of_lives(rows: Iterable[R]) -> list[R]:
        return [
            each
            for each in rows
            if (each.topic, each.partition, each.life) in lives and each.line.broker in brokers
        ]

    def of(times: Mapping[int, Sequence[datetime]]) -> Mapping[int, Sequence[datetime]]:
        return {broker: own for broker, own in times.items() if broker in brokers}

    return replace(
        observed,
        brokers=[line for line in observed.brokers if line.line.broker in brokers],
        states=states,
        marks=of_lives(observed.marks),
        led=of_lives(observed.led),
        refusals=of_lives(observed.refusals),
        controllers=[each for each in observed.controllers if each.broker in brokers],
        isr_lines=of_lives(observed.isr_lines),
        spoken=of(observed.spoken), served=of(observed.served), joined=of(observed.joined),
        delays=(), set_backs=(), moves={},
    )  # fmt: skip


def _states(
    observed: Observed, lives: Collection[Life], group_of: Mapping[int, int]
) -> dict[int, list[State]]:
    """Return the states of the partitions as each group of brokers shows them."""
    controllers: dict[int | None, int] = {each.epoch: each.broker for each in observed.controllers}
    by_life: dict[Life, list[State]] = {}
    for state in observed.states:
        life = (state.topic, state.partition, state.life)
        if life in lives:
            by_life.setdefault(life, []).append(state)
    found: dict[int, list[State]] = {}
    for states in by_life.values():
        states.sort(key=_order, reverse=True)
        for group, shown in _by_groups(states, controllers, group_of).items():
            found.setdefault(group, []).extend(shown)
    return found


def _order(state: State) -> tuple[int, int]:
    epoch, version = state.leader_epoch, state.version
    return -1 if epoch is None else epoch, -1 if version is None else version


def _by_groups(
    states: Sequence[State], controllers: Mapping[int | None, int], group_of: Mapping[int, int]
) -> dict[int, list[State]]:
    """Return the states of a partition by group, from the last one to the first."""
    times = [_times(state, controllers, group_of) for state in states]
    found: dict[int, list[State]] = {}
    for group in {group for each in times for group in each}:
        until: datetime | None = None
        for state, each in zip(states, times, strict=True):
            shown = each.get(group)
            if shown is None and until is not None and state.leader_epoch is not None:
                shown = state._replace(decided=None, led_at=None, changed=None, first_logged=until)
            if shown is not None:
                until = shown.first_logged if until is None else min(until, shown.first_logged)
                found.setdefault(group, []).append(shown)
    return found


def _times(
    state: State, controllers: Mapping[int | None, int], group_of: Mapping[int, int]
) -> dict[int, State]:
    """Return a state with the times of each group that has any."""
    epoch = _record_epoch(state.line)
    controller = controllers.get(state.controller_epoch if epoch is None else epoch)
    writer = state.line.broker if epoch is None else controller
    is_first = state.changed == state.first_logged and state.decided is None is state.led_at
    changer = controller if state.changed == state.decided is not None else state.leader
    found: dict[int, State] = {}
    by_controller, by_leader = _group(controller, group_of), _group(state.leader, group_of)
    by_writer, by_changer = _group(writer, group_of), _group(writer if is_first else changer, group_of)
    is_only = state.decided is None is state.led_at
    for group in {by_controller, by_leader, by_writer, by_changer} - {None}:
        decided = state.decided if group == by_controller else None
        led_at = state.led_at if group == by_leader else None
        changed = state.changed if group == by_changer else None
        logged = state.first_logged if is_only and group == by_writer else None
        first = [each for each in (decided, led_at, changed, logged) if each is not None]
        if group is not None and first:
            found[group] = state._replace(
                decided=decided, led_at=led_at, changed=changed, first_logged=min(first)
            )
    return found


def _group(broker: int | None, group_of: Mapping[int, int]) -> int | None:
    return None if broker is None else group_of.get(broker)


def _record_epoch(line: Line) -> int | None:
    """Return the controller epoch of a record of a metadata log; None for a line of another log."""
    found = _RECORD_EPOCH.match(line.text)
    return None if found is None else int(found[1])


def sharpened(account: Account, by_clock: Sequence[Account]) -> Account:
    """Return an account with the spans that lines by clocks which agree prove.

    Args:
        account: The account of all lines.
        by_clock: Those of ``views``.
    """
    epochs = {
        state.line: state.leader_epoch for state in account.observed.states if state.leader_epoch is not None
    }
    proven = _proven(by_clock, epochs)
    index_of = _indexes(account.found)
    charged: dict[int, list[Outage]] = {}
    free: list[Outage] = []
    of_all = [(index, each) for index, own in account.charged.items() for each in own]
    for index, outage in (*of_all, *((None, each) for each in account.free)):
        known = proven.pop(_key(outage, epochs), None)
        own = index if index is not None or known is None else _index(known.absence, index_of)
        sharp = outage if known is None else _with_span(outage, known.outage)
        if own is None:
            free.append(sharp)
        else:
            charged.setdefault(own, []).append(sharp)
    for known in proven.values():
        # No line shows it, so it is one only because of the absence.
        number = _index(known.absence, index_of)
        if number is not None:
            charged.setdefault(number, []).append(known.outage)
    return replace(account, charged=charged, free=free, stories=_with_isrs(account.stories, by_clock))


class _Proven(NamedTuple):
    """A time without a leader by clocks that agree, and the absence because of which it was, if any."""

    outage: Outage
    absence: Absence | None


def _key(outage: Outage, epochs: Mapping[Line, int]) -> _Key | None:
    known = [epochs[line] for line in outage.lines if line in epochs]
    return (outage.life, max(known)) if known else None


def _proven(by_clock: Iterable[Account], epochs: Mapping[Line, int]) -> dict[_Key | None, _Proven]:
    """Return the times without a leader whose spans are bounded, those by several clocks as one."""
    found: dict[_Key | None, _Proven] = {}
    for account in by_clock:
        of_absences = (
            _Proven(each, account.found[index]) for index, own in account.charged.items() for each in own
        )
        for each in (*of_absences, *(_Proven(outage, None) for outage in account.free)):
            key, span = _key(each.outage, epochs), duration_of(each.outage)
            # Changes of the leader that no line shows have no time by these clocks.
            if key is not None and not each.outage.is_after_gap and not isinstance(span, Unknown):
                own = each._replace(outage=replace(each.outage, span=span))
                found[key] = _of_both(found[key], own) if key in found else own
    return found


def _of_both(one: _Proven, other: _Proven) -> _Proven:
    """Return a time without a leader with the bounds that two groups of clocks prove."""
    # That its next leader led says more than that it was elected.
    first, second = sorted((one, other), key=lambda each: latest(each.outage.end) is None)
    spans = [each.outage.span for each in (one, other) if each.outage.span is not None]
    most = min((known for span in spans if (known := greatest(span)) is not None), default=None)
    lines = tuple(line for span in spans for line in span.lines)
    span = Bound(max(map(least, spans)) or None, most, lines)
    return _Proven(replace(first.outage, span=span), first.absence or second.absence)


def _with_span(outage: Outage, proven: Outage) -> Outage:
    lines = tuple(dict.fromkeys((*proven.lines, *outage.lines)))
    return replace(
        outage, begin=proven.begin, end=proven.end, shown=proven.shown, lines=lines, span=proven.span
    )


def _lines_of(absence: Absence) -> set[Line]:
    own = (absence.gone.lines, absence.noticed.lines, absence.returned.lines, absence.lines)
    return {line for lines in own for line in lines}


def _indexes(found: Sequence[Absence]) -> dict[tuple[int, Line], list[int]]:
    """Return the indexes of absences by broker and line."""
    index_of: dict[tuple[int, Line], list[int]] = {}
    for index, absence in enumerate(found):
        for line in _lines_of(absence):
            index_of.setdefault((absence.broker, line), []).append(index)
    return index_of


def _index(absence: Absence | None, index_of: Mapping[tuple[int, Line], Sequence[int]]) -> int | None:
    """Return the index of the absence that shares most lines with one by other clocks; None if none does."""
    if absence is None:
        return None
    shared = Counter(
        index for line in _lines_of(absence) for index in index_of.get((absence.broker, line), ())
    )
    return max(shared, key=lambda index: (shared[index], -index), default=None)


def _with_isrs(stories: Iterable[History], by_clock: Iterable[Account]) -> list[History]:
    """Date the ISRs of each partition by the clocks that show most of them."""
    shown: dict[Life, list[Sequence[IsrStep]]] = {}
    for account in by_clock:
        for story in account.stories:
            shown.setdefault(story.life, []).append(story.isr)
    return [
        replace(story, isr=max((story.isr, *_same_steps(story.isr, shown.get(story.life, ()))), key=_dated))
        for story in stories
    ]


def _same_steps(isr: Sequence[IsrStep], others: Iterable[Sequence[IsrStep]]) -> list[Sequence[IsrStep]]:
    sizes = [(step.size, step.assigned) for step in isr]
    return [each for each in others if [(step.size, step.assigned) for step in each] == sizes]


def _dated(isr: Sequence[IsrStep]) -> int:
    return sum(step.is_certain + step.is_begun for step in isr)
