"""AlterUserScramCredentials (51): set and delete credentials of users (KIP-554).

Source: ``KafkaApis.handleAlterUserScramCredentialsRequest`` and ``ZkAdminManager.alterUserScramCredentials``
of release 2.8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.scram import (
    CredentialRefused,
    Deletion,
    Upsertion,
    altered_credentials,
    refusal_of,
)
from barnabas.cluster.runtime.turn import freed_in_turns, paced, sorted_in_turns, unique
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode, ZooKeeperError

_ACCEPTED = CredentialRefused(ErrorCode.NONE, "")
_MOVED = CredentialRefused(ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_CONTROLLER.meaning)


async def handle(context: ServerContext, request: Request) -> Answer:
    """Alter the credentials of each user separately; return the results in the order of their names."""
    body = request.body
    deletions = [Deletion(each.name, each.mechanism) async for each in paced(body.deletions)]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
        async for each in paced(body.upsertions)
    ]
    deleted: defaultdict[str, list[Deletion]] = defaultdict(list)
    upserted: defaultdict[str, list[Upsertion]] = defaultdict(list)
    async for deletion in paced(deletions):
        deleted[deletion.user].append(deletion)
    async for upsertion in paced(upsertions):
        upserted[upsertion.user].append(upsertion)
    users = await sorted_in_turns(await unique(chain(deleted, upserted)))
    is_controller = context.metadata.controller == context.broker_id
    results: list[Answer] = []
    async for user in paced(users):
        result = _MOVED
        if is_controller:
            own = deleted.get(user, ()), upserted.get(user, ())
            result = refusal_of(*own) or await _alter(context, user, *own)
        results.append(
            request.answer(
                "AlterUserScramCredentialsResult",
                user=user,
                error_code=result.error,
                error_message=result.message or None,
            )
        )
    await freed_in_turns(deleted, upserted, deletions, upsertions, users)
    return request.answer(
        "AlterUserScramCredentialsResponse", throttle_time=NO_THROTTLE, results=tuple(results)
    )


async def _alter(
    context: ServerContext, user: str, deletions: Sequence[Deletion], upsertions: Sequence[Upsertion]
) -> CredentialRefused:
    """Apply the alterations to the stored settings and write the result; after a conflict, read again."""
    entity = QuotaEntity(user)
    while True:
        store = context.quota_store()
        try:
            stored = (await store.read([entity]))[entity]
            if stored.settings is None:
                message = f"The stored settings of the user cannot be read: {stored.error}"
                return CredentialRefused(ErrorCode.INVALID_CONFIG, message)
            own = altered_credentials(stored.settings, deletions, upsertions)
            if isinstance(own, CredentialRefused):
                return own
            await store.write(entity, own, stored.version)
        except (BadVersion, NodeExists, NoNode):
            continue
        except ZooKeeperError as error:
            return CredentialRefused(ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper did not answer: {error}")
        return _ACCEPTED
