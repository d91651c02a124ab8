"""Each broker's absences: departure, cause, notice and return.

A broker's own lines prove a stop, a death with a cause, and a start. A controller proves only when the
cluster noticed. The moment of an unlogged death lies between the last own line and the first line that shows
the broker gone, which may be a survivor's lost connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import zip_longest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.story.certainty import Fact, Instant, Line, Lines, Unknown, earliest, latest, moment
from barnabas.analysis.story.clusters import beginnings
from barnabas.analysis.story.observed import CLOCKS, BrokerLine, Controller, Observed
from barnabas.cluster.model.statechange import Kind


class Cause(StrEnum):
    """The causes of a broker's departure."""

    PLANNED = "planned"
    """The broker stopped in an orderly way, and its controlled shutdown moved all leaders that could move."""
    STOPPED = "stopped"
    """The broker stopped in an orderly way; no line says whether its leaders were moved."""
    NOT_GRANTED = "stopped without handing over"
    """The broker stopped in an orderly way, but the controlled shutdown failed."""
    DIED = "died"
    """The process ended without a shutdown; a line proves it."""
    LOST_SESSION = "lost its session"
    """The controller removed the broker while its process lived on."""
    UNKNOWN = "was lost"
    """The lines do not show whether the broker stopped, died, or was cut off."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A time in which a broker was gone, or taken for gone.

    Attributes:
        broker: The broker.
        gone: When it left.
        cause: Why it left.
        reason: The text of the line that says why; None if no line does.
        has_own_log: Whether lines of the broker's server.log are among the logs.
        noticed: When a controller first treated it as gone; unknown if no line shows it.
        started: When its next process started; None if no line shows that.
        returned: When it could lead again; unknown if no line shows that it did.
        stopping: When it began to stop, for a logged stop.
        was_controller: Whether it was the controller until then.
        spoke: When it last wrote a line before a KRaft controller fenced it; None if it was not fenced.
        lines: The lines that prove the absence and its cause.
    """

    broker: int
    gone: Instant
    cause: Cause
    reason: str | None
    has_own_log: bool
    noticed: Instant
    started: datetime | None
    returned: Instant
    stopping: datetime | None = None
    was_controller: bool = False
    spoke: datetime | None = None
    lines: Lines = ()


_STOP = (BrokerKind.STOP_SIGNALLED, BrokerKind.CONTROLLED_SHUTDOWN_STARTED, BrokerKind.STOPPING)
_HANDOVER = (BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED, BrokerKind.CONTROLLED_SHUTDOWN_FAILED)
_ASKED = (BrokerKind.BROKER_STOP_ASKED, BrokerKind.BROKER_STOP_GRANTED)
_OFFLINE = (Kind.ISR_REMOVAL, Kind.REPLICAS_OFFLINE, Kind.REPLICA_CHANGE)
_SENT = (Kind.LEADER_AND_ISR_BATCH, Kind.LEADER_AND_ISR_SENDING)
_WITH_EPOCH = (BrokerKind.REGISTERED, BrokerKind.BROKER_REGISTERED, BrokerKind.BROKER_UNFENCED)
_NO_EPOCH = -1
_OWN_LOG = frozenset(
    (*_STOP, *_HANDOVER, BrokerKind.STARTING, BrokerKind.STARTED, BrokerKind.STOPPED, BrokerKind.CONFIGURED)
)

_CONTACT_WINDOW = timedelta(seconds=60)
"""The longest time before the notice in which a lost contact counts; earlier ones were recovered from."""

_CONNECTION_DELAY = timedelta(seconds=1)
"""A process that ends closes its connections within this time, so it lived until then."""

_RESTART = timedelta(seconds=1)
"""The shortest time that a broker needs to restart; requests sent to it earlier do not show a return."""


_OF_DIRECTORY = timedelta(seconds=30)
"""The longest time from the failure of a log directory until a controller has moved what lay there."""

_STARTUP = timedelta(seconds=1)
"""Lines that a broker writes this soon before its start is logged may be of the same start."""

_SHUTDOWN = timedelta(seconds=30)
"""The time within which requests to a broker that is stopping do not show a return."""


class _What(StrEnum):
    STOP = "stop"
    END = "end"
    GONE = "gone"
    START = "start"
    BACK = "back"


@dataclass(slots=True)
class _Run:
    """The lines of one absence, collected in order of time."""

    marks: list[tuple[_What, BrokerLine]] = field(default_factory=list)

    def first(self, *what: _What) -> BrokerLine | None:
        return next((line for kind, line in self.marks if kind in what), None)

    def kinds(self, *kinds: StrEnum) -> list[BrokerLine]:
        return [line for _, line in self.marks if line.kind in kinds]


def absences(observed: Observed) -> list[Absence]:
    """Return the absences of all brokers, by the latest time at which each began."""
    begins: dict[int, list[datetime]] = {}
    for each in beginnings(observed.brokers):
        begins.setdefault(each.broker, []).append(each.start)
    found = [
        _absence(broker, run, observed)
        for broker, lines in _about(observed.brokers).items()
        for since, part in _parts(lines, begins.get(broker, ()))
        for run in _runs(part)
        if not _is_first_start(broker, run, part, observed, since) and not _is_present(broker, run, observed)
    ]
    return sorted(found, key=lambda each: (begin_of(each), each.broker))


def _parts(
    marks: Sequence[tuple[_What, BrokerLine]], begins: Sequence[datetime]
) -> Iterator[tuple[datetime | None, list[tuple[_What, BrokerLine]]]]:
    """Yield a broker's lines of each cluster that it belonged to, with the begin of all but the first."""
    edges = (None, *begins)
    for since, until in zip_longest(edges, begins):
        yield (
            since,
            [
                (what, line)
                for what, line in marks
                if (since is None or since <= line.time) and (until is None or line.time < until)
            ],
        )


def begin_of(absence: Absence) -> datetime:
    """Return the moment by which an absence is ordered: the latest at which the broker left."""
    for known in (latest(absence.gone), latest(absence.noticed), absence.started, earliest(absence.gone)):
        if known is not None:
            return known
    raise AssertionError("an absence has a line, and each line has a time")


def _about(lines: Iterable[BrokerLine]) -> dict[int, list[tuple[_What, BrokerLine]]]:
    about: dict[int, list[tuple[_What, BrokerLine]]] = {}
    for line in sorted(lines, key=lambda each: (each.time, each.line)):
        for broker, what in _said(line):
            about.setdefault(broker, []).append((what, line))
    return about


def _said(line: BrokerLine) -> list[tuple[int, _What]]:
    """Return the brokers that a line is about, each with the fact about it."""
    if line.kind == BrokerKind.BROKERS_CHANGED:
        return [
            *((broker, _What.GONE) for broker in line.lost),
            *((broker, _What.BACK) for broker in line.added),
            *((broker, _What.START) for broker in line.bounced),
        ]
    if line.subject is None:
        return []
    what = _WHAT.get(line.kind)
    return [] if what is None else [(line.subject, what)]


_WHAT: dict[str, _What] = {
    **dict.fromkeys((*_STOP, *_HANDOVER, *_ASKED), _What.STOP),
    **dict.fromkeys((BrokerKind.STOPPED, BrokerKind.DIED), _What.END),
    **dict.fromkeys((BrokerKind.BROKER_FENCED, BrokerKind.BROKER_UNREGISTERED, *_OFFLINE), _What.GONE),
    **dict.fromkeys((BrokerKind.SESSION_EXPIRED,), _What.GONE),
    **dict.fromkeys(
        (
            BrokerKind.STARTING, BrokerKind.START_FAILED, BrokerKind.PREVIOUS_STOP_CLEAN,
            BrokerKind.PREVIOUS_STOP_UNCLEAN, BrokerKind.BROKER_REGISTERED,
        ), _What.START,
    ),
    **dict.fromkeys(
        (BrokerKind.STARTED, BrokerKind.REGISTERED, BrokerKind.BROKER_UNFENCED, *_SENT), _What.BACK
    ),
}  # fmt: skip


def _runs(marks: Sequence[tuple[_What, BrokerLine]]) -> list[_Run]:
    """Cut a broker's lines into absences; a line of its presence in between closes one."""
    runs: list[_Run] = []
    is_gone = False
    for index, (what, line) in enumerate(marks):
        if is_gone:
            runs[-1].marks.append((what, line))
            is_return = what is _What.BACK and _is_return(runs[-1], line)
            is_gone = not is_return or _is_still_starting(line, marks[index + 1 :])
        elif what is _What.BACK:
            if runs:
                runs[-1].marks.append((what, line))
        elif _is_late(runs, what, line):
            runs[-1].marks.append((what, line))
        else:
            runs.append(_Run([(what, line)]))
            is_gone = True
    return runs


def _is_still_starting(line: BrokerLine, later: Sequence[tuple[_What, BrokerLine]]) -> bool:
    """Return whether a registration is part of a start; in KRaft logs are recovered between the two."""
    if line.kind != BrokerKind.REGISTERED:
        return False
    ends = (BrokerKind.STARTED, BrokerKind.STARTING, *_STOP, BrokerKind.STOPPED, BrokerKind.DIED)
    return next((each.kind == BrokerKind.STARTED for _, each in later if each.kind in ends), False)


def _is_late(runs: Sequence[_Run], what: _What, line: BrokerLine) -> bool:
    """Return whether a line shows an absence that is over: a start just logged, or another clock's notice."""
    if not runs:
        return False
    back = runs[-1].first(_What.BACK)
    if back is None or line.time > back.time + CLOCKS:
        return False
    return what is _What.START or (what is _What.GONE and line.role == "controller")


def _is_return(run: _Run, line: BrokerLine) -> bool:
    if line.kind in (Kind.LEADER_AND_ISR_BATCH, Kind.LEADER_AND_ISR_SENDING):
        # A controller still sends requests to a broker that is stopping, and at once after its loss.
        last = max(each.time for what, each in run.marks if what is not _What.BACK)
        is_stopping = run.first(_What.STOP) is not None and run.first(_What.END, _What.START) is None
        return line.time > last + (_SHUTDOWN if is_stopping else _RESTART) and not _is_only_stopping(run)
    return not _is_only_stopping(run) or line.kind == BrokerKind.STARTED


def _is_only_stopping(run: _Run) -> bool:
    return all(what in (_What.STOP, _What.BACK) for what, _ in run.marks)


def _absence(broker: int, run: _Run, observed: Observed) -> Absence:
    start = run.first(_What.START)
    gone_lines = [line for what, line in run.marks if what is _What.GONE and line.broker != broker]
    noticed = gone_lines[0] if gone_lines else None
    has_own_log = any(line.subject == broker and line.kind in _OWN_LOG for line in observed.brokers)
    first = min(line.time for line in (start, noticed, run.marks[0][1]) if line is not None)
    lives_on = _lives_on(broker, run, start, noticed, observed)
    gone, proof = _gone(broker, run, first, observed, is_alive=lives_on)
    cause, reason, causal = _cause(broker, run, start, first, observed, is_alive=lives_on)
    stop = next(iter(run.kinds(*_STOP)), None)
    expired = next(iter(run.kinds(BrokerKind.SESSION_EXPIRED)), None)
    fenced = next(iter(run.kinds(BrokerKind.BROKER_FENCED)), None)
    back = _back(run, start or expired or noticed or run.marks[0][1])
    return Absence(
        broker=broker,
        gone=gone,
        cause=cause,
        reason=reason,
        has_own_log=has_own_log,
        noticed=Unknown("no controller's line shows it")
        if noticed is None
        else Fact(noticed.time, (noticed.line,)),
        started=None if start is None else start.time,
        returned=_returned(back, start),
        stopping=None if stop is None else stop.time,
        spoke=None if fenced is None else observed.last_spoken(broker, fenced.time),
        lines=tuple(dict.fromkeys((*causal, *proof, *(() if noticed is None else (noticed.line,))))),
    )


def _is_first_start(
    broker: int,
    run: _Run,
    lines: Sequence[tuple[_What, BrokerLine]],
    observed: Observed,
    since: datetime | None,
) -> bool:
    """Return whether a broker's absence is only its time before its first start in a cluster."""
    first = run.marks[0][1]
    if first.kind == BrokerKind.BROKER_REGISTERED and first.error is not None:
        return False
    is_earliest = run.marks[0] == lines[0]
    spoken = observed.last_spoken(broker, first.time - _STARTUP)
    has_spoken = spoken is not None and (since is None or since <= spoken)
    is_start = run.first(_What.START) is not None and run.marks[0][0] in (_What.START, _What.GONE)
    return is_start and is_earliest and not has_spoken


def _is_present(broker: int, run: _Run, observed: Observed) -> bool:
    """Return whether a controller took replicas of a broker offline that was there.

    Every controller does that with the replicas of a log directory that failed; a new controller of ours with
    replicas that restarted unseen, its own included.
    """
    first = run.marks[0][1]
    if any(what not in (_What.GONE, _What.BACK) for what, _ in run.marks) or run.kinds(BrokerKind.REGISTERED):
        return False
    if any(what is _What.GONE and line.kind not in _OFFLINE for what, line in run.marks):
        return False
    if failed_directory(broker, first.time, observed) is not None:
        return True
    after = observed.last_spoken(broker, first.time + CLOCKS)
    return first.broker == broker or (after is not None and after > first.time)


def failed_directory(broker: int, time: datetime, observed: Observed) -> BrokerLine | None:
    """Return the line which shows that a log directory of a broker failed, shortly before ``time``.

    The broker's own line names the directory, so it comes before a controller's.
    """
    failures = (
        line
        for line in observed.brokers
        if line.kind == BrokerKind.DIRECTORY_FAILED
        and line.subject == broker
        and time - _OF_DIRECTORY <= line.time <= time + CLOCKS
    )
    return min(failures, key=lambda line: (line.role == "controller", line.time), default=None)


def _back(run: _Run, since: BrokerLine) -> BrokerLine | None:
    """Return the best line of the return: that it serves, else the first that shows it present again."""
    backs = [line for what, line in run.marks if what is _What.BACK and line.time >= since.time]
    started = [line for line in backs if line.kind in (BrokerKind.STARTED, BrokerKind.BROKER_UNFENCED)]
    proven = [line for line in backs if line.kind not in _SENT or _is_return(run, line)]
    return next(iter((*started, *proven)), None)


def _returned(back: BrokerLine | None, start: BrokerLine | None) -> Instant:
    if back is not None and back.kind in (BrokerKind.STARTED, BrokerKind.BROKER_UNFENCED):
        return Fact(back.time, (back.line,))
    lines: Lines = tuple(each.line for each in (start, back) if each is not None)
    return moment(
        None if start is None else start.time,
        None if back is None else back.time,
        lines,
        "no line shows that it returned",
    )


def _lives_on(
    broker: int, run: _Run, start: BrokerLine | None, noticed: BrokerLine | None, observed: Observed
) -> Line | None:
    """Return a line which proves that the process lived on while the cluster took it for gone."""
    if run.kinds(*_STOP, BrokerKind.STOPPED, BrokerKind.DIED):
        return None
    for line in run.kinds(BrokerKind.SESSION_EXPIRED):
        return line.line
    if start is not None:
        return None
    own_again = [line for line in run.kinds(BrokerKind.REGISTERED) if line.broker == broker]
    fenced, unfenced = run.kinds(BrokerKind.BROKER_FENCED), run.kinds(BrokerKind.BROKER_UNFENCED)
    if fenced and unfenced and _epoch_at(broker, fenced[0], observed) == unfenced[0].broker_epoch:
        return unfenced[0].line
    # Without the broker's own starts, a registration may be that of a new process.
    starts = any(each.kind == BrokerKind.STARTING and each.subject == broker for each in observed.brokers)
    return own_again[0].line if own_again and noticed is not None and starts else None


def _epoch_at(broker: int, fenced: BrokerLine, observed: Observed) -> int:
    """Return the epoch of a broker that is fenced: from the line itself, else from the last one before.

    A broker epoch is the offset of the record of a registration, and each process registers again.
    """
    epochs = [
        (line.time, line.broker_epoch)
        for line in observed.brokers
        if line.subject == broker and line.broker_epoch is not None and line.kind in _WITH_EPOCH
        and line.time <= fenced.time
    ]  # fmt: skip
    last = max(epochs, default=(fenced.time, _NO_EPOCH))[1]
    return last if fenced.broker_epoch is None else fenced.broker_epoch


def _gone(
    broker: int, run: _Run, first: datetime, observed: Observed, *, is_alive: Line | None
) -> tuple[Instant, Lines]:
    ends = run.kinds(BrokerKind.STOPPED, BrokerKind.DIED)
    if ends:
        return Fact(ends[0].time, (ends[0].line,)), (ends[0].line,)
    stops = [line for line in run.kinds(*_STOP) if line.broker == broker]
    asked = run.kinds(*_ASKED)
    starts = run.first(_What.START)
    is_start = starts is not None and starts.time <= first
    last = observed.last_spoken(broker, first - _STARTUP if is_start else first)
    if stops:
        # The broker was alive and stopping; no line says when it ended.
        last = max(line.time for line in stops)
    elif asked:
        last = max(each for each in (last, asked[-1].time) if each is not None)
    contacts = _contacts(broker, last, first, observed)
    others = [line for what, line in run.marks if what in (_What.GONE, _What.START) and line not in stops]
    lines = tuple(each.line for each in (*stops[-1:], *asked[:1], *contacts[:1], *others[:1]))
    if is_alive is not None:
        return moment(None, first, lines, "no line shows when it lost contact"), (*lines, is_alive)
    before = contacts[0].time if contacts else None
    at_most = min((each.time for each in (*contacts[:1], *others[:1])), default=None)
    if before is not None and contacts[0].contact == Contact.DISCONNECTED:
        still = before - _CONNECTION_DELAY
        last = still if last is None else max(last, still)
    if at_most is None:
        return moment(last, None, lines, "no line shows when it ended"), lines
    return moment(last, at_most, lines, ""), lines


def _contacts(broker: int, last: datetime | None, first: datetime, observed: Observed) -> list[BrokerLine]:
    """Return the survivors' lost contacts from the broker's last own line to the first sign of its loss."""
    since = first - _CONTACT_WINDOW if last is None else max(last, first - _CONTACT_WINDOW)
    return [
        line
        for line in observed.brokers
        if line.kind == BrokerKind.CONTACT_LOST and line.subject == broker and line.broker != broker
        and since < line.time <= first
    ]  # fmt: skip


def _cause(
    broker: int, run: _Run, start: BrokerLine | None, first: datetime, observed: Observed, *,
    is_alive: Line | None,
) -> tuple[Cause, str | None, Lines]:  # fmt: skip
    died = run.kinds(BrokerKind.DIED)
    if died:
        return Cause.DIED, died[0].error, (died[0].line,)
    failed = run.kinds(BrokerKind.CONTROLLED_SHUTDOWN_FAILED)
    granted = run.kinds(BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED, BrokerKind.BROKER_STOP_GRANTED)
    if granted and not failed:
        return Cause.PLANNED, None, (granted[0].line,)
    if failed:
        return Cause.NOT_GRANTED, failed[0].error, (failed[0].line,)
    stopped = run.kinds(BrokerKind.STOPPED, *_STOP, *_ASKED)
    if stopped:
        return Cause.STOPPED, None, (stopped[-1].line,)
    if is_alive is not None:
        return Cause.LOST_SESSION, None, (is_alive,)
    unclean = run.kinds(BrokerKind.PREVIOUS_STOP_UNCLEAN)
    if unclean:
        return Cause.DIED, None, (unclean[0].line,)
    renewed = [line for line in run.kinds(BrokerKind.BROKER_REGISTERED) if line.error is not None]
    if renewed:
        return Cause.DIED, renewed[0].error, (renewed[0].line,)
    refused = [line for line in _contacts(broker, None, first, observed) if line.contact == Contact.REFUSED]
    if refused and start is not None:
        # Nobody listened on the port any more, and a later process started: the one before ended without a
        # line.
        return Cause.DIED, None, (refused[0].line, start.line)
    return Cause.UNKNOWN, None, ()


def with_controllers(found: Sequence[Absence], controllers: Sequence[Controller]) -> list[Absence]:
    """Mark the absences of brokers that were the controller when they left."""
    tenures = list(zip_longest(controllers, controllers[1:]))
    marked = list(found)
    for own, after in tenures:
        fitting = [
            index
            for index, absence in enumerate(found)
            if _was_acting(absence, own, after, _present_since(absence, found))
        ]
        if fitting:
            # A tenure ends once, with the absence nearest to the successor's election.
            end = own.since if after is None else after.since
            index = min(fitting, key=lambda index: abs(begin_of(found[index]) - end))
            lines = tuple(dict.fromkeys((*marked[index].lines, *own.lines)))
            marked[index] = replace(marked[index], was_controller=True, lines=lines)
    return marked


def _present_since(absence: Absence, found: Sequence[Absence]) -> datetime | None:
    """Return when a broker had returned from the absence before; None if it was not absent before."""
    begin = begin_of(absence)
    backs = (latest(each.returned) for each in found if each.broker == absence.broker)
    return max((back for back in backs if back is not None and back <= begin), default=None)


def _was_acting(
    absence: Absence, own: Controller, after: Controller | None, present: datetime | None
) -> bool:
    begin = begin_of(absence)
    if own.broker != absence.broker or own.since >= begin:
        return False
    # Its successor is elected once its session is over, often before the loss of its replicas is handled.
    # A broker that stops resigns before its process ends.
    alive = absence.stopping or earliest(absence.gone) or max(begin - _CONTACT_WINDOW, present or begin.min)
    return after is None or after.since >= alive
