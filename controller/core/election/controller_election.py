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
from barnabas.controller.core.election.failover import fail_over
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
"""How often a broker contests the node before it pauses: the winner's node comes into sight after the first;
more are needed only where somebody writes ``/controller_epoch`` or takes registrations away meanwhile. Each
look at the race after a pause gives one back."""


REELECTION_PAUSE_S = 2.0
"""The pause after elections that nobody won: no watch reports what would change its outcome."""

LONGEST_PAUSE_S = 30.0
"""What the pause grows to, by doubling, where contest after contest leads to nothing: brokers whose
registrations are gone would take ``/controller`` from each other many times a second."""


class Verdict(Enum):
    """The reaction of a broker to the ``/controller`` node that it finds."""

    STAY = auto()
    """The node is this broker's own, and it is the acting controller: continue."""
    FOLLOW = auto()
    """The broker that the node names was elected: resign."""
    WAIT = auto()
    """The node names another broker than the one whose session owns it: that broker deletes it."""
    GIVE_UP = auto()
    """This session owns a node that names no acting controller: delete it, so that all can be elected."""
    CONTEST = auto()
    """There is no node, or no broker's session owns it: try to be elected."""


def judge(claim: Claim | None, own: BrokerId, *, acts: bool) -> Verdict:
    """Return the broker's reaction to ``claim``.

    The cluster must never be without a controller because the node names a broker that does not act as one;
    and a broker that a person wrote there does not become the controller.

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
            # Named, and registered in another session: a former life, whose node goes with that session.
            return Verdict.WAIT if claim.named == own else Verdict.FOLLOW
        case Owner.OTHER_BROKER:
            return Verdict.WAIT
        case Owner.NOBODY:
            return Verdict.CONTEST
        case unknown:
            assert_never(unknown)


def start(context: ControllerContext) -> Decision[None]:
    """Take part in the race, in a new session."""
    context.contests = context.pauses = 0
    yield from run(context)


def run(context: ControllerContext) -> Decision[None]:
    """Take part in the race, also after a failure: the pause is over."""
    context.is_resting = False
    context.contests = max(context.contests - 1, 0)
    was_active = context.is_active
    yield from follow_controller(context)
    if was_active and context.is_active:
        yield from _calm_down(context)


def _calm_down(context: ControllerContext) -> Decision[None]:
    """Look at the race again until every contest is forgotten: somebody is the controller."""
    if context.contests:
        yield ScheduleReelection(REELECTION_PAUSE_S)
    else:
        context.pauses = 0


def _pause(context: ControllerContext) -> Decision[None]:
    """Look at the race again after a pause, a longer one each time that contests have led to nothing."""
    yield ScheduleReelection(min(REELECTION_PAUSE_S * 2**context.pauses, LONGEST_PAUSE_S))
    if context.contests >= CONTESTS:
        context.pauses += 1


def rest(context: ControllerContext, because: str) -> Decision[None]:
    """Step down after a takeover that failed, and leave the race to the others for a pause.

    What it failed at may well be there yet: who contests at once reads the whole cluster again and again.
    """
    context.is_resting = True
    yield from _pause(context)
    yield from step_down(context, because)


def await_zookeeper(context: ControllerContext, because: str) -> Decision[None]:
    """Resign without a word to ZooKeeper, which gave no answer, and look at the race once it may give one.

    The session may go on as if nothing had happened: then this broker's own node stands, nobody else
    contests it, and no watch reports anything.
    """
    yield from resign(context, because)
    yield from _pause(context)


def follow_controller(context: ControllerContext) -> Decision[None]:
    """Read which broker is the controller: resign if it is another one, try to be elected if it is none."""
    while True:
        found = yield from ask(ReadController())
        context.latest_epoch = max(context.latest_epoch, found.epoch)
        verdict = judge(found.claim, context.facts.broker_id, acts=context.is_active)
        if verdict is Verdict.STAY:
            return
        if context.is_active:
            yield from resign(context, _what_it_says(found.claim))
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
    """Resign, and give ``/controller`` up so that the others need not wait for the session to end."""
    was_active = context.is_active
    yield from resign(context, because)
    if was_active:
        yield from ask(GiveUpController())


def resign(context: ControllerContext, because: str) -> Decision[None]:
    """Cease to act as the controller; needs no ZooKeeper, so it also serves when the session is gone."""
    if context.is_active:
        yield LogInfo(f"resigned as the controller with epoch {context.epoch}, because {because}")
    # From here on its port refuses, before anything is taken down.
    context.active_controller_id = NO_CONTROLLER
    yield AnnounceController(NO_CONTROLLER)
    yield CancelLeaderRebalance()
    yield StopWatching()
    yield CloseAllChannels()
    context.forget_cluster()


def _contest(context: ControllerContext, seen: Claim | None) -> Decision[bool]:
    """Try to be elected in the place of ``seen``, and take the cluster over; False where that failed."""
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
    later = yield from fail_over(context)
    if later is not None:
        context.latest_epoch = later
        yield from step_down(context, "its epoch is not the latest")
        return False
    return True


def _accept(context: ControllerContext, elected: BrokerId) -> Decision[None]:
    """Remember the broker that was elected as the controller.

    Where there is none for now (`NO_CONTROLLER`) the race is looked at again, until there is one: what it
    waits for, such as a new ``/controller_epoch``, may be nothing that is watched.
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
        # Out of contests, it lets no change of the node put off the next look.
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
