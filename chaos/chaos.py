"""A chaos run: faults by a schedule while traffic runs, and a recovered cluster after each of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import confluent_kafka

from barnabas.chaos.nemeses.faults import InjectedFault
from barnabas.chaos.nemeses.nemeses import inject
from barnabas.chaos.nemeses.schedule import Kind, Role, Step, choose
from barnabas.chaos.recovery import (
    NotRecoveredError,
    differing,
    ended,
    revive,
    undeleted,
    wait_until_undone,
    wait_until_whole,
)
from barnabas.chaos.targets.disk import DiskError
from barnabas.chaos.targets.links import NetworkError
from barnabas.chaos.targets.targets import Targets
from barnabas.chaos.workload.traffic import ClientFailed, Traffic
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.errors import ClusterError
from barnabas.local.observe import ClusterView, Observer
from barnabas.local.zookeeper_jars import ZooKeeperStartError
from barnabas.local.zookeeper_wire import WireError
from barnabas.workload.history import Disturbed, History, Phase

RECOVERY_TIMEOUT_S = 180.0
"""The longest time from healing to a recovered cluster, which takes seconds on a quiet machine."""

DELETION_TIMEOUT_S = 120.0
"""The longest time from the end of all writing to equal replicas, and to the end of deleted topics."""

OVERTIME_STEPS = 12
"""The most steps beyond its time that a run takes to get its first fault or cut; after them it fails."""

_NOT_POSSIBLE = (ClusterError, ZooKeeperStartError, NetworkError, DiskError, WireError, OSError)


@dataclass
class Findings:
    """The findings of a run in addition to its history.

    Attributes:
        problems: Broken promises that the history does not show, a line each.
        notes: Remarks for the reader, a line each.
        cuts: Steps with a cut that dropped packets.
        steps: Steps with a fault after which the cluster recovered.
    """

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cuts: int = 0
    steps: int = 0


class Chaos:
    """A chaos run that injects faults by a schedule while traffic runs.

    Args:
        targets: The targets, which are running already.
        history: The history to which every operation and fault is appended.
        say: Prints a line of progress.
        flushed: Whether each write to the topics is synced before it is acknowledged.
    """

    def __init__(
        self, targets: Targets, history: History, say: Callable[[str], None], *, flushed: bool = False
    ) -> None:
        self._targets = targets
        self._history = history
        self._say = say
        self._observer = Observer(targets.cluster.bootstrap)
        self._traffic = Traffic(targets.cluster.bootstrap, history, flushed=flushed)
        self._view = ClusterView()
        self._is_whole = False
        self.findings = Findings()

    def run(self, steps: Iterator[Step], seconds: float, *, least_cuts: int = 0) -> None:
        """Run ``steps`` while there is time, then end the traffic and read everything back.

        On a slow machine the run continues until one step succeeded and ``least_cuts`` steps cut the network,
        for at most ``OVERTIME_STEPS`` more steps.
        """
        self._traffic.start()
        try:
            self._go_through(steps, seconds, least_cuts)
            self._end()
        except BaseException:
            self._traffic.halt()  # otherwise the interpreter would wait for its threads forever
            raise

    def _go_through(self, steps: Iterator[Step], seconds: float, least_cuts: int) -> None:
        try:
            self._traffic.wait_for_progress(RECOVERY_TIMEOUT_S)
            deadline = time.monotonic() + seconds
            overtime = 0
            for step in steps:
                time.sleep(step.calm_s)
                if time.monotonic() + step.hold_s > deadline:
                    is_enough = self.findings.steps > 0 and self.findings.cuts >= least_cuts
                    if is_enough or overtime == OVERTIME_STEPS:
                        break
                    overtime += 1
                self._step(step)
            self._is_whole = True
        except (NotRecoveredError, ClientFailed, TimeoutError, ClusterError, ZooKeeperStartError) as error:
            self.findings.problems.append(f"the cluster did not recover: {error}")

    def _end(self) -> None:
        self.findings.problems += self._traffic.stop()
        deleted = frozenset(self._traffic.churn.deleted)
        self.findings.notes.append(
            f"{self._traffic.churn.created} topics were created, {self._traffic.churn.created_again} of them "
            f"under the name of a deleted one; {len(deleted)} stay deleted, with those whose creation had an "
            "unknown outcome"
        )
        self.findings.problems += undeleted(
            self._targets.cluster, self._observer.look, deleted, DELETION_TIMEOUT_S
        )
        self.findings.problems += differing(
            self._targets.log_dirs, self._traffic.partitions, DELETION_TIMEOUT_S
        )
        if self._is_whole:  # otherwise a broker may still be down because of a fault that was not healed
            self.findings.problems += ended(self._targets.cluster)

    def _step(self, step: Step) -> None:
        injected = self._inject(step)
        faults = [fault for _, fault in injected]
        time.sleep(step.hold_s)
        dropped = self._heal(step, faults)
        if any(kind.is_cut for kind, _ in injected) and dropped:
            self.findings.cuts += 1
        healed = self._history.now()
        self._targets.ensemble.wait_ready(RECOVERY_TIMEOUT_S)
        allowed = {broker for fault in faults for broker in fault.deadly}
        self.findings.problems += revive(self._targets.cluster, allowed)
        wait_until_whole(
            self._targets.cluster, self._observer.look, self._traffic.partitions, RECOVERY_TIMEOUT_S
        )
        wait_until_undone([fault for _, fault in injected], RECOVERY_TIMEOUT_S)
        self._traffic.wait_for_progress(RECOVERY_TIMEOUT_S)
        self._note(step, Phase.RECOVERED)
        self.findings.steps += any(not fault.missed for _, fault in injected)
        packets = f", {dropped} packets dropped" if dropped else ""
        self._say(f"    recovered {self._history.now() - healed:.1f} s after the healing{packets}")

    def _inject(self, step: Step) -> list[tuple[Kind, InjectedFault]]:
        faults: list[tuple[Kind, InjectedFault]] = []
        # Two nemeses of a step never share a victim: the second chooses among the brokers that still stand.
        hit: set[BrokerId] = set()
        for kind, die in zip(step.kinds, step.dice, strict=True):
            standing = [
                b.id for b in self._targets.cluster.brokers.values() if b.pid is not None and b.id not in hit
            ]
            victims = choose(kind.role, die, self._look(), standing)
            hit.update(victims)
            names = ", ".join(map(str, victims))
            self._history.add(Disturbed(self._history.now(), kind.name, Phase.INJECT, names))
            with self._noting(kind):
                if not victims and kind.role is not Role.NOBODY:
                    raise ClusterError("no broker is left as a victim")
                fault = inject(kind.name, self._targets, victims)
                faults.append((kind, fault))
                if fault.missed:
                    raise ClusterError(fault.missed)
        details = "; ".join(fault.detail for _, fault in faults) or "nothing could be done"
        self._say(
            f"{self._history.now():7.1f} s  {step.number:3}  {step.name}: {details}, {step.hold_s:.1f} s"
        )
        return faults

    @contextlib.contextmanager
    def _noting(self, kind: Kind) -> Iterator[None]:
        """Record that a nemesis missed, for example because the session that it should end is gone."""
        try:
            yield
        except _NOT_POSSIBLE as error:
            self.findings.notes.append(f"{kind.name} could not be injected: {error}")
            self._history.add(Disturbed(self._history.now(), kind.name, Phase.MISSED, str(error)))

    def _heal(self, step: Step, faults: Sequence[InjectedFault]) -> int:
        self._note(step, Phase.HEAL)
        dropped = self._targets.links.heal()
        for fault in reversed(faults):
            fault.heal()
        return dropped

    def _note(self, step: Step, phase: Phase) -> None:
        for kind in step.kinds:
            self._history.add(Disturbed(self._history.now(), kind.name, phase, ""))

    def _look(self) -> ClusterView:
        """Return the cluster as clients see it now; the last such view if no broker answers."""
        with contextlib.suppress(confluent_kafka.KafkaException):
            self._view = self._observer.look(timeout_s=2.0)
        return self._view
