"""Independent steps of a decision: the failure of one does not prevent the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from barnabas.controller.core.protocol.effects import Decision, InterruptedDecisionError, LogInfo, listed

K = TypeVar("K")
T = TypeVar("T")

TOGETHER = 500
"""The most items in one step, so that its requests to brokers and its transactions stay small."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The result of a step that failed.

    Attributes:
        because: The error's class and text.
    """

    because: str


def attempt(what: str, step: Decision[T]) -> Decision[T | Failed]:
    """Run ``step`` to its result; an error is logged and returned as `Failed`.

    Args:
        what: The name of the step for the log line.
        step: The step.

    Raises:
        InterruptedDecisionError: The decision has ended, so no other step may follow either.
    """
    try:
        return (yield from step)
    except InterruptedDecisionError:
        raise
    except Exception as error:  # noqa: BLE001  (no one znode may stand in the way of all others)
        failed = Failed(f"{type(error).__name__}: {error}")
        yield LogInfo(f"went on without {what}: {failed.because}")
        return failed


def attempt_together(
    what: str, items: Iterable[K], step: Callable[[Sequence[K]], Decision[T]]
) -> Decision[list[tuple[Sequence[K], T | Failed]]]:
    """Run ``step`` with many items at a time; if that fails, run it with each of them alone.

    Args:
        what: The name of the step for the log line; its items follow.
        items: The items, which are independent of each other.
        step: The step with some of the items; it may be repeated.

    Returns:
        The items of each step that counts, and its outcome.
    """
    outcomes: list[tuple[Sequence[K], T | Failed]] = []
    rest = iter(items)
    while some := tuple(islice(rest, TOGETHER)):
        outcome = yield from attempt(f"{what} {listed(some)}", step(some))
        if isinstance(outcome, Failed) and len(some) > 1:
            outcomes += yield from _attempt_each(what, some, step)
        else:
            outcomes.append((some, outcome))
    return outcomes


def _attempt_each(
    what: str, items: Iterable[K], step: Callable[[Sequence[K]], Decision[T]]
) -> Decision[list[tuple[Sequence[K], T | Failed]]]:
    outcomes: list[tuple[Sequence[K], T | Failed]] = []
    for one in items:
        outcome = yield from attempt(f"{what} {one}", step((one,)))
        outcomes.append(((one,), outcome))
    return outcomes
