"""Independent steps of a decision: the failure of one does not prevent the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from barnabas.controller.core.protocol.effects import Decision, InterruptedDecisionError, LogInfo

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Failed:
    """A step that did not come to its end.

    Attributes:
        because: The error, by kind and words.
    """

    because: str


def attempt(what: str, step: Decision[T]) -> Decision[T | Failed]:
    """Run ``step`` to its result; an error is logged and returned as `Failed`.

    Args:
        what: Names the step.
        step: What to do.

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
