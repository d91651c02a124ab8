"""The demo's pictures, as functions from data: tables of rich, and the failover over time as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, pairwise
from typing import NamedTuple
from xml.sax.saxutils import escape

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from barnabas.checker.checker import Verdict
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


class Frame(NamedTuple):
    """A scene and its time.

    Attributes:
        at_s: Seconds since the first frame.
        scene: The scene.
    """

    at_s: float
    scene: Scene


class _Span(NamedTuple):
    """A time during which a row looks the same: from ``begin`` to ``end``, in seconds."""

    begin: float
    end: float
    look: tuple[str, str]
    """The class and the words of the bar."""


_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 900, 96, 16, 84, 26
"""Measures of the picture in pixels: its width, the room for names, the margin, the head, a row."""

_LEGEND = (
    "Above, when each broker ran; below, who led each partition. "
    "Pale: writes wait. Dashed: dead, or no leader."
)

_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1b1f24 }
.quiet { fill: #5b6470 } .head { font-weight: 600 }
.b1 { fill: #3b82f6 } .b2 { fill: #e08a1e } .b3 { fill: #2f9e57 } .b0 { fill: #8b6fc9 }
.dead, .none { fill: #fff; stroke: #c53030; stroke-dasharray: 4 3 } .wait { fill-opacity: .3 }
.bar { font-size: 12px; fill: #fff } .red { fill: #c53030 }
.mark { stroke: #c53030 } .back { stroke: #2c8a4b }
"""


def failover_picture(frames: Sequence[Frame], verdict: Verdict) -> str:
    """Draw what happened over time as SVG: brokers that die and return, and who leads each partition.

    Args:
        frames: The scenes in the order of time; at least one.
        verdict: The judgement, for the sentence below.
    """
    last = frames[-1]
    brokers, partitions = sorted(last.scene.processes), sorted(last.scene.view.partitions)
    rows = len(brokers) + len(partitions)
    bottom = _TOP + rows * _ROW + 12
    scale = (_WIDTH - _LEFT - _RIGHT) / max(last.at_s, 1.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 66}">',
        f'<style>{_STYLE}</style><rect width="100%" height="100%" rx="8" fill="#f6f7f9"/>',
        f'<text class="head" x="16" y="28">{escape(_headline(frames))}</text>',
        f'<text class="quiet" x="16" y="48">{_LEGEND}</text>',
    ]
    names = [f"broker {broker}" for broker in brokers] + [str(partition) for partition in partitions]
    looks: list[Callable[[Scene], tuple[str, str]]] = [
        *(partial(_broker_look, broker) for broker in brokers),
        *(partial(_partition_look, partition) for partition in partitions),
    ]
    for row, (name, look) in enumerate(zip(names, looks, strict=True)):
        y = _TOP + row * _ROW + (12 if row >= len(brokers) else 0)
        parts.append(f'<text x="16" y="{y + 15}">{escape(name)}</text>')
        parts += [_bar(span, y, scale) for span in _spans(frames, look)]
    parts += [_mark(at_s, broker, died, bottom, scale) for at_s, broker, died in _deaths(frames)]
    step = max(1, round(last.at_s / 10))
    for second in range(0, int(last.at_s) + 1, step):
        x = _LEFT + second * scale
        parts.append(
            f'<text class="quiet" x="{x:.0f}" y="{bottom + 18}" text-anchor="middle">{second} s</text>'
        )
    parts.append(f'<text class="head" x="16" y="{bottom + 48}">{escape(_sentence(verdict))}</text></svg>\n')
    return "\n".join(parts)


def _broker_look(broker: BrokerId, scene: Scene) -> tuple[str, str]:
    if scene.processes.get(broker) is None:
        return "dead", "dead"
    is_controller = scene.view.controller == broker
    return _color(broker), f"controller, epoch {scene.epoch}" if is_controller else ""


def _partition_look(partition: TopicPartition, scene: Scene) -> tuple[str, str]:
    view = scene.view.partitions.get(partition)
    if view is None or view.leader is None or scene.processes.get(view.leader) is None:
        return "none", "no leader"
    waits = scene.waiting_s.get(partition, 0.0) >= STALL_SHOWN_S
    return f"{_color(view.leader)}{' wait' if waits else ''}", "" if waits else f"broker {view.leader} leads"


def _color(broker: BrokerId) -> str:
    return f"b{broker % 4}"


def _spans(frames: Sequence[Frame], look: Callable[[Scene], tuple[str, str]]) -> Iterator[_Span]:
    """Yield the times during which a row looks the same; each lasts until the next begins."""
    groups = [(key, next(same).at_s) for key, same in groupby(frames, lambda frame: look(frame.scene))]
    ends = [begin for _, begin in groups[1:]] + [frames[-1].at_s]
    for (key, begin), end in zip(groups, ends, strict=True):
        yield _Span(begin, end, key)


def _bar(span: _Span, y: int, scale: float) -> str:
    kind, words = span.look
    x, width = _LEFT + span.begin * scale, max(1.0, (span.end - span.begin) * scale)
    bar = f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 6}" rx="3"/>'
    if width < 7.5 * len(words) or not words:
        return bar
    color = "red" if kind in ("dead", "none") else "bar"
    return f'{bar}<text class="{color}" x="{x + 6:.1f}" y="{y + 14}">{escape(words)}</text>'


def _deaths(frames: Sequence[Frame]) -> Iterator[tuple[float, BrokerId, bool]]:
    """Yield when each broker died (True) or returned (False)."""
    for broker in sorted(frames[-1].scene.processes):
        lives = [(frame.scene.processes.get(broker) is not None, frame.at_s) for frame in frames]
        for (lived, _), (lives_now, at_s) in pairwise(lives):
            if lived != lives_now:
                yield at_s, broker, lived


def _mark(at_s: float, broker: BrokerId, died: bool, bottom: int, scale: float) -> str:
    x = _LEFT + at_s * scale
    kind = "mark" if died else "back"
    line = f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{bottom}"/>'
    if not died:
        return line
    return f'{line}<text class="red" x="{x:.1f}" y="{_TOP - 14}" text-anchor="middle">kill -9 {broker}</text>'


def _headline(frames: Sequence[Frame]) -> str:
    victims = []
    for at_s, broker, died in sorted(_deaths(frames)):
        if died:
            *_, before = (frame.scene for frame in frames if frame.at_s < at_s)
            role = ", the controller," if before.view.controller == broker else ""
            victims.append(f"broker {broker}{role} after {at_s:.0f} s")
    return f"Killed with SIGKILL under load: {' and '.join(victims) or 'nobody'}."


def _sentence(verdict: Verdict) -> str:
    return (
        f"{verdict.acknowledged:,} records acknowledged, {verdict.read:,} read back: "
        f"{verdict.missing:,} lost, {len(verdict.duplicated):,} duplicated, "
        f"{len(verdict.reordered):,} out of order."
    )
