"""The words for an ISR that was too small, and for what that refused."""

from __future__ import annotations

from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.shortages import Shortage
from barnabas.analysis.story.words import clock, count, lasted

_BROKERS = "the brokers' "

_STEPS = 6
"""The most ISRs that a sentence tells."""


def short(shortage: Shortage) -> str:
    """Tell the ISRs of the worst partition step by step, and what they refused."""
    steps = ", then ".join(
        f"{step.size} of {step.assigned}{' replicas in sync' if index == 0 else ''} {_held(step)}"
        for index, step in enumerate(shortage.steps[:_STEPS])
    )
    more = "" if len(shortage.steps) <= _STEPS else f", and {len(shortage.steps) - _STEPS} more changes"
    if shortage.partitions == 1:
        return f"{shortage.worst} had {steps}{more}; {writes(shortage)}"
    many = f"{count(shortage.partitions, 'partition')} were under-replicated"
    return f"{many}; the worst, {shortage.worst}, had {steps}{more}; {writes(shortage)}"


def _held(step: IsrStep) -> str:
    return "as far as the logs show" if step.until is None else lasted(step.held)


def writes(shortage: Shortage) -> str:
    """Tell what an ISR that was too small refused, as far as it is known."""
    name, proof = "min.insync.replicas", shortage.proof
    if proof is not None:
        return f"acks=all writes were refused, as the line of {clock(proof.time)} shows"
    if shortage.minimum is None:
        why = f"the lines differ about {name}" if shortage.differs else f"no line gives {name}"
        return f"whether it refused acks=all writes is unknown: {why}"
    minimum = f"{_BROKERS if shortage.is_default else ''}{name}={shortage.minimum}"
    if not shortage.refusing:
        return f"no write is refused with that ({minimum}){_unless(shortage)}"
    below = f"acks=all writes were refused while fewer than {shortage.minimum} were in sync"
    return f"{below} ({minimum}){_unless(shortage)}"


def _unless(shortage: Shortage) -> str:
    topic = shortage.worst.rpartition("-")[0]
    is_sure = not shortage.is_default or shortage.proof is not None
    return "" if is_sure else f", unless {topic} has its own setting"
