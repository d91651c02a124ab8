"""The splitting of large requests into portions, each a command to the controller.

The controller completes one command before it takes the next event. A request may name 100,000 topics: as one
command it would keep the controller from handling a broker's failure, and keep the event loop while it is
built, checked and answered. Kafka's controller takes such requests whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from barnabas.cluster.model.commands.command import Command, ControllerPort, R, Refused
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import Turn

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

PORTION = 500
"""The most topics, partitions or resources in one command."""


LOCAL_PORTION = 20
"""The most partitions that are written or read at this broker in one turn of the loop.

The first append to a partition creates the files of its indexes, which takes a millisecond.
"""


class RequestDeadline:
    """The deadline of a client's request.

    Args:
        timeout_ms: Counted from now; 0 or less leaves no time.
    """

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self._deadline = asyncio.get_running_loop().time() + timeout_ms / 1000

    @property
    def left_ms(self) -> int:
        """The milliseconds left; below 0 if the time is over."""
        return int((self._deadline - asyncio.get_running_loop().time()) * 1000)


def portions(items: Iterable[T], size: int | None = None) -> Iterator[Sequence[T]]:
    """Yield ``items``, which must not change meanwhile, in portions of ``size``, or `PORTION`."""
    rest = iter(items)
    while portion := tuple(islice(rest, size or PORTION)):
        yield portion


def portions_of(items: Mapping[K, V], size: int) -> Iterator[Mapping[K, V]]:
    """Yield ``items`` in portions of ``size``: themselves, without a copy, if they are not more."""
    if len(items) <= size:
        yield items
    else:
        yield from map(dict, portions(items.items(), size))


async def begin_in_portions(
    items: Mapping[K, V], begin: Callable[[Mapping[K, V]], asyncio.Future[dict[K, T]]]
) -> dict[K, T]:
    """Begin an operation on ``LOCAL_PORTION`` items at a time, in turns with other work; await the results.

    Args:
        items: The items.
        begin: Begins the operation on some items; its future has the result of each.
    """
    begun, turn = [], Turn()
    for portion in portions_of(items, LOCAL_PORTION):
        begun.append(begin(portion))
        await turn.yield_if_long()
    results: dict[K, T] = {}
    for some in begun:
        results |= await some
    return results


async def submit(
    controller: ControllerPort,
    items: Sequence[T],
    command: Callable[[Sequence[T]], Command[R]],
    deadline: RequestDeadline,
) -> AsyncIterator[tuple[Sequence[T], R | Refused]]:
    """Submit a command about ``items`` to the controller, one portion after the other.

    The first portion is submitted whatever time is left. Without items it is empty, so that a broker that is
    not the controller says so.

    Args:
        controller: The controller.
        items: The items, which are independent of each other.
        command: Builds the command about some items.
        deadline: The deadline of all portions; those that did not begin in time are refused
            (``REQUEST_TIMED_OUT``).

    Yields:
        Each portion, and the controller's result.
    """
    timeout_ms = deadline.timeout_ms
    late = Refused(ErrorCode.REQUEST_TIMED_OUT, f"Not begun within {timeout_ms} ms.")
    refusal: Refused | None = None
    for portion in portions(items) if items else ((),):
        result = refusal or await controller.submit(command(portion), timeout_ms)
        yield portion, result
        timeout_ms = deadline.left_ms
        if isinstance(result, Refused) and result.error is ErrorCode.NOT_CONTROLLER:
            refusal = result
        elif timeout_ms <= 0:
            refusal = late
