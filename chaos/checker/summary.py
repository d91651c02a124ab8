"""The summary of a chaos run: its problems and its table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from barnabas.chaos.checker.commits import WentBack, went_back
from barnabas.chaos.checker.epochs import Epochs
from barnabas.checker.checker import Verdict, check
from barnabas.checker.waits import Availability, NemesisStall, availability, by_nemesis
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Acked, Committed, Joined, Op


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a run.

    Attributes:
        verdict: The verdict on the history.
        epochs: The check of ZooKeeper's history and the state-change logs.
        problems: Every broken promise, a line each; empty if the run passed.
        available: The availability of each partition that existed during the whole run.
        commits: The number of acknowledged commits of the consumer group.
        backward: The commits that went back.
        stalls: The longest write stall with each nemesis.
    """

    verdict: Verdict
    epochs: Epochs
    problems: tuple[str, ...]
    available: tuple[Availability, ...]
    commits: int
    backward: tuple[WentBack, ...]
    stalls: tuple[NemesisStall, ...]

    def lines(self) -> Iterator[str]:
        """Generate the lines of the table."""
        verdict, epochs = self.verdict, self.epochs
        yield f"records sent              {verdict.sent:>10,}"
        yield f"records acknowledged      {verdict.acknowledged:>10,}"
        yield f"  lost                    {len(verdict.lost):>10,}"
        yield f"  not read back           {len(verdict.unread):>10,}"
        yield f"  of deleted topics       {verdict.excused:>10,}"
        yield f"unknown outcome           {verdict.unknown:>10,}"
        yield f"certainly not written     {verdict.failed:>10,}"
        yield f"duplicated                {len(verdict.duplicated):>10,}"
        yield f"reordered                 {len(verdict.reordered):>10,}"
        yield f"inconsistent offsets      {len(verdict.inconsistent):>10,}"
        yield f"at a wrong offset         {len(verdict.misplaced):>10,}"
        yield f"read, then missing        {len(verdict.vanished):>10,}"
        yield f"of a former topic         {len(verdict.resurrected):>10,}"
        yield f"offsets out of sequence   {len(verdict.jumps):>10,}"
        yield f"stale reads               {len(verdict.stale):>10,}"
        yield f"commits acknowledged      {self.commits:>10,}"
        yield f"  went back               {len(self.backward):>10,}"
        for kind, count in sorted(verdict.tolerated.items()):
            yield f"  {kind}, tolerated".ljust(26) + f"{count:>10,}"
        yield f"controller, leader epochs {epochs.controllers:>10,} {epochs.elections:,}"
        yield f"two acting in one epoch   {len(epochs.problems):>10,}"
        yield ""
        yield "partition          available   longest stall"
        longest = {stall.partition: stall.seconds for stall in verdict.stalls}
        for each in self.available:
            stalled = longest.get(each.partition, 0.0)
            yield f"{each.partition!s:<18} {each.fraction:>9.2%} {stalled:>13.1f} s"
        yield ""
        yield "nemesis                          times   longest write stall        slowest recovery"
        for row in self.stalls:
            stall = "none" if row.stall is None else f"{row.stall.seconds:.1f} s {row.stall.partition}"
            unhealed = "never" if row.injections else "missed"
            recovery = unhealed if row.recovery_s is None else f"{row.recovery_s:.1f} s"
            yield f"{row.nemesis:<30} {row.injections:>7}   {stall:<26} {recovery}"

    def figures(self) -> dict[str, object]:
        """Return the table as plain data, with times in seconds and availabilities between 0 and 1."""
        verdict, epochs = self.verdict, self.epochs
        longest = {stall.partition: stall.seconds for stall in verdict.stalls}
        return {
            "records": {
                "sent": verdict.sent,
                "acknowledged": verdict.acknowledged,
                "lost": len(verdict.lost),
                "unread": len(verdict.unread),
                "of_deleted_topics": verdict.excused,
                "unknown": verdict.unknown,
                "failed": verdict.failed,
                "duplicated": len(verdict.duplicated),
                "reordered": len(verdict.reordered),
                "inconsistent": len(verdict.inconsistent),
                "misplaced": len(verdict.misplaced),
                "vanished": len(verdict.vanished),
                "resurrected": len(verdict.resurrected),
                "jumps": len(verdict.jumps),
                "stale_reads": len(verdict.stale),
                "tolerated": dict(sorted(verdict.tolerated.items())),
            },
            "commits": {"acknowledged": self.commits, "went_back": len(self.backward)},
            "epochs": {
                "controllers": epochs.controllers,
                "elections": epochs.elections,
                "broken": len(epochs.problems),
            },
            "partitions": {
                str(each.partition): {
                    "availability": each.fraction,
                    "longest_write_stall_s": longest.get(each.partition, 0.0),
                }
                for each in self.available
            },
            "nemeses": {
                row.nemesis: {
                    "injections": row.injections,
                    "longest_write_stall_s": 0.0 if row.stall is None else row.stall.seconds,
                    "slowest_recovery_s": row.recovery_s,
                }
                for row in self.stalls
            },
            "problems": list(self.problems),
        }


def summarize(
    ops: Iterable[Op], epochs: Epochs, found: Iterable[str], lasting: Iterable[TopicPartition]
) -> Summary:
    """Judge a run and summarize it.

    Args:
        ops: The history of the run.
        epochs: The result of ``check_epochs``.
        found: Problems that the history does not show.
        lasting: The partitions whose availability counts, and which must have accepted writes.
    """
    ops = sorted(ops, key=lambda op: op.time)  # threads append an op a moment after its time
    verdict = check(ops)
    wanted = set(lasting)
    backward = tuple(went_back(ops))
    return Summary(
        verdict,
        epochs,
        (
            *verdict.problems(),
            *_without_any(ops, wanted),
            *(f"a commit went back: {each}" for each in backward),
            *(f"epochs: {problem}" for problem in epochs.problems),
            *found,
        ),
        tuple(each for each in availability(ops) if each.partition in wanted),
        sum(isinstance(op, Committed) for op in ops),
        backward,
        by_nemesis(ops),
    )


def _without_any(ops: Sequence[Op], lasting: AbstractSet[TopicPartition]) -> Iterator[str]:
    """Find the partitions and producers without any acknowledged write, about which a run proves nothing."""
    acked = {(op.process, op.partition) for op in ops if isinstance(op, Acked)}
    for partition in sorted(lasting - {partition for _, partition in acked}):
        yield f"no write to {partition} was acknowledged"
    for process in sorted({op.process for op in ops if isinstance(op, Joined)} - {who for who, _ in acked}):
        yield f"no write of {process} was acknowledged"
