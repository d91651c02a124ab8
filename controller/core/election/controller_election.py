"""The controller's election and resignation (Kafka: ``elect``, ``onControllerResignation``).

Source: docs/kafka/controller.md, Election and Resignation, in the order of steps given there.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import assert_never

from barnabas.cluster.model.controllership import Claim, Owner
from barnabas.cluster.model.ids import BrokerId
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.election.effects import (
    AnnounceController,
    ContestController,
    GiveUpController,
    ReadController,
    ScheduleReelection,
)
from barnabas.controller.core.election.failover import on_controller_failover
from barnabas.controller.core.leader_elections.effects import CancelLeaderRebalance
from barnabas.controller.core.protocol.effects import (
    NO_CONTROLLER,
    CloseAllChannels,
    ControllerFence,
    Decision,
    LogInfo,
    StopWatching,
    ask,
)

CONTESTS = 3
"""The number of elections that a broker takes part in before it pauses.

The first shows the winner's node. More are needed only if somebody writes ``/controller_epoch`` or deletes
registrations meanwhile. Each check after a pause gives one attempt back.
"""


REELECTION_PAUSE_S = 2.0
"""The pause after elections that nobody won: no watch reports what would change its outcome."""

LONGEST_PAUSE_S = 30.0
"""The longest pause; the pause doubles while elections stay without a result.

Brokers whose registrations are gone would otherwise take ``/controller`` from each other many times a second.
"""


class Verdict(Enum):
    """The reaction of a broker to the ``/controller`` node that it finds."""

    STAY = auto()
    """The node is this broker's own, and it is the acting controller: continue."""
    FOLLOW = auto()
    """The broker that the node names was elected: resign."""
    WAIT = auto()
    """The node names another broker than the one whose session owns it: that broker deletes it."""
    GIVE_UP = auto()
    """This session owns a node that names no acting controller: delete the node and let all compete."""
    CONTEST = auto()
    """There is no node, or no broker's session owns it: try to be elected."""


def judge(claim: Claim | None, own: BrokerId, *, acts: bool) -> Verdict:
    """Return the broker's reaction to ``claim``.

    The cluster must never be without a controller because the node names a broker that does not act as one;
    and a person who writes a broker's id there must not make that broker the controller.

    Args:
        claim: The node, None where there is none.
        own: The broker that judges.
        acts: Whether it acts as the controller.
    """
    if claim is None or claim.named is None:
        return Verdict.CONTEST
    match claim.owner:
        case Owner.THIS_SESSION:
            return Verdict.STAY if acts and claim.named == own else Verdict.GIVE_UP
        case Owner.NAMED_BROKER:
            # The node is of an earlier incarnation of this broker, and is deleted when that session expires.
            return Verdict.WAIT if claim.named == own else Verdict.FOLLOW
        case Owner.OTHER_BROKER:
            return Verdict.WAIT
        case Owner.NOBODY:
            return Verdict.CONTEST
        case unknown:
            assert_never(unknown)


def start(context: ControllerContext) -> Decision[None]:
    """Take part in elections in a new session (Kafka: ``Startup``)."""
    context.contests = context.pauses = 0
    yield from run(context)


def run(context: ControllerContext) -> Decision[None]:
    """Take part in elections again after a pause (Kafka: ``Reelect``)."""
    context.is_resting = False
    context.contests = max(context.contests - 1, 0)
    was_active = context.is_active
    yield from process_controller_change(context)
    if was_active and context.is_active:
        yield from _calm_down(context)


def _calm_down(context: ControllerContext) -> Decision[None]:
    """Schedule checks until the count of attempts is 0 again, because there is a controller now."""
    if context.contests:
        yield ScheduleReelection(REELECTION_PAUSE_S)
    else:
        context.pauses = 0


def _pause(context: ControllerContext) -> Decision[None]:
    """Schedule the next check after a pause, which is longer each time that attempts led to nothing."""
    yield ScheduleReelection(min(REELECTION_PAUSE_S * 2**context.pauses, LONGEST_PAUSE_S))
    if context.contests >= CONTESTS:
        context.pauses += 1


def rest(context: ControllerContext, because: str) -> Decision[None]:
    """Resign after a failed failover, and take part in no election for a pause.

    The cause of the failure may persist, so trying again at once would read the whole cluster over and over.
    """
    context.is_resting = True
    yield from _pause(context)
    yield from step_down(context, because)


def await_zookeeper(context: ControllerContext, because: str) -> Decision[None]:
    """Resign without writing to ZooKeeper, which does not answer, and schedule the next check.

    The session may survive. Then this broker's own node remains, no other broker tries to be elected, and no
    watch reports anything.
    """
    yield from on_controller_resignation(context, because)
    yield from _pause(context)


def process_controller_change(context: ControllerContext) -> Decision[None]:
    """Read ``/controller``; resign if another broker is named, try to be elected if none is."""
    while True:
        found = yield from ask(ReadController())
        context.latest_epoch = max(context.latest_epoch, found.epoch)
        verdict = judge(found.claim, context.facts.broker_id, acts=context.is_active)
        if verdict is Verdict.STAY:
            return
        if context.is_active:
            yield from on_controller_resignation(context, _what_it_says(found.claim))
        if verdict is Verdict.GIVE_UP:
            yield from ask(GiveUpController())
        elif verdict is Verdict.CONTEST and context.contests < CONTESTS and not context.is_resting:
            context.contests += 1
            won = yield from _contest(context, found.claim)
            if won:
                yield from _calm_down(context)
                return
        else:
            claim = found.claim if verdict is Verdict.FOLLOW else None
            named = None if claim is None else claim.named
            yield from _accept(context, NO_CONTROLLER if named is None else named)
            return


def step_down(context: ControllerContext, because: str) -> Decision[None]:
    """Resign, and delete ``/controller``, so that the others need not wait for the session to end."""
    was_active = context.is_active
    yield from on_controller_resignation(context, because)
    if was_active:
        yield from ask(GiveUpController())


def on_controller_resignation(context: ControllerContext, because: str) -> Decision[None]:
    """Stop acting as the controller (Kafka: ``onControllerResignation``); this works without a session."""
    if context.is_active:
        yield LogInfo(f"resigned as the controller with epoch {context.epoch}, because {because}")
    # From here on the port for commands refuses, before anything else stops.
    context.active_controller_id = NO_CONTROLLER
    yield AnnounceController(NO_CONTROLLER)
    yield CancelLeaderRebalance()
    yield StopWatching()
    yield CloseAllChannels()
    context.forget_cluster()


def _contest(context: ControllerContext, seen: Claim | None) -> Decision[bool]:
    """Try to be elected in the place of ``seen`` and run the failover; return False if one failed."""
    if seen is not None:
        yield LogInfo(f"{_what_it_says(seen)}: it is contested")
    outcome = yield from ask(ContestController(seen, context.latest_epoch))
    if not isinstance(outcome, ControllerFence):
        yield LogInfo("another broker was elected controller")
        return False
    context.fence, context.latest_epoch = outcome, outcome.epoch
    context.active_controller_id = context.facts.broker_id
    yield LogInfo(f"elected controller with epoch {outcome.epoch}")
    yield AnnounceController(context.facts.broker_id, outcome.epoch)
    later = yield from on_controller_failover(context)
    if later is not None:
        context.latest_epoch = later
        yield from step_down(context, "its epoch is not the latest")
        return False
    return True


def _accept(context: ControllerContext, elected: BrokerId) -> Decision[None]:
    """Record which broker was elected as the controller.

    If there is none (`NO_CONTROLLER`), the next check is scheduled, because no watch may report what has to
    change, such as ``/controller_epoch``.
    """
    context.active_controller_id = elected
    if elected == NO_CONTROLLER:
        yield LogInfo("there is no controller now")
    else:
        yield LogInfo(f"broker {elected} is the controller")
    yield AnnounceController(elected, context.latest_epoch)
    if elected != NO_CONTROLLER:
        yield from _calm_down(context)
    elif not context.is_resting:
        # After the last attempt, changes of the node must not postpone the next check.
        context.is_resting = context.contests >= CONTESTS
        yield from _pause(context)


def _what_it_says(claim: Claim | None) -> str:
    if claim is None:
        return "/controller is gone"
    named = "nobody" if claim.named is None else f"broker {claim.named}"
    return f"/controller names {named} and belongs to {_OWNERS[claim.owner]}"


_OWNERS = {
    Owner.THIS_SESSION: "this session",
    Owner.NAMED_BROKER: "that broker's session",
    Owner.OTHER_BROKER: "the session of another broker",
    Owner.NOBODY: "no broker's session",
}
