"""The errors of ZooKeeper sessions and requests, which replace the client library's exceptions."""

from __future__ import annotations


class ZooKeeperError(Exception):
    """The base of the errors of this module."""


class ZooKeeperUnavailable(ZooKeeperError):
    """An error if no ZooKeeper opened the session in time; the message names address and timeout."""


class ZooKeeperAuthFailed(ZooKeeperUnavailable):
    """An error if ZooKeeper refused the login, or could not prove that it knows the password."""


class ZooKeeperTimeout(ZooKeeperError):
    """An error for a request without a response by its deadline.

    A write may have been or may yet be carried out.
    """


class SessionExpired(ZooKeeperError):
    """An error for a session that expired or was closed; its ephemeral nodes are gone or will be soon."""


class RequestTooLarge(ZooKeeperError):
    """An error for a request above ``jute.maxbuffer``; it is not sent, as the server would disconnect."""


class RequestFailed(ZooKeeperError):
    """An error for a request that ZooKeeper refused.

    Attributes:
        path: The node of the refused operation, with the chroot.
        operation: The index of the operation in the transaction.
        resent: Whether the request was sent before without getting a response, so that the refusal may be the
            effect of the first sending.
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
    """An error for a node, or the parent of a node to create, that does not exist."""

    meaning = "does not exist"


class InvalidPath(NoNode):
    """An error for an invalid path, which a person or a client named; no such node can exist."""

    meaning = "can be no node's path"


class NodeExists(RequestFailed):
    """An error for a node to create that exists already."""

    meaning = "exists already"


class BadVersion(RequestFailed):
    """An error for a node whose data version is not the expected one."""

    meaning = "has another version than expected"


class NotEmpty(RequestFailed):
    """An error for a node to delete that has children."""

    meaning = "has children"


class NoAuth(RequestFailed):
    """An error for a node whose ACL does not permit this to the session."""

    meaning = "does not permit that to this client (see its ACL)"


class InvalidAcl(RequestFailed):
    """An error for an ACL of the session's own identity where ZooKeeper has authenticated none."""

    meaning = "cannot get the ACL of this client, because ZooKeeper has not authenticated it"


class ControllerMoved(ZooKeeperError):
    """An error after the election of another controller: a fenced write or an election failed."""
