"""A run of chaos: strikes by a schedule while traffic runs, and a whole cluster after each of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import confluent_kafka

from barnabas.chaos.arena import Arena
from barnabas.chaos.blows import Blow
from barnabas.chaos.disk import DiskError
from barnabas.chaos.history import Disturbed, History, Phase
from barnabas.chaos.links import NetworkError
from barnabas.chaos.nemeses import strike
from barnabas.chaos.recovery import (
    NotRecoveredError,
    differing,
    ended,
    revive,
    undeleted,
    wait_until_undone,
    wait_until_whole,
)
from barnabas.chaos.schedule import Kind, Role, Step, choose
from barnabas.chaos.traffic import ClientFailed, Traffic
from barnabas.chaos.zookeeper_wire import WireError
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.cluster import ClusterError
from barnabas.local.observe import ClusterView, Observer
from barnabas.local.zookeeper_jars import ZooKeeperStartError

RECOVERY_TIMEOUT_S = 180.0
"""From healing to a whole cluster: seconds on a quiet machine; longer than this and it hangs."""

DELETION_TIMEOUT_S = 120.0
"""From the end of all writing to replicas that are the same, and to deleted topics that are gone."""

OVERTIME_STEPS = 12
"""How many steps beyond its time a run takes that had no fault or no cut by then; after them it fails."""

_NOT_POSSIBLE = (ClusterError, ZooKeeperStartError, NetworkError, DiskError, WireError, OSError)


@dataclass
class Findings:
    """What a run found besides its history.

    Attributes:
        problems: Broken promises that no history tells, a line each.
        notes: What is worth telling, a line each.
        cuts: Steps with a cut that dropped packets.
        steps: Steps in which something was struck, and after which the cluster was whole again.
    """

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cuts: int = 0
    steps: int = 0


class Chaos:
    """Strikes an arena by a schedule while traffic runs.

    Args:
        arena: Runs already.
        history: Where everything is noted.
        say: Takes a line of progress.
        flushed: Whether each write to the topics is synced before it is acknowledged.
    """

    def __init__(
        self, arena: Arena, history: History, say: Callable[[str], None], *, flushed: bool = False
    ) -> None:
        self._arena = arena
        self._history = history
        self._say = say
        self._observer = Observer(arena.cluster.bootstrap)
        self._traffic = Traffic(arena.cluster.bootstrap, history, flushed=flushed)
        self._view = ClusterView()
        self._is_whole = False
        self.findings = Findings()

    def run(self, steps: Iterator[Step], seconds: float, *, least_cuts: int = 0) -> None:
        """Go through ``steps`` as long as there is time, then end the traffic and read everything back.

        However slow the machine, it goes on until there was a step, and ``least_cuts`` steps cut the network,
        but for no more than ``OVERTIME_STEPS`` steps.
        """
        self._traffic.start()
        try:
            self._go_through(steps, seconds, least_cuts)
            self._end()
        except BaseException:
            self._traffic.halt()  # or the interpreter would wait for its threads for ever
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
            f"{self._traffic.churn.created} topics were created; {len(deleted)} were deleted, with those of "
            "which nobody could say whether they had been created"
        )
        self.findings.problems += undeleted(
            self._arena.cluster, self._observer.look, deleted, DELETION_TIMEOUT_S
        )
        self.findings.problems += differing(
            self._arena.log_dirs, self._traffic.partitions, DELETION_TIMEOUT_S
        )
        if self._is_whole:  # else who is missing may have been struck, and nothing healed it
            self.findings.problems += ended(self._arena.cluster)

    def _step(self, step: Step) -> None:
        struck = self._strike(step)
        blows = [blow for _, blow in struck]
        time.sleep(step.hold_s)
        dropped = self._heal(step, blows)
        if any(kind.is_cut for kind, _ in struck) and dropped:
            self.findings.cuts += 1
        healed = self._history.now()
        self._arena.ensemble.wait_ready(RECOVERY_TIMEOUT_S)
        allowed = {broker for blow in blows for broker in blow.deadly}
        self.findings.problems += revive(self._arena.cluster, allowed)
        wait_until_whole(
            self._arena.cluster, self._observer.look, self._traffic.partitions, RECOVERY_TIMEOUT_S
        )
        wait_until_undone([blow for _, blow in struck], RECOVERY_TIMEOUT_S)
        self._traffic.wait_for_progress(RECOVERY_TIMEOUT_S)
        self._note(step, Phase.RECOVERED)
        self.findings.steps += any(not blow.missed for _, blow in struck)
        packets = f", {dropped} packets dropped" if dropped else ""
        self._say(f"    whole again {self._history.now() - healed:.1f} s after the healing{packets}")

    def _strike(self, step: Step) -> list[tuple[Kind, Blow]]:
        blows: list[tuple[Kind, Blow]] = []
        struck: set[BrokerId] = set()
        for kind, die in zip(step.kinds, step.dice, strict=True):
            standing = [
                b.id for b in self._arena.cluster.brokers.values() if b.pid is not None and b.id not in struck
            ]
            victims = choose(kind.role, die, self._look(), standing)
            struck.update(victims)
            names = ", ".join(map(str, victims))
            self._history.add(Disturbed(self._history.now(), kind.name, Phase.STRIKE, names))
            with self._noting(kind):
                if not victims and kind.role is not Role.NOBODY:
                    raise ClusterError("no broker is left to hit")
                blow = strike(kind.name, self._arena, victims)
                blows.append((kind, blow))
                if blow.missed:
                    raise ClusterError(blow.missed)
        details = "; ".join(blow.detail for _, blow in blows) or "nothing could be done"
        self._say(
            f"{self._history.now():7.1f} s  {step.number:3}  {step.name}: {details}, {step.hold_s:.1f} s"
        )
        return blows

    @contextlib.contextmanager
    def _noting(self, kind: Kind) -> Iterator[None]:
        """A nemesis may find nothing to strike (a session that ended already, a ZooKeeper that is down)."""
        try:
            yield
        except _NOT_POSSIBLE as error:
            self.findings.notes.append(f"{kind.name} could not strike: {error}")
            self._history.add(Disturbed(self._history.now(), kind.name, Phase.MISSED, str(error)))

    def _heal(self, step: Step, blows: Sequence[Blow]) -> int:
        self._note(step, Phase.HEAL)
        dropped = self._arena.links.heal()
        for blow in reversed(blows):
            blow.heal()
        return dropped

    def _note(self, step: Step, phase: Phase) -> None:
        for kind in step.kinds:
            self._history.add(Disturbed(self._history.now(), kind.name, phase, ""))

    def _look(self) -> ClusterView:
        """The cluster now, or as it was seen last where nobody answers."""
        with contextlib.suppress(confluent_kafka.KafkaException):
            self._view = self._observer.look(timeout_s=2.0)
        return self._view
