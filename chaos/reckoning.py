"""What a run of chaos comes to: the problems and the table. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from barnabas.chaos.checker import Verdict, check
from barnabas.chaos.epochs import Epochs
from barnabas.chaos.history import Acked, Joined, Op
from barnabas.chaos.waits import Availability, NemesisStall, availability, by_nemesis
from barnabas.cluster.model.ids import TopicPartition


@dataclass(frozen=True, slots=True)
class Reckoning:
    """The judgement of a run.

    Attributes:
        verdict: On the history.
        epochs: On ZooKeeper's history and the state-change logs.
        problems: Every broken promise, a line each; none where the run passed.
        available: Of each partition that lasted as long as the run.
        stalls: Of each nemesis that struck.
    """

    verdict: Verdict
    epochs: Epochs
    problems: tuple[str, ...]
    available: tuple[Availability, ...]
    stalls: tuple[NemesisStall, ...]

    def lines(self) -> Iterator[str]:
        """The table, for a terminal and for a file."""
        verdict, epochs = self.verdict, self.epochs
        yield f"records sent              {verdict.sent:>10,}"
        yield f"records acknowledged      {verdict.acknowledged:>10,}"
        yield f"  lost                    {len(verdict.lost):>10,}"
        yield f"  not read back           {len(verdict.unread):>10,}"
        yield f"  of deleted topics       {verdict.excused:>10,}"
        yield f"of unknown outcome        {verdict.unknown:>10,}"
        yield f"certainly not written     {verdict.failed:>10,}"
        yield f"duplicated                {len(verdict.duplicated):>10,}"
        yield f"reordered                 {len(verdict.reordered):>10,}"
        yield f"inconsistent offsets      {len(verdict.inconsistent):>10,}"
        yield f"at another offset         {len(verdict.misplaced):>10,}"
        yield f"read, and gone again      {len(verdict.vanished):>10,}"
        yield f"offsets skipped or again  {len(verdict.jumps):>10,}"
        yield f"stale reads               {len(verdict.stale):>10,}"
        for kind, count in sorted(verdict.tolerated.items()):
            yield f"  {kind} where it may be".ljust(26) + f"{count:>10,}"
        yield f"reigns, leader epochs     {epochs.reigns:>10,} {epochs.elections:,}"
        yield f"two acting in one epoch   {len(epochs.problems):>10,}"
        yield ""
        yield "partition          available   longest stall"
        longest = {stall.partition: stall.seconds for stall in verdict.stalls}
        for each in self.available:
            stalled = longest.get(each.partition, 0.0)
            yield f"{each.partition!s:<18} {each.fraction:>9.2%} {stalled:>13.1f} s"
        yield ""
        yield "nemesis                        strikes   longest write stall        slowest recovery"
        for row in self.stalls:
            stall = "none" if row.stall is None else f"{row.stall.seconds:.1f} s {row.stall.partition}"
            unhealed = "never" if row.strikes else "missed"
            recovery = unhealed if row.recovery_s is None else f"{row.recovery_s:.1f} s"
            yield f"{row.nemesis:<30} {row.strikes:>7}   {stall:<26} {recovery}"

    def figures(self) -> dict[str, object]:
        """The same as plain data: times are in seconds, availabilities between 0 and 1."""
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
                "jumps": len(verdict.jumps),
                "stale_reads": len(verdict.stale),
                "tolerated": dict(sorted(verdict.tolerated.items())),
            },
            "epochs": {
                "reigns": epochs.reigns,
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
                    "strikes": row.strikes,
                    "longest_write_stall_s": 0.0 if row.stall is None else row.stall.seconds,
                    "slowest_recovery_s": row.recovery_s,
                }
                for row in self.stalls
            },
            "problems": list(self.problems),
        }


def reckon(
    ops: Iterable[Op], epochs: Epochs, found: Iterable[str], lasting: Iterable[TopicPartition]
) -> Reckoning:
    """Judge a run.

    Args:
        ops: Its history.
        epochs: What ``check_epochs`` found.
        found: Problems that no history tells.
        lasting: The partitions whose availability counts, and which must have taken writes.
    """
    ops = sorted(ops, key=lambda op: op.time)  # threads note what they did a moment after it
    verdict = check(ops)
    wanted = set(lasting)
    return Reckoning(
        verdict,
        epochs,
        (
            *verdict.problems(),
            *_without_any(ops, wanted),
            *(f"epochs: {problem}" for problem in epochs.problems),
            *found,
        ),
        tuple(each for each in availability(ops) if each.partition in wanted),
        by_nemesis(ops),
    )


def _without_any(ops: Sequence[Op], lasting: AbstractSet[TopicPartition]) -> Iterator[str]:
    """Partitions and producers of which a run that passes would say nothing: none of their writes got on."""
    acked = {(op.process, op.partition) for op in ops if isinstance(op, Acked)}
    for partition in sorted(lasting - {partition for _, partition in acked}):
        yield f"no write to {partition} was acknowledged"
    for process in sorted({op.process for op in ops if isinstance(op, Joined)} - {who for who, _ in acked}):
        yield f"no write of {process} was acknowledged"
