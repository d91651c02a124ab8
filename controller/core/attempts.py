"""Steps that stand for themselves: what one fails at keeps nobody from the next."""

from __future__ import annotations

from controller.core.effects import Decision, Explain, InterruptedDecisionError
from controller.core.reasons import StepFailed


def attempt(what: str, step: Decision[None]) -> Decision[None]:
    """Take a step; whatever it fails at is said and left.

    Args:
        what: Names the step.
        step: What to do.

    Raises:
        InterruptedDecisionError: The reign is over, so no other step is to be taken either.
    """
    try:
        yield from step
    except InterruptedDecisionError:
        raise
    except Exception as error:  # noqa: BLE001  (no one znode may stand in the way of all others)
        yield Explain(StepFailed(what, f"{type(error).__name__}: {error}"))
