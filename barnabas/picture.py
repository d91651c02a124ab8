"""The demo's pictures of the cluster and the verdict, as functions from data to rich tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from barnabas.chaos.checker import Verdict
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.local.observe import ClusterView, PartitionView

STALL_SHOWN_S = 0.5
"""The seconds of waiting from which a partition is shown as unavailable for writes."""


SOURCE = "As brokers tell it to clients: a few seconds late."
"""The note below leaders and ISRs, which come from Metadata and so lag behind the controller."""

SPAN = "The longest time between two acknowledgements in which a write waited."
"""The note below the stalls."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of a picture.

    Attributes:
        view: The cluster as a client sees it.
        processes: The process id of each broker; None for dead ones.
        epoch: The controller epoch.
        acknowledged: The number of acknowledged records of each partition so far.
        waiting_s: The seconds for which writes to each partition have been waiting.
    """

    view: ClusterView = field(default_factory=ClusterView)
    processes: Mapping[BrokerId, int | None] = field(default_factory=dict)
    epoch: int = 0
    acknowledged: Mapping[TopicPartition, int] = field(default_factory=dict)
    waiting_s: Mapping[TopicPartition, float] = field(default_factory=dict)


def cluster_picture(scene: Scene) -> RenderableType:
    """Draw the brokers above the partitions."""
    return Group(_brokers(scene), _partitions(scene))


def _brokers(scene: Scene) -> Table:
    table = _table("broker", "process", "role", "leads")
    for broker, pid in sorted(scene.processes.items()):
        is_controller = scene.view.controller == broker
        role = Text(f"controller, epoch {scene.epoch}", "bold magenta") if is_controller else Text("")
        alive = Text(f"pid {pid}", "green") if pid is not None else Text("dead", "bold red")
        table.add_row(str(broker), alive, role, str(scene.view.led_by(broker)))
    return table


def _partitions(scene: Scene) -> Table:
    table = _table("partition", "leader", "in sync", "acknowledged", "writes")
    table.caption = SOURCE
    for tp, partition in scene.view.partitions.items():
        table.add_row(
            str(tp),
            _leader(partition, scene.processes),
            _isr(partition),
            f"{scene.acknowledged.get(tp, 0):,}",
            _writes(scene.waiting_s.get(tp, 0.0)),
        )
    return table


def _leader(partition: PartitionView, processes: Mapping[BrokerId, int | None]) -> Text:
    if partition.leader is None:
        return Text("none", "bold red")
    dead = partition.leader in processes and processes[partition.leader] is None
    return Text(f"{partition.leader}, dead", "red") if dead else Text(str(partition.leader), "green")


def _isr(partition: PartitionView) -> Text:
    """Draw the replicas in their order, with a dot for each out of sync."""
    whole = len(partition.isr) == len(partition.replicas)
    shown = " ".join(str(r) if r in partition.isr else "·" for r in partition.replicas)
    return Text(shown, "green" if whole else "yellow")


def _writes(waiting_s: float) -> Text:
    if waiting_s < STALL_SHOWN_S:
        return Text("flow", "green")
    return Text(f"wait {waiting_s:.1f} s", "bold red")


def verdict_picture(verdict: Verdict) -> RenderableType:
    """Draw the longest stall of each partition, the counts, and the problems."""
    numbers = _table("acknowledged", "read", "lost", "duplicated", "reordered", "outcome unknown")
    numbers.add_row(
        f"{verdict.acknowledged:,}",
        f"{verdict.read:,}",
        _count(verdict.missing),
        _count(len(verdict.duplicated)),
        _count(len(verdict.reordered)),
        f"{verdict.unknown:,}",
    )
    stalls = _table("partition", "nothing acknowledged for")
    stalls.caption = SPAN
    for stall in verdict.stalls:
        stalls.add_row(str(stall.partition), f"{stall.seconds:.1f} s")
    problems = [Text(problem, "bold red") for problem in verdict.problems()]
    return Group(stalls, numbers, *problems)


def _count(number: int) -> Text:
    return Text(f"{number:,}", "bold red" if number else "bold green")


def _table(*columns: str) -> Table:
    table = Table(header_style="dim", caption_style="dim", caption_justify="left")
    for column in columns:
        table.add_column(column, min_width=len(column), justify="left")
    return table
