"""Stories of one controller as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import pytest

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.controllership import Controllership
from barnabas.cluster.model.partition import PartitionState
from barnabas.controller.core.election.effects import Lost
from barnabas.controller.core.partitions.effects import (
    CreatePartitionStates,
    ReadPartitionStates,
    StatesWritten,
    WritePartitionStates,
)
from barnabas.controller.core.protocol.broker_znodes import IsrChanges
from barnabas.controller.core.protocol.effects import (
    Ask,
    ControllerFence,
    Effect,
    Interruption,
    LogElection,
    LogInfo,
    LogStateChange,
    OpenChannel,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import Input
from barnabas.controller.core.topics.effects import TopicRead


class Transcript:
    """A story of one controller as text: what happens in the world, each input, every effect and reason."""

    def __init__(self, world: Any) -> None:
        self.text: list[str] = []
        self._world = world
        world.scribe = lambda effect, answer: self.text.extend(
            f"    {line}" for line in render(effect, answer)
        )

    def happens(self, what: str, *inputs: Input) -> None:
        """Write down what happened in the world, and have the controller handle what it heard of it."""
        self.text.append(f"= {what}")
        for happened in inputs:
            self.text.append(f"  > {happened}")
            self._world.run(happened)
        self.text.append("")


def render(effect: Effect, answer: object) -> Iterable[str]:
    """One effect in one line, a question with its answer in two."""
    match effect:
        case LogStateChange(line):
            yield f"log  {line.level.name:5} {line.message}"
            if line.cause is not None:
                yield f"           {line.cause}"
        case LogInfo(reason):
            yield f"why  {reason}"
        case LogElection():
            yield f"why  {effect}"
        case SendLeaderAndIsr(broker_id, request):
            states = "; ".join(f"{_partition(p)}{' new' * p.is_new}" for p in request.partitions)
            yield f"send LeaderAndIsr to {broker_id} (broker epoch {request.broker_epoch}): {states}"
        case SendUpdateMetadata(recipients, request):
            parts = [
                f"live {_numbers(b.id for b in request.live_brokers)}",
                *map(_partition, request.partitions),
            ]
            yield f"send UpdateMetadata to {_numbers(recipients)}: {'; '.join(parts)}"
        case SendStopReplica(broker_id, request):
            stops = [
                f"{p.topic_partition} epoch {p.leader_epoch}{' delete' * p.delete}"
                for p in request.partitions
            ]
            yield f"send StopReplica to {broker_id}: {'; '.join(stops)}"
        case OpenChannel(broker):
            yield f"do   OpenChannel to {broker.id} (broker epoch {broker.epoch})"
        case Ask():
            yield f"ask  {_question(effect)}"
            yield f"  -> {_answer(answer)}"
        case _:
            yield f"do   {effect}"


def _partition(partition: Any) -> str:
    return f"{partition.topic_partition} {_state(partition.state)}"


def _state(state: PartitionState) -> str:
    known = state.leader_and_isr
    isr = _numbers(known.isr)
    return f"[leader {known.leader} epoch {known.leader_epoch} isr {isr} version {known.version}]"


def _numbers(some: Iterable[int]) -> str:
    return ",".join(str(number) for number in some)


def _question(question: Ask[Any]) -> str:
    match question:
        case WritePartitionStates(states, fence) | CreatePartitionStates(states, fence):
            parts = "; ".join(f"{tp} {_state(state)}" for tp, state in states.items())
            return f"{type(question).__name__} in epoch {fence.epoch}: {parts}"
        case ReadPartitionStates(tps):
            return f"ReadPartitionStates: {', '.join(map(str, tps))}"
        case _:
            return str(question)


def _answer(answer: object) -> str:
    match answer:
        case None | Interruption() | ControllerFence() | Lost() | int():
            return str(answer)
        case Controllership(None, epoch):
            return f"nobody, epoch {epoch}"
        case Controllership(claim, epoch):
            return f"{claim.named}, {claim.owner.name} owns it, epoch {epoch}"
        case StatesWritten(versions, conflicts, failures):
            written = [f"{tp} version {version}" for tp, version in versions.items()]
            return "; ".join([*written, *(f"{tp} conflict" for tp in sorted(conflicts)), *map(str, failures)])
        case IsrChanges(notes, tps):
            return f"{', '.join(notes) or 'no notes'}: {', '.join(map(str, tps))}"
        case frozenset():
            return ", ".join(map(str, sorted(answer))) or "none"
        case dict():
            return "; ".join(f"{key} {_value(value)}" for key, value in answer.items()) or "none"
    return str(answer)


def _value(value: object) -> str:
    match value:
        case TopicRead(partitions, _):
            return _value(partitions)
        case PartitionState():
            return _state(value)
        case Broker():
            return f"(broker epoch {value.epoch})"
        case dict():
            return ", ".join(
                f"{key}={part}" if isinstance(part, str) else f"{key}: {_numbers(part.replicas)}"
                for key, part in value.items()
            )
        case None:
            return "created"
    return str(value)


@pytest.fixture
def transcript() -> Callable[[Any], Transcript]:
    """Begins a transcript of a world."""
    return Transcript


@pytest.fixture
def unfenced() -> Callable[[ModuleType], set[str]]:
    """The names of the questions in a module of effects that carry no fence: all that only read."""

    def names(module: ModuleType) -> set[str]:
        kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Ask)]
        return {
            kind.__name__ for kind in kinds if kind is not Ask and "fence" not in kind.__dataclass_fields__
        }

    return names
