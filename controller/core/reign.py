"""Becoming the controller and ceasing to be it.

Source: kafka-controller.md, 2.1 (election) and 2.5 (resignation), in the order of steps given there.
"""

from __future__ import annotations

from cluster.model.ids import BrokerId
from controller.core.effects import (
    NO_CONTROLLER,
    AnnounceController,
    CloseAllChannels,
    ContestController,
    Decision,
    Explain,
    GiveUpController,
    ReadController,
    Reign,
    StopWatching,
    ask,
)
from controller.core.failover import fail_over
from controller.core.reasons import ControllerIs, ElectionLost, ElectionWon, Resigned
from controller.core.state import ControllerContext


def follow_controller(context: ControllerContext) -> Decision[None]:
    """Learn who is the controller: stand down if it is another broker, contest if it is nobody.

    A node that names this broker while it does not act as the controller is given up, as is one that this
    broker owns and that names another: the cluster must never be without a controller because the node names
    a broker that does not act as one.
    """
    named = yield from ask(ReadController())
    acts = context.is_active
    if acts and named == context.facts.broker_id:
        return
    if acts:
        whom = "nobody" if named == NO_CONTROLLER else f"broker {named}"
        yield from resign(context, f"/controller names {whom}")
    if acts or named == context.facts.broker_id:
        yield from ask(GiveUpController())
        named = yield from ask(ReadController())
    if named == NO_CONTROLLER:
        yield from _contest(context)
    else:
        yield from _accept(context, named)


def step_down(context: ControllerContext, because: str) -> Decision[None]:
    """Resign, and give ``/controller`` up so that the others need not wait for the session to end."""
    was_active = context.is_active
    yield from resign(context, because)
    if was_active:
        yield from ask(GiveUpController())


def resign(context: ControllerContext, because: str) -> Decision[None]:
    """Cease to act as the controller; needs no ZooKeeper, so it also serves when the session is gone."""
    if context.is_active:
        yield Explain(Resigned(context.epoch, because))
    yield StopWatching()
    yield CloseAllChannels()
    context.forget_cluster()
    context.active_controller_id = NO_CONTROLLER
    yield AnnounceController(NO_CONTROLLER)


def _contest(context: ControllerContext) -> Decision[None]:
    outcome = yield from ask(ContestController())
    if isinstance(outcome, Reign):
        context.reign = outcome
        context.active_controller_id = context.facts.broker_id
        yield Explain(ElectionWon(outcome.epoch))
        yield AnnounceController(context.facts.broker_id)
        yield from fail_over(context)
        return
    yield Explain(ElectionLost())
    # The watch that this read arms tells of the winner's end, also if that came already.
    yield from _accept(context, (yield from ask(ReadController())))


def _accept(context: ControllerContext, controller_id: BrokerId) -> Decision[None]:
    """Remember another broker as the controller; a node that names this broker here is its former life's."""
    other = NO_CONTROLLER if controller_id == context.facts.broker_id else controller_id
    context.active_controller_id = other
    yield Explain(ControllerIs(other))
    yield AnnounceController(other)
