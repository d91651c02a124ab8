"""The creation of nodes with their parents, and the deletion of nodes that may have unexpected children."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.cluster.zk.client.errors import NodeExists, NoNode, NotEmpty, RequestFailed
from barnabas.cluster.zk.client.operations import Create, Delete
from barnabas.cluster.zk.client.pipeline import value
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema.paths import ancestors
from barnabas.cluster.zk.stores.fence import Fence, write_many


async def create_missing(session: ZooKeeperSession, *paths: str) -> None:
    """Create empty nodes, and those above them, as far as they are missing."""
    wanted = dict.fromkeys(each for path in paths for each in (*ancestors(path), path))
    for outcome in await session.multi_many([Create(path)] for path in wanted):
        if not isinstance(outcome, NodeExists):
            value(outcome)


async def delete_whole(session: ZooKeeperSession, paths: Iterable[str], fence: Fence | None) -> None:
    """Delete nodes with all their descendants, as far as they exist.

    Raises:
        ControllerMoved: The fence refused; some nodes may be gone.
    """
    rest = list(paths)
    while rest:
        outcomes = await write_many(session, fence, [[Delete(path)] for path in rest])
        for outcome in outcomes:
            if isinstance(outcome, RequestFailed) and not isinstance(outcome, NoNode | NotEmpty):
                raise outcome
        # Hardly any node has children, so list them only after a deletion failed because of some.
        rest = [path for path, outcome in zip(rest, outcomes, strict=True) if isinstance(outcome, NotEmpty)]
        for path in rest:
            await delete_below(session, path, fence)


async def delete_below(session: ZooKeeperSession, path: str, fence: Fence | None) -> None:
    """Delete all descendants of a node, but not the node.

    Raises:
        ControllerMoved: The fence refused; some nodes may be gone.
    """
    names = await children_of(session, path)
    await delete_whole(session, [f"{path}/{name}" for name in names], fence)


async def children_of(session: ZooKeeperSession, path: str) -> list[str]:
    """Return the names of a node's children in order; none if the node is missing."""
    try:
        return sorted(await session.get_children(path))
    except NoNode:
        return []
