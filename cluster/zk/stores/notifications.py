"""The queues ``/isr_change_notification`` and ``/log_dir_event_notification``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.cluster.zk.stores.trees import delete_whole

Note = TypeVar("Note")
Read = TypeVar("Read")


class NotificationQueue(Generic[Note, Read]):
    """A queue of notifications, which the controller reads and then deletes.

    Args:
        session: The session.
        prefix: The path of a notification without its number.
        encode: Encodes a notification.
        decode: Decodes a body, from its path and content.
    """

    def __init__(
        self,
        session: ZooKeeperSession,
        prefix: str,
        encode: Callable[[Note], bytes],
        decode: Callable[[str, bytes], Read],
    ) -> None:
        self._session = session
        self._prefix = prefix
        self._parent = prefix.rpartition("/")[0]
        self._encode = encode
        self._decode = decode

    @property
    def path(self) -> str:
        """The parent of the notifications, which the watch of ``pending`` reports."""
        return self._parent

    async def add(self, note: Note) -> str:
        """Add a notification and return its name.

        After a lost connection it may exist twice, without harm.
        """
        created = await self._session.create(self._prefix, self._encode(note), sequential=True)
        return created.rpartition("/")[2]

    async def pending(self, *, watch: bool = False) -> dict[str, Read | ZnodeDecodeError]:
        """Return the notifications by name, the oldest first; for an unreadable one, its error."""
        names = sorted(await self._session.get_children(self._parent, watch=watch))
        whole = [f"{self._parent}/{name}" for name in names]
        nodes = await self._session.get_many(whole, expected_bytes=2048)
        found = zip(names, whole, nodes, strict=True)
        return {name: self._read(path, node.data) for name, path, node in found if node is not None}

    async def delete(self, names: Iterable[str], fence: Fence) -> None:
        """Delete handled notifications with their children, if they exist.

        Raises:
            ControllerMoved: The fence refused.
        """
        await delete_whole(self._session, [f"{self._parent}/{name}" for name in names], fence)

    def _read(self, path: str, content: bytes) -> Read | ZnodeDecodeError:
        try:
            return self._decode(path, content)
        except ZnodeDecodeError as error:
            return error
