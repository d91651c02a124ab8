"""Fenced writes of a controller, which fail once another controller is elected (KAFKA-6082)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.zk.client.errors import (
    BadVersion,
    ControllerMoved,
    NoNode,
    RequestFailed,
    ZooKeeperError,
)
from barnabas.cluster.zk.client.operations import Answer, Check, Operation
from barnabas.cluster.zk.client.pipeline import value
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths


@dataclass(frozen=True, slots=True)
class Fence:
    """The fence that a controller gets by its election and checks in every write.

    Attributes:
        controller_epoch: The controller epoch.
        epoch_version: The data version of ``/controller_epoch`` during that controller epoch.
    """

    controller_epoch: ControllerEpoch
    epoch_version: EpochVersion


async def write_many(
    session: ZooKeeperSession, fence: Fence | None, transactions: Iterable[Sequence[Operation]]
) -> list[list[Answer] | RequestFailed]:
    """Carry out independent transactions in a pipeline, each with a check of the fence.

    Args:
        session: The session.
        fence: The fence to check first in each transaction; None for writes of brokers that are not
            controller.
        transactions: The operations without the check. Responses and an error's ``operation`` also ignore it.

    Returns:
        The responses of each transaction, or the error with which it was refused.

    Raises:
        ControllerMoved: The check failed for one of them; those before it may have been carried out.
        ZooKeeperTimeout, SessionExpired: There was no response; each may have been carried out or not.
    """
    if fence is None:
        return [_checked(outcome) for outcome in await session.multi_many(transactions)]
    check = Check(paths.CONTROLLER_EPOCH, fence.epoch_version)
    outcomes = await session.multi_many([check, *operations] for operations in transactions)
    return [_behind_fence(fence, outcome) for outcome in outcomes]


async def write(session: ZooKeeperSession, fence: Fence | None, *operations: Operation) -> list[Answer]:
    """Carry out one transaction with a check of the fence, as ``write_many``; raise a ``RequestFailed``."""
    return value((await write_many(session, fence, [operations]))[0])


def _checked(outcome: list[Answer] | ZooKeeperError) -> list[Answer] | RequestFailed:
    if isinstance(outcome, ZooKeeperError) and not isinstance(outcome, RequestFailed):
        raise outcome
    return outcome


def _behind_fence(fence: Fence, outcome: list[Answer] | ZooKeeperError) -> list[Answer] | RequestFailed:
    checked = _checked(outcome)
    if isinstance(checked, list):
        return checked[1:]
    if checked.operation > 0:
        checked.operation -= 1
        return checked
    if isinstance(checked, BadVersion | NoNode):
        raise ControllerMoved(
            f"{paths.CONTROLLER_EPOCH} is not at version {fence.epoch_version} any more: "
            f"controller epoch {fence.controller_epoch} is over"
        )
    raise checked
