"""What can go wrong between us and ZooKeeper; nobody needs the client library's own exceptions."""

from __future__ import annotations


class ZooKeeperError(Exception):
    """Any of the errors of this module."""


class ZooKeeperUnavailable(ZooKeeperError):
    """No ZooKeeper answered in time when the session was opened; the message names address and timeout."""


class ZooKeeperTimeout(ZooKeeperError):
    """A request got no answer by its deadline; a write may still be, or yet be, carried out."""


class SessionExpired(ZooKeeperError):
    """The session is over: it expired, or was closed. Its ephemeral nodes are gone, or will be."""


class RequestTooLarge(ZooKeeperError):
    """A request exceeds ``jute.maxbuffer``; it was not sent, because the server would drop the connection."""


class RequestFailed(ZooKeeperError):
    """ZooKeeper refused a request.

    Attributes:
        path: The node that the refused operation named, with the chroot.
        operation: Its place in the transaction, from 0.
        resent: True where an earlier sending of the same request got no answer, so that the refusal may be
            the effect of that earlier sending itself.
    """

    meaning = "was refused"

    def __init__(self, path: str, operation: int = 0, *, resent: bool = False, detail: str = "") -> None:
        super().__init__(path, operation, resent, detail)
        self.path = path
        self.operation = operation
        self.resent = resent
        self.detail = detail

    def __str__(self) -> str:
        note = " (the request was sent more than once)" if self.resent else ""
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.path} {self.meaning}{detail}{note}"


class NoNode(RequestFailed):
    """The node, or the parent of a node to create, is not there."""

    meaning = "does not exist"


class InvalidPath(NoNode):
    """No node can have this path, so that there is none: a person or a client named it."""

    meaning = "can be no node's path"


class NodeExists(RequestFailed):
    """The node to create is there already."""

    meaning = "exists already"


class BadVersion(RequestFailed):
    """The node's data version is not the expected one."""

    meaning = "has another version than expected"


class NotEmpty(RequestFailed):
    """The node to delete has children."""

    meaning = "has children"


class ControllerMoved(ZooKeeperError):
    """Another controller was elected: a write was refused by the fence, or an election was lost."""
