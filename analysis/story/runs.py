"""The lines about each broker, cut into the runs that are each about one absence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import zip_longest

from barnabas.analysis.reading.events.broker_kinds import OF_AUTHORIZER, BrokerKind
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.rows import BrokerLine
from barnabas.cluster.model.statechange import Kind

STOP = (
    BrokerKind.STOP_SIGNALLED, BrokerKind.CONTROLLED_SHUTDOWN_STARTED, BrokerKind.STOPPING,
    BrokerKind.NODE_STOPPING,
)  # fmt: skip

STARTS = (BrokerKind.NODE_STARTING, BrokerKind.STARTING)
"""The first lines of a process."""

_LATER_STARTS = ("Starting controller", "Transition from SHUTDOWN to STARTING")
"""The lines of ``STARTS`` that KRaft writes when the process has already loaded the metadata."""

ENDS = (BrokerKind.STOPPED, BrokerKind.DIED, BrokerKind.NODE_STOPPED)
"""The last lines of a process, the best one first."""

SERVES = (BrokerKind.STARTED, BrokerKind.NODE_STARTED)
"""The lines with which a process says that it serves."""


HANDOVER = (BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED, BrokerKind.CONTROLLED_SHUTDOWN_FAILED)

ASKED = (BrokerKind.BROKER_STOP_ASKED, BrokerKind.BROKER_STOP_GRANTED)

OFFLINE = (Kind.ISR_REMOVAL, Kind.REPLICAS_OFFLINE, Kind.REPLICA_CHANGE)

SENT = (Kind.LEADER_AND_ISR_BATCH, Kind.LEADER_AND_ISR_SENDING, Kind.STOP_REPLICA_BATCH)
"""The lines by which a controller sends requests to a broker that it takes to be there."""

_IN_KRAFT = "Successfully registered broker"
"""The words of ``BrokerLifecycleManager`` about its registration."""

_NO_CLIENT = "Unable to reconnect to ZooKeeper service"

RESTART = timedelta(seconds=1)
"""The shortest time that a broker needs to restart; requests sent to it earlier do not show a return."""

_SHUTDOWN = timedelta(seconds=30)
"""The time in which requests to a broker that is stopping, or whose death nobody noticed, show no return."""


def is_first_of_process(line: BrokerLine) -> bool:
    """Return whether a process has written nothing long before a line.

    Other lines of a start follow on the loading of logs, which may take minutes.
    """
    return line.kind in STARTS and not any(text in line.line.text for text in _LATER_STARTS)


class What(StrEnum):
    """The facts that a line may state about a broker."""

    STOP = "stop"
    END = "end"
    GONE = "gone"
    START = "start"
    BACK = "back"


class Run:
    """The lines of one absence, collected in order of time.

    Args:
        marks: The first lines, each with the fact that it states.
    """

    def __init__(self, marks: Iterable[tuple[What, BrokerLine]]) -> None:
        self.marks: list[tuple[What, BrokerLine]] = []
        self._firsts: dict[What, int] = {}
        self._last_loss = 0
        for what, line in marks:
            self.add(what, line)

    def add(self, what: What, line: BrokerLine) -> None:
        """Add the next line."""
        self._firsts.setdefault(what, len(self.marks))
        if what is not What.BACK:
            self._last_loss = len(self.marks)
        self.marks.append((what, line))

    def first(self, *what: What) -> BrokerLine | None:
        """Return the first line that states one of these facts."""
        known = [self._firsts[each] for each in what if each in self._firsts]
        return self.marks[min(known)][1] if known else None

    def bounced(self, broker: int) -> BrokerLine | None:
        """Return the first line of a controller that finds the broker registered again; None if none does."""
        return next((line for _, line in self.marks if broker in line.bounced), None)

    def last_loss(self) -> BrokerLine:
        """Return the last line that states another fact than that the broker is back."""
        return self.marks[self._last_loss][1]

    def states_only(self, *what: What) -> bool:
        """Return whether no line states another fact than these."""
        return self._firsts.keys() <= set(what)

    def left(self) -> Run:
        """Return the lines before the next start; a start that fails ends with a stop, too."""
        return Run(self.marks[: self._firsts.get(What.START)])

    def kinds(self, *kinds: str) -> list[BrokerLine]:
        """Return the lines of these kinds, by time."""
        return [line for _, line in self.marks if line.kind in kinds]


def handover(stops: Iterable[BrokerLine]) -> Callable[[BrokerLine], bool]:
    """Return whether a controller takes replicas of a broker offline only because that asks to stop.

    The broker is there meanwhile, and for some time after that.

    Args:
        stops: The lines that the broker stops, or asks to.
    """
    times = [line.time for line in stops]
    if not times:
        return lambda _: False
    since, until = min(times) - CLOCKS, max(times) + CLOCKS
    return lambda line: line.kind in OFFLINE and since <= line.time <= until


def sent_on(run: Run) -> Callable[[BrokerLine], bool]:
    """Return whether a controller sends requests to the broker just after it took replicas of it offline.

    It sends them to live and stopping brokers only (``ControllerBrokerRequestBatch``), so it did not take the
    replicas offline because the broker was lost. Lines at TRACE are those of releases that send to all.
    """
    sent: dict[int | None, list[datetime]] = {}
    for line in run.kinds(Kind.LEADER_AND_ISR_BATCH, Kind.STOP_REPLICA_BATCH):
        sent.setdefault(line.broker, []).append(line.time)

    def is_sent_on(line: BrokerLine) -> bool:
        times = sent.get(line.broker, ())
        index = bisect_right(times, line.time)
        return line.kind in OFFLINE and index < len(times) and times[index] <= line.time + RESTART

    return is_sent_on


def lines_about(lines: Iterable[BrokerLine]) -> dict[int, list[tuple[What, BrokerLine]]]:
    """Return the lines about each broker with the fact that each states, by time."""
    about: dict[int, list[tuple[What, BrokerLine]]] = {}
    ordered = sorted(lines, key=lambda each: (each.time, each.line))
    of_authorizer = {
        (line.broker, line.time) for line in ordered
        if line.kind == BrokerKind.SESSION_EXPIRED and line.error == OF_AUTHORIZER
    }  # fmt: skip
    for line in ordered:
        if line.kind == BrokerKind.SESSION_EXPIRED and _is_of_authorizer(line, of_authorizer):
            continue
        for broker, what in _said(line):
            marks = about.setdefault(broker, [])
            if what is not What.GONE or broker not in line.bounced or not _lives_on(marks):
                marks.append((what, line))
        for broker in line.live if line.kind == BrokerKind.BROKERS_CHANGED else ():
            if _is_listed_again(about.get(broker, ())):
                about[broker].append((What.BACK, line))
    for line in ordered:
        # The process ended at its time or later. So it begins no absence that other lines may date better.
        if line.kind == BrokerKind.ENDED_AT_ONCE and line.subject is not None:
            marks = about.setdefault(line.subject, [])
            if not marks or marks[-1][1].time <= line.time:
                marks.append((What.END, line))
    return about


def _is_listed_again(marks: Sequence[tuple[What, BrokerLine]]) -> bool:
    """Return whether a live broker is one that a controller had removed, and of whose return no line is left.

    A controller lists a dead broker, too, until its session has expired.
    """
    last = next(((what, line.kind) for what, line in reversed(marks) if what is not What.START), None)
    return last == (What.GONE, BrokerKind.BROKERS_CHANGED)


def _is_of_authorizer(line: BrokerLine, known: Collection[tuple[int | None, datetime]]) -> bool:
    """Return whether the session that ended is not the broker's, but its authorizer's.

    The authorizer has a client of its own, and ZooKeeper's line of that moment names no client.
    """
    if line.error == OF_AUTHORIZER:
        return True
    return _NO_CLIENT in line.line.text and any(
        broker == line.broker and line.time <= time <= line.time + RESTART for broker, time in known
    )


def _lives_on(marks: Sequence[tuple[What, BrokerLine]]) -> bool:
    """Return whether a broker that registered again is the process that was there before.

    To a controller a broker whose session expired, and one that restarted, look alike.
    """
    last = next((line for what, line in reversed(marks) if what in (What.GONE, What.END, What.START)), None)
    return last is not None and last.kind == BrokerKind.SESSION_EXPIRED


def _said(line: BrokerLine) -> list[tuple[int, What]]:
    """Return the brokers that a line is about, each with the fact about it."""
    if line.kind == BrokerKind.BROKERS_CHANGED:
        return [
            *((broker, What.GONE) for broker in line.lost),
            *((broker, What.BACK) for broker in line.added),
            # It has registered again by now, so the controller notices its loss when it is back.
            *((broker, what) for broker in line.bounced for what in (What.GONE, What.BACK)),
        ]
    if line.subject is None:
        return []
    what = _WHAT.get(line.kind)
    return [] if what is None else [(line.subject, what)]


_WHAT: dict[str, What] = {
    **dict.fromkeys((*STOP, *HANDOVER, *ASKED), What.STOP),
    **dict.fromkeys(ENDS, What.END),
    **dict.fromkeys((BrokerKind.BROKER_FENCED, BrokerKind.BROKER_UNREGISTERED, *OFFLINE), What.GONE),
    **dict.fromkeys((BrokerKind.SESSION_EXPIRED,), What.GONE),
    **dict.fromkeys(
        (
            *STARTS, BrokerKind.START_FAILED, BrokerKind.PREVIOUS_STOP_CLEAN,
            BrokerKind.PREVIOUS_STOP_UNCLEAN, BrokerKind.LOGS_NEW, BrokerKind.BROKER_REGISTERED,
        ), What.START,
    ),
    **dict.fromkeys(
        (*SERVES, BrokerKind.REGISTERED, BrokerKind.BROKER_UNFENCED, *SENT), What.BACK
    ),
}  # fmt: skip


TURNS = frozenset(
    (BrokerKind.BROKERS_CHANGED, *(kind for kind, what in _WHAT.items() if what is not What.BACK))
)
"""The kinds of lines with which an absence may begin, or a process start."""


def parts_of(
    marks: Sequence[tuple[What, BrokerLine]], begins: Sequence[datetime]
) -> Iterator[tuple[datetime | None, list[tuple[What, BrokerLine]]]]:
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


def runs_of(
    marks: Sequence[tuple[What, BrokerLine]], is_of_directory: Callable[[BrokerLine], bool]
) -> list[Run]:
    """Cut a broker's lines into absences; a line of its presence in between closes one.

    Args:
        marks: The lines about the broker, by time.
        is_of_directory: Whether a controller took replicas of the broker offline because a log directory
            failed; what happens to the broker itself later is another absence.
    """
    runs: list[Run] = []
    is_gone = False
    for index, (what, line) in enumerate(marks):
        if is_gone and what is not What.BACK and not is_of_directory(line):
            is_gone = not all(of is What.BACK or is_of_directory(each) for of, each in runs[-1].marks)
        if is_gone:
            runs[-1].add(what, line)
            has_returned = what is What.BACK and is_return(runs[-1], line)
            is_gone = not has_returned or _is_still_starting(marks, index)
        elif what is What.BACK:
            if runs:
                runs[-1].add(what, line)
        elif _is_late(runs, what, line) and not is_of_directory(line):
            runs[-1].add(what, line)
        else:
            runs.append(Run([(what, line)]))
            is_gone = True
    return runs


def is_fenced_registration(line: BrokerLine) -> bool:
    """Return whether a broker registered in KRaft, where it stays fenced until it has recovered its logs."""
    return line.kind == BrokerKind.REGISTERED and _IN_KRAFT in line.line.text


def _is_still_starting(marks: Sequence[tuple[What, BrokerLine]], index: int) -> bool:
    """Return whether a registration is part of a start; in KRaft logs are recovered between the two."""
    is_own = marks[index][1].kind == BrokerKind.REGISTERED
    return is_of_failed_start(marks, index) or (is_own and _next_turn(marks, index) in SERVES)


def is_of_failed_start(marks: Sequence[tuple[What, BrokerLine]], index: int) -> bool:
    """Return whether a broker registered in a start that failed before it served, by a line of ``marks``."""
    is_registration = marks[index][1].kind in (BrokerKind.REGISTERED, BrokerKind.BROKERS_CHANGED)
    return is_registration and _next_turn(marks, index) == BrokerKind.START_FAILED


def _next_turn(marks: Sequence[tuple[What, BrokerLine]], index: int) -> str | None:
    """Return the kind of the next line by which a broker serves, starts, fails to start, or stops."""
    turns = (*SERVES, *STARTS, *STOP, *ENDS, BrokerKind.START_FAILED)
    later = (marks[place][1].kind for place in range(index + 1, len(marks)))
    return next((kind for kind in later if kind in turns), None)


def _is_late(runs: Sequence[Run], what: What, line: BrokerLine) -> bool:
    """Return whether a line shows an absence that is over: a start just logged, or another clock's notice."""
    if not runs:
        return False
    back = runs[-1].first(What.BACK)
    if back is None or line.time > back.time + CLOCKS:
        return False
    return what is What.START or (what is What.GONE and line.role == "controller")


def is_return(run: Run, line: BrokerLine) -> bool:
    """Return whether a line of a broker's presence shows that its absence is over."""
    if is_fenced_registration(line):
        return False
    if line.kind in SENT:
        # A controller still sends requests to a broker that is stopping, at once after its loss, and until
        # the session of a dead one is over.
        last = run.last_loss().time
        is_stopping = run.first(What.STOP) is not None and run.first(What.END, What.START) is None
        is_unnoticed = run.states_only(What.STOP, What.END, What.BACK)
        wait = _SHUTDOWN if is_stopping or is_unnoticed else RESTART
        return line.time > last + wait and not _is_only_stopping(run)
    if line.kind == BrokerKind.BROKER_UNFENCED and line.time > run.last_loss().time + RESTART:
        # The controller unfences only who was fenced, as a broker is when its stop is granted.
        return True
    return not _is_only_stopping(run) or line.kind in SERVES


def _is_only_stopping(run: Run) -> bool:
    return run.states_only(What.STOP, What.BACK)
