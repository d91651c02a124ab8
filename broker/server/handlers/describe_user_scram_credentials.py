"""DescribeUserScramCredentials (50): the mechanisms and iterations of users' credentials (KIP-554).

Source: ``ZkAdminManager.describeUserScramCredentials`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from barnabas.broker.server.access import counted
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.client_quotas import DEFAULT, QuotaEntity
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.scram import ScramCredential, ScramMechanism, credentials_of
from barnabas.cluster.runtime.turn import freed_in_turns, paced, sorted_in_turns
from barnabas.cluster.zk.client.errors import ZooKeeperError

_Credentials = Mapping[ScramMechanism, ScramCredential]


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the credentials of the named users, or of all that have any, in the order of their names."""
    times = await counted(each.name for each in request.body.users or ())
    try:
        stored = await _stored(context, times)
    except ZooKeeperError as error:
        return _response(request, ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper did not answer: {error}", ())
    names = times or [name async for name in paced(stored) if stored[name]]
    results = [
        _result(request, name, stored.get(name, {}), times[name])
        async for name in paced(await sorted_in_turns(names))
    ]
    await freed_in_turns(times, stored)
    return _response(request, ErrorCode.NONE, None, tuple(results))


async def _stored(context: ServerContext, named: Collection[str]) -> dict[str, _Credentials]:
    """Read the credentials of the named users, or of all users if none is named.

    Raises:
        ZooKeeperError: ZooKeeper cannot be read.
    """
    store = context.quota_store()
    entities = [QuotaEntity(name) async for name in paced(named) if name]
    found = await (store.read(entities) if named else store.read_all())
    stored: dict[str, _Credentials] = {
        entity.user: credentials_of(read.settings or {})
        async for entity, read in paced(found.items())
        if entity.user is not None and entity.user != DEFAULT and entity.client_id is None
    }
    await freed_in_turns(found, entities)
    return stored


def _result(request: Request, name: str, credentials: _Credentials, times: int) -> Answer:
    error, message = ErrorCode.NONE, None
    if not credentials:
        error = ErrorCode.RESOURCE_NOT_FOUND
        message = f"Attempt to describe a user credential that does not exist: {name}"
    elif times > 1:
        error = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
    return request.answer(
        "DescribeUserScramCredentialsResult",
        user=name,
        error_code=error,
        error_message=message,
        credential_infos=tuple(
            request.answer("CredentialInfo", mechanism=mechanism, iterations=credential.iterations)
            for mechanism, credential in (credentials.items() if error is ErrorCode.NONE else ())
        ),
    )


def _response(request: Request, error: ErrorCode, message: str | None, results: tuple[Answer, ...]) -> Answer:
    return request.answer(
        "DescribeUserScramCredentialsResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        error_message=message,
        results=results,
    )
