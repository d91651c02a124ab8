"""The permissions of a request's client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from barnabas.broker.authorizer.authorizer import AclAuthorizer, requester_of
from barnabas.broker.server.context import Answer, Handler, ServerContext
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.acls import CLUSTER_NAME, AclOperation, ResourceType
from barnabas.cluster.model.authorization import Action, Requester
from barnabas.cluster.model.authorized_operations import SUPPORTED
from barnabas.cluster.runtime.turn import freed_in_turns, paced

Gate = Callable[[ServerContext, Request, Handler], Coroutine[Any, Any, Answer]]
"""The check of an API: it is called as its handler is, with the handler, and answers as the handler does."""


@dataclass(frozen=True, slots=True)
class Access:
    """The permissions of the client of one request.

    Attributes:
        authorizer: The authorizer of the broker.
        requester: The client.
        api: The name of the API as Kafka's messages have it, such as ``ListOffsets``.
    """

    authorizer: AclAuthorizer
    requester: Requester
    api: str

    def may(
        self,
        operation: AclOperation,
        type_: ResourceType,
        name: str,
        *,
        count: int = 1,
        log_denied: bool = True,
        log_allowed: bool = True,
    ) -> bool:
        """Return whether the client may perform an operation on a resource."""
        action = Action(operation, type_, name)
        return self.authorizer.is_authorized(
            self.requester, action, self.api, count=count, log_denied=log_denied, log_allowed=log_allowed
        )

    def cluster(self, operation: AclOperation, *, log_denied: bool = True) -> bool:
        """Return whether the client may perform an operation on the cluster."""
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME, log_denied=log_denied)

    async def denied(
        self,
        operation: AclOperation,
        type_: ResourceType,
        names: Iterable[str],
        *,
        log_denied: bool = True,
        log_allowed: bool = True,
    ) -> frozenset[str]:
        """Return the names whose resources the client may not use in this way; each name is checked once."""
        times = await counted(names)
        found = [
            name
            async for name, count in paced(times.items())
            if not self.may(
                operation, type_, name, count=count, log_denied=log_denied, log_allowed=log_allowed
            )
        ]
        await freed_in_turns(times)
        return frozenset(found)

    def operations(self, type_: ResourceType, name: str) -> int:
        """Return the bits of the operations that the client may perform on a resource (KIP-430)."""
        return sum(
            1 << operation
            for operation in SUPPORTED[type_]
            if self.may(operation, type_, name, log_denied=False, log_allowed=False)
        )


async def counted(names: Iterable[str]) -> Counter[str]:
    """Return how often each name occurs; other work runs in between."""
    times: Counter[str] = Counter()
    async for name in paced(names):
        times[name] += 1
    return times


def access_of(context: ServerContext, request: Request) -> Access:
    """Return what the client of a request may do.

    Raises:
        LookupError: The broker has no authorizer.
    """
    if context.authorizer is None:
        raise LookupError("there is no authorizer")
    name = "".join(map(str.capitalize, request.api.key.name.split("_")))
    return Access(context.authorizer, requester_of(request.principal, request.client_host), name)
