"""Commands about many things reach the controller in portions.

The controller handles one command to its end before it looks at the next event. A request may name 100,000
topics: one command for all of them would keep it from a broker's death meanwhile, and the event loop from
everything while it is built, checked and answered. Kafka's controller takes such requests whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from barnabas.broker.replicas.turn import Turn
from barnabas.cluster.model.commands.command import Command, ControllerPort, R, Refused
from barnabas.cluster.model.errors import ErrorCode

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

PORTION = 500
"""How many topics, partitions or resources one command is about at most."""


LOCAL_PORTION = 20
"""How many partitions are written or read at this broker in one turn of the loop at most.

The first append to a partition makes the files of its indexes, which takes a millisecond.
"""


class Patience:
    """The time that a client gives to one request.

    Args:
        timeout_ms: From now; 0 or less is no time.
    """

    def __init__(self, timeout_ms: int) -> None:
        self.timeout_ms = timeout_ms
        self._deadline = asyncio.get_running_loop().time() + timeout_ms / 1000

    @property
    def left_ms(self) -> int:
        """What is left of it, in milliseconds; less than 0 where it is over."""
        return int((self._deadline - asyncio.get_running_loop().time()) * 1000)


def portions(items: Iterable[T], size: int | None = None) -> Iterator[Sequence[T]]:
    """``items``, which must not change meanwhile, in portions of ``size``, or `PORTION`."""
    rest = iter(items)
    while portion := tuple(islice(rest, size or PORTION)):
        yield portion


async def begin_in_portions(
    items: Mapping[K, V], begin: Callable[[dict[K, V]], asyncio.Future[dict[K, T]]]
) -> dict[K, T]:
    """Begin something about `LOCAL_PORTION` items after the other, in turns with others; await all of it.

    Args:
        items: What it is about.
        begin: Begins it for some of the items; gives the result of each.
    """
    begun, turn = [], Turn()
    for portion in portions(items.items(), LOCAL_PORTION):
        begun.append(begin(dict(portion)))
        await turn.yield_if_long()
    results: dict[K, T] = {}
    for some in begun:
        results |= await some
    return results


async def submit(
    controller: ControllerPort,
    items: Sequence[T],
    command: Callable[[Sequence[T]], Command[R]],
    patience: Patience,
) -> AsyncIterator[tuple[Sequence[T], R | Refused]]:
    """Have the controller carry out a command about ``items``, one portion after the other.

    The first portion is submitted whatever time there is; where there are no items it is empty, so that a
    broker that is not the controller says so.

    Args:
        controller: Who carries it out.
        items: What the command is about; each stands for itself.
        command: The command about some of them.
        patience: For all portions; those that are not begun in time are refused (``REQUEST_TIMED_OUT``).

    Yields:
        Each portion, and what the controller says of it.
    """
    timeout_ms = patience.timeout_ms
    late = Refused(ErrorCode.REQUEST_TIMED_OUT, f"Not begun within {timeout_ms} ms.")
    refusal: Refused | None = None
    for portion in portions(items) if items else ((),):
        result = refusal or await controller.submit(command(portion), timeout_ms)
        yield portion, result
        timeout_ms = patience.left_ms
        if isinstance(result, Refused) and result.error is ErrorCode.NOT_CONTROLLER:
            refusal = result
        elif timeout_ms <= 0:
            refusal = late
