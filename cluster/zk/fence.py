"""The fence of controller writes: none is carried out once another was elected (KAFKA-6082)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.zk.errors import BadVersion, ControllerMoved, NoNode, RequestFailed, ZooKeeperError
from barnabas.cluster.zk.operations import Answer, Check, Operation
from barnabas.cluster.zk.pipeline import value
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.session import ZooKeeperSession


@dataclass(frozen=True, slots=True)
class Fence:
    """What a controller won with its election, and shows with every write.

    Attributes:
        controller_epoch: The number of its reign.
        epoch_version: The data version of ``/controller_epoch`` while the reign lasts.
    """

    controller_epoch: ControllerEpoch
    epoch_version: EpochVersion


async def write_many(
    session: ZooKeeperSession, fence: Fence | None, transactions: Iterable[Sequence[Operation]]
) -> list[list[Answer] | RequestFailed]:
    """Carry out transactions, pipelined and each for itself, every one behind the fence.

    Args:
        session: Where to.
        fence: Checked first in each transaction; None for writes that are not a controller's.
        transactions: Without the check; the answers and an error's ``operation`` count without it too.

    Returns:
        The answers of each transaction, or why it was refused.

    Raises:
        ControllerMoved: The fence refused one of them; those before it may have been carried out.
        ZooKeeperTimeout, SessionExpired: No answer; each may have been carried out or not.
    """
    if fence is None:
        return [_checked(outcome) for outcome in await session.multi_many(transactions)]
    check = Check(paths.CONTROLLER_EPOCH, fence.epoch_version)
    outcomes = await session.multi_many([check, *operations] for operations in transactions)
    return [_behind_fence(fence, outcome) for outcome in outcomes]


async def write(session: ZooKeeperSession, fence: Fence | None, *operations: Operation) -> list[Answer]:
    """Carry out one transaction behind the fence, as ``write_many``; a ``RequestFailed`` is raised."""
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
            f"the reign of controller epoch {fence.controller_epoch} is over"
        )
    raise checked
