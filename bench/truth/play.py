"""A scenario played on a real cluster: faults, a producer and a probe meanwhile, and the logs."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import confluent_kafka

from barnabas.bench.truth.measured import Deed, Measured, at, names_of, span
from barnabas.bench.truth.probe import Probe
from barnabas.bench.truth.scenarios import SILENT, Action, Scenario, Step, resolved
from barnabas.bench.truth.truths import FailedDisk, Span
from barnabas.bench.truth.znodes import Znodes, znodes
from barnabas.chaos.checker.txn_log import read_txns
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths
from barnabas.local.broker_process import CONTROLLERS, RUNNING, STATE
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.expiry import expire_owner
from barnabas.local.observe import Observer
from barnabas.local.switches import Switches
from barnabas.local.zookeeper_wire import Connection

TOPICS = {"a": (3, 3), "b": (3, 2), "c": (3, 1)}
"""The partitions and replicas of the topics by the end of their names."""

MOST_STALLED_S = 1.0
"""The longest delay of a thread with which a scenario still counts."""

_BEAT_S = 0.05
_POLL_S = 0.02
_WAIT_S = 60.0
_SETTLE_S = 1.0
_PRODUCE_S = 0.2
DIRECTORIES = ("one", "two")
"""The log directories of each broker; the first one fails."""

_STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\]", re.ASCII)


class StalledError(Exception):
    """An error for a scenario that proves nothing, because the machine was too busy to run or measure it."""


class Heartbeat:
    """A thread that measures how late it wakes; a context manager.

    Attributes:
        longest_s: The longest delay in seconds.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(_BEAT_S):
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - last - _BEAT_S)
            last = now


@dataclass(slots=True)
class Stage:
    """A running cluster on which scenarios are played, one after the other.

    Attributes:
        cluster: The cluster.
        session_s: Its ZooKeeper session timeout in seconds.
        min_insync: Its min.insync.replicas.
        wait_s: Seconds in which a broker must return.
        switches: The network between its processes; None where no broker is cut off.
    """

    cluster: LocalCluster
    session_s: float
    min_insync: int
    wait_s: float = _WAIT_S
    switches: Switches | None = None
    _away: dict[int, Deed] = field(default_factory=dict)
    _owners: dict[int, int] = field(default_factory=dict)
    _deeds: list[Deed] = field(default_factory=list)
    _disks: list[FailedDisk] = field(default_factory=list)

    def play(self, scenario: Scenario) -> tuple[Measured, dict[str, str]]:
        """Play a scenario, and return its measurements and the logs; the cluster is whole again afterwards.

        Raises:
            ClusterError: A broker did not do as it should.
            StalledError: The machine stood still.
        """
        self._away, self._deeds, self._disks = {}, [], []
        begin = time.time()
        topics = {f"s{scenario.seed}-{end}": count for end, (count, _) in TOPICS.items()}
        observer = Observer(self.cluster.bootstrap)
        for end, (count, replicas) in TOPICS.items():
            observer.create_topic(f"s{scenario.seed}-{end}", partitions=count, replication_factor=replicas)
        addresses = {int(broker.id): broker.kafka for broker in self.cluster.brokers.values()}
        with (
            Heartbeat() as heartbeat,
            Probe(addresses, topics) as probe,
            _producing(self.cluster.bootstrap, topics),
        ):
            time.sleep(_SETTLE_S)
            for step in scenario.steps:
                self._take(step)
            if not self._away:
                self.cluster.wait_ready(self.wait_s)
            else:
                # Until then nobody has noticed, and no line can tell.
                time.sleep(1.5 * self.session_s)
            time.sleep(_SETTLE_S)
        end_at = time.time()
        if heartbeat.longest_s > MOST_STALLED_S:
            raise StalledError(f"this machine stood still for {heartbeat.longest_s:.1f} s")
        self._end_disks(self._disks, at(end_at))
        measured = Measured(
            window=span(begin, end_at),
            deeds=[*self._deeds, *(deed for deed in self._away.values() if deed.action is not Action.DISK)],
            znodes=self._znodes(),
            answers=probe.answers,
            partitions=names_of(topics),
            session=timedelta(seconds=self.session_s),
            min_insync=self.min_insync,
            disks=list(self._disks),
        )
        logs = logs_between(self.cluster.directory, measured.window)
        self._restore(observer, topics)
        return measured, logs

    def _take(self, step: Step) -> None:
        before = [deed.broker for deed in self._away.values()]
        victims = resolved(step, self._controller(), self._alive())
        for group in [[each] for each in victims] if step.is_rolling else [list(victims)]:
            self._strike(step.action, group)
            time.sleep(step.away_s)
            if not step.stays_away:
                self._bring_back(group)
        self._bring_back(before)
        time.sleep(step.rest_s)

    def _strike(self, action: Action, victims: Sequence[int]) -> None:
        begin = time.time()
        number = {Action.KILL: signal.SIGKILL, Action.STOP: signal.SIGTERM}
        for victim in victims:
            if action is Action.EXPIRE or action in SILENT:
                self._owners[victim] = self._owner(victim)
            if action is Action.EXPIRE:
                expire_owner(self.cluster.zookeeper_connect, paths.broker(BrokerId(victim)))
            elif action is Action.CUT:
                self._network().cut(BrokerId(victim))
            elif action is Action.DISK:
                self._fail_disk(victim)
            elif action is Action.PAUSE:
                self.cluster.pause(victim)
            else:
                self.cluster.broker(victim).signal(number[action])
        for victim in victims:
            if action in (Action.KILL, Action.STOP) and not self.cluster.broker(victim).wait(self.wait_s):
                raise ClusterError(f"broker {victim} did not end")
            self._away[victim] = Deed(victim, action, span(begin, time.time()), None)

    def _bring_back(self, victims: Sequence[int]) -> None:
        begins: dict[int, float] = {}
        for victim in victims:
            if self._away[victim].action is Action.DISK:
                self._repair_disk(victim)
            begins[victim] = time.time()
            match self._away[victim].action:
                case Action.PAUSE:
                    self.cluster.resume(victim)
                case Action.CUT:
                    self._network().heal(BrokerId(victim))
                case Action.KILL | Action.STOP:
                    self.cluster.restart(victim, wait=False)
        for victim in victims:
            self._await_return(victim)
            deed = self._away.pop(victim)
            self._deeds.append(Deed(victim, deed.action, deed.gone, span(begins[victim], time.time())))

    def _fail_disk(self, victim: int) -> None:
        directory, aside = self._directory(victim)
        names = tuple(each.name for each in directory.iterdir() if each.is_dir())
        begin = time.time()
        directory.rename(aside)
        self._disks.append(FailedDisk(victim, span(begin, begin), names))

    def _repair_disk(self, victim: int) -> None:
        """Stop a broker, bring its directory back, and let the stop be what returns."""
        begin = time.time()
        self.cluster.broker(victim).signal(signal.SIGTERM)
        if not self.cluster.broker(victim).wait(self.wait_s):
            raise ClusterError(f"broker {victim} did not end")
        gone = span(begin, time.time())
        directory, aside = self._directory(victim)
        aside.rename(directory)
        self._end_disks([each for each in self._disks if each.broker == victim], gone.high)
        self._away[victim] = Deed(victim, Action.STOP, gone, None)

    def _end_disks(self, disks: Iterable[FailedDisk], time: datetime) -> None:
        """Note that a broker could notice until a moment that its log directory was gone."""
        for each in list(disks):
            if each.failed.low == each.failed.high:
                ended = replace(each, failed=Span(each.failed.low, time))
                self._disks[self._disks.index(each)] = ended

    def _directory(self, broker: int) -> tuple[Path, Path]:
        data = self.cluster.directory / f"broker-{broker}" / "data"
        return data / DIRECTORIES[0], data / "failed"

    def _await_return(self, victim: int) -> None:
        broker, deadline = self.cluster.broker(victim), time.monotonic() + self.wait_s
        if self._away[victim].action not in (Action.KILL, Action.STOP):
            while self._owner(victim) in (0, self._owners[victim]):
                if time.monotonic() > deadline:
                    raise ClusterError(f"broker {victim} did not register again: {broker.last_words()}")
                time.sleep(_POLL_S)
            return
        while broker.gauge(STATE) != RUNNING:
            if broker.pid is None or time.monotonic() > deadline:
                raise ClusterError(f"broker {victim} did not return: {broker.last_words()}")
            time.sleep(_POLL_S)

    def _owner(self, broker: int) -> int:
        """Return the session of a broker's registration; 0 if there is none."""
        with Connection(self.cluster.zookeeper_connect, _WAIT_S) as connection:
            connection.connect()
            stat = connection.stat(paths.broker(BrokerId(broker)))
        return 0 if stat is None else stat.owner

    def _network(self) -> Switches:
        if self.switches is None:
            raise ClusterError("the stage has no switches to cut a broker off")
        return self.switches

    def _alive(self) -> list[int]:
        ids = (int(each.id) for each in self.cluster.brokers.values() if each.pid is not None)
        return [each for each in ids if each not in self._away]

    def _controller(self) -> int | None:
        return next(
            (each for each in self._alive() if self.cluster.broker(each).gauge(CONTROLLERS) == 1), None
        )

    def _restore(self, observer: Observer, topics: Mapping[str, int]) -> None:
        self._bring_back(list(self._away))
        self.cluster.wait_ready(self.wait_s)
        deadline = time.monotonic() + self.wait_s
        while left := self._left(topics):
            for topic in left:
                observer.delete_topic(topic)
            if time.monotonic() > deadline:
                raise ClusterError(f"topics are left: {left}")
            time.sleep(_SETTLE_S)

    def _left(self, topics: Iterable[str]) -> list[str]:
        with Connection(self.cluster.zookeeper_connect, _WAIT_S) as connection:
            connection.connect()
            return sorted({*topics} & {*connection.children(paths.TOPICS)})

    def _znodes(self) -> Znodes:
        files = (self.cluster.directory / "zookeeper").glob("datalog/version-2/log.*")
        ordered = sorted(files, key=lambda file: int(file.suffix[1:], 16))
        return znodes(txn for file in ordered for txn in read_txns(file.read_bytes()))


@contextmanager
def _producing(bootstrap: str, topics: Mapping[str, int]) -> Iterator[None]:
    """Produce a record to one partition after the other; ISRs shrink only where something is written."""
    ended = threading.Event()

    def produce() -> None:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": bootstrap, "acks": 1, "message.timeout.ms": 2_000, "log_level": 0}
        )
        targets = [(topic, number) for topic, count in topics.items() for number in range(count)]
        turn = 0
        while not ended.wait(_PRODUCE_S):
            topic, number = targets[turn % len(targets)]
            # Brokers may not know the topic yet.
            with suppress(confluent_kafka.KafkaException):
                producer.produce(topic, b"truth", partition=number)
            producer.poll(0)
            turn += 1
        producer.purge()

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def logs_between(directory: Path, window: Span) -> dict[str, str]:
    """Return what the brokers below a directory logged within a time, by names as ``broker-1/server.log``."""
    found: dict[str, str] = {}
    for log in ("state-change.log", "server.log", "controller.log"):
        for folder in sorted(directory.glob("broker-*/logs")):
            files = sorted(folder.glob(f"{log}*"), key=lambda file: (file.name == log, file.name))
            text = "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
            if text:
                found[f"{folder.parent.name}/{log}"] = "".join(_within(text, window))
    return found


def _within(text: str, window: Span) -> Iterator[str]:
    is_within = False
    for line in text.splitlines(keepends=True):
        stamp = _STAMP.search(line)
        if stamp is not None:
            is_within = window.low <= datetime.strptime(stamp[1], "%Y-%m-%d %H:%M:%S,%f") <= window.high  # noqa: DTZ007
        if is_within:
            yield line
