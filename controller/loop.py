"""Kafka's ``ControllerEventManager``: takes inputs from the mailbox and handles one at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import structlog

from barnabas.cluster.runtime.collector import MANY_PARTITIONS, long_lived
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.runtime.mailbox import Mailbox
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.context.measures import ControllerGauges, Measures, rate_and_time
from barnabas.controller.core.decide import decide, event_of, kind_of, recover, refuse
from barnabas.controller.core.protocol.effects import Ask, ControllerFence, Decision, Effect
from barnabas.controller.core.protocol.inputs import (
    ControllerState,
    Expire,
    Input,
    ShutdownEventThread,
)
from barnabas.controller.perform import Performer
from barnabas.controller.zookeeper.watches import Coalescer

_log = structlog.stdlib.get_logger("kafka.controller.ControllerEventManager")

T = TypeVar("T")

LONGEST_TURN_S = 0.01
"""The seconds for which performing effects may occupy the event loop before other tasks get a turn."""

STRETCH = 1_000
"""The most effects that a decision may yield before they are performed, which bounds their memory."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the mailbox.

    Attributes:
        happened: The input.
        is_signal: Whether it only asks to read something again, so that one such entry suffices.
        handled: Resolved when the entry was handled or dropped; None if nobody waits for that.
    """

    happened: Input
    is_signal: bool = False
    handled: asyncio.Future[None] | None = None

    def tell_handled(self) -> None:
        """Resolve `handled`, unless its waiter was cancelled, such as by a broker that stops."""
        if self.handled is not None and not self.handled.done():
            self.handled.set_result(None)


@dataclass(slots=True)
class _Stretch:
    """The progress of a decision on its thread.

    Attributes:
        effects: The effects to perform, in order; none of them has an answer.
        question: The ask that the decision waits for; None if it has ended or paused after `STRETCH` effects.
        has_ended: Whether the decision has ended, with or without an error.
        failure: The error that ended it.
    """

    effects: list[Effect] = field(default_factory=list)
    question: Ask[Any] | None = None
    has_ended: bool = False
    failure: Exception | None = None


def _advance(decision: Decision[None], answer: object) -> _Stretch:
    """Run ``decision`` up to its next question, its end or `STRETCH` effects, however long that takes."""
    stretch = _Stretch()
    try:
        effect = decision.throw(answer) if isinstance(answer, BaseException) else decision.send(answer)
        while not isinstance(effect, Ask):
            stretch.effects.append(effect)
            if len(stretch.effects) == STRETCH:
                return stretch
            effect = next(decision)
        stretch.question = effect
    except StopIteration:
        stretch.has_ended = True
    except Exception as error:  # noqa: BLE001  (what was decided before it is performed first)
        stretch.has_ended, stretch.failure = True, error
    return stretch


class ControllerLoop:
    """Handles the entries of one mailbox, one at a time, each to its end.

    Decisions run on a thread of their own, as in Kafka (``ControllerEventThread``), so that the event loop,
    on which the broker serves its clients, does not wait for a decision about many partitions. Effects are
    performed on the event loop. While a decision runs, nothing else changes the context, and the event loop
    reads only single fields of it.

    Args:
        context: The controller context, which only decisions may change.
        performer: The performer of effects.
        metrics: The metrics of the queue, the events and the cluster.
        clock: Returns monotonic seconds.
    """

    def __init__(
        self,
        context: ControllerContext,
        performer: Performer,
        metrics: Metrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._context = context
        self._performer = performer
        self._metrics = metrics
        self._clock = clock
        self._coalescer = Coalescer()
        self._gauges = ControllerGauges()
        self._thread = ThreadPoolExecutor(1, "controller-event-thread")
        self._turn_began = 0.0
        self._partitions = 0
        self._mailbox: Mailbox[_Entry] = Mailbox(
            on_depth=metrics.event_queue_size.set,
            on_wait=lambda seconds: metrics.event_queue_time_ms.observe(seconds * 1000),
        )

    def put(self, happened: Input) -> None:
        """Append an entry."""
        self._mailbox.put(_Entry(happened))

    def put_once(self, happened: Input) -> None:
        """Append an entry that only asks to read something again, unless an equal one waits already."""
        if self._coalescer.admits(happened):
            self._mailbox.put(_Entry(happened, is_signal=True))

    async def preempt(self, happened: Expire | ShutdownEventThread) -> None:
        """Replace all waiting entries by one, refuse their callers, and wait until it is handled."""
        handled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for entry in self._mailbox.clear_and_put(_Entry(happened, handled=handled)):
            self._drop(entry)
        await handled

    async def run(self) -> None:
        """Handle entries until a `ShutdownEventThread` is handled."""
        while True:
            entry = await self._mailbox.get()
            happened = entry.happened
            if entry.is_signal:
                happened = self._coalescer.taken(happened)
            began = self._clock()
            state = event_of(happened).state
            self._metrics.controller_state.set(state)
            with long_lived(partial(self._has_grown, self._context.fence, self._partitions)):
                await self._handle(happened)
                self._metrics.controller_state.set(ControllerState.IDLE)
                timed = self._metrics.event_times_ms[rate_and_time(state)]
                timed.labels(event=kind_of(happened).__name__).observe((self._clock() - began) * 1000)
                measures = await self._on_thread(self._gauges.measure, self._context)
                self._partitions = measures.global_partition_count
            self._show(measures)
            entry.tell_handled()
            if isinstance(happened, ShutdownEventThread):
                self._thread.shutdown(wait=False)
                return

    def _has_grown(self, fence: ControllerFence, partitions: int) -> bool:
        """Return whether handling an event created many long-lived objects, as a failover does."""
        return self._context.fence != fence or self._partitions >= partitions + MANY_PARTITIONS

    def _drop(self, entry: _Entry) -> None:
        """Refuse ``entry``, which will not be handled, if a caller waits for it."""
        if entry.is_signal:
            self._coalescer.taken(entry.happened)
        refusal = refuse(entry.happened)
        if refusal is not None:
            self._performer.perform(refusal)
        entry.tell_handled()

    async def _handle(self, happened: Input) -> None:
        failure = await self._failure_of(decide(self._context, happened))
        if failure is None:
            return
        # An error with one entry must not end the task that handles all later ones.
        event = kind_of(happened).__name__
        # A client may cause this error repeatedly, so the line is limited.
        if LINES.allow(f"error while handling {event}"):
            _log.error("error while handling an event", event_kind=event, exc_info=failure)
        failure = await self._failure_of(recover(self._context, happened, f"{event} failed: {failure!r}"))
        if failure is not None:
            _log.error("error while recovering from an event", event_kind=event, exc_info=failure)

    async def _failure_of(self, decision: Decision[None]) -> BaseException | None:
        """Drive ``decision`` to its end, or to the error that ended it."""
        (failure,) = await asyncio.gather(self._drive(decision), return_exceptions=True)
        return failure

    async def _on_thread(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    async def _drive(self, decision: Decision[None]) -> None:
        """Run ``decision`` and perform its effects; other tasks get a turn every `LONGEST_TURN_S`."""
        answer: object = None
        while True:
            stretch = await self._on_thread(_advance, decision, answer)
            answer = None
            self._turn_began = self._clock()
            for effect in stretch.effects:
                self._performer.perform(effect)
                await self._yield()
            if stretch.failure is not None:
                raise stretch.failure
            if stretch.has_ended:
                return
            if stretch.question is not None:
                # An error is passed to the decision as the answer, because some decisions continue without
                # it.
                asked = self._performer.answer(stretch.question)
                (answer,) = await asyncio.gather(asked, return_exceptions=True)

    async def _yield(self) -> None:
        """Give other tasks a turn if the effects have occupied the event loop for `LONGEST_TURN_S`."""
        if self._clock() - self._turn_began > LONGEST_TURN_S:
            await asyncio.sleep(0)
            self._turn_began = self._clock()

    def _show(self, measures: Measures) -> None:
        self._metrics.active_controller_count.set(measures.active_controller_count)
        self._metrics.offline_partitions_count.set(measures.offline_partitions_count)
        self._metrics.preferred_replica_imbalance_count.set(measures.preferred_replica_imbalance_count)
        self._metrics.global_topic_count.set(measures.global_topic_count)
        self._metrics.global_partition_count.set(measures.global_partition_count)
        self._metrics.topics_to_delete_count.set(measures.topics_to_delete_count)
        self._metrics.replicas_to_delete_count.set(measures.replicas_to_delete_count)
        self._metrics.topics_ineligible_to_delete_count.set(measures.topics_ineligible_to_delete_count)
        self._metrics.replicas_ineligible_to_delete_count.set(measures.replicas_ineligible_to_delete_count)
