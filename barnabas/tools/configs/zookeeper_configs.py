"""The SCRAM credentials of users in ZooKeeper, as ``kafka-configs.sh --zookeeper`` describes and alters them.

The first user of a cluster whose listeners all want a login is made so, because nobody can ask a broker for
it. Source: ``ConfigCommand.alterConfigWithZk`` and ``describeConfigWithZk`` of Kafka 2.8.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Mapping, Sequence

from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.scram import BY_NAME, credential_of
from barnabas.cluster.zk.client.errors import NodeExists
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.stores.quotas import QuotaStore
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.configs.config_flags import (
    DEFAULT_ENTITY,
    USERS,
    Entity,
    InvalidArgument,
    settings_to_add,
    settings_to_delete,
)
from barnabas.tools.configs.scram_configs import salted
from barnabas.tools.zookeeper.zookeeper_client import (
    in_session,
    read_tls_file,
    security_by,
)

WARNING = (
    "Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.",
    "Use --bootstrap-server instead to specify a broker to connect to.",
)


def checked_credentials(added: Mapping[str, str], deleted: Sequence[str]) -> dict[str, str]:
    """Return the credentials to add, by mechanism, as Kafka keeps them. Passwords are not repeated in errors.

    Raises:
        InvalidArgument: A setting is no credential, or a credential is malformed.
    """
    if not all(name in BY_NAME for name in (*added, *deleted)):
        raise InvalidArgument(
            "requirement failed: --bootstrap-server option must be specified to update users configs: "
            f"{{add: {', '.join(added)}, delete: {', '.join(deleted)}}}. User configuration updates using "
            "ZooKeeper are only supported for SCRAM credential updates."
        )
    found = {}
    for name, text in added.items():
        mechanism = BY_NAME[name]
        _, iterations, salt, password = salted(mechanism, text)
        found[name] = credential_of(mechanism, salt, iterations, password).text
    return found


def altered(own: Mapping[str, str], added: Mapping[str, str], deleted: Sequence[str]) -> dict[str, str]:
    """Return all settings of a user after a change.

    Raises:
        InvalidArgument: A setting is to be deleted that the user does not have.
    """
    missing = [name for name in deleted if name not in own]
    if missing:
        raise InvalidArgument(f"Invalid config(s): {','.join(missing)}")
    return {name: text for name, text in {**own, **added}.items() if name not in set(deleted)}


def named(user: str) -> str:
    """Return a user as the tool prints it."""
    return "default user-principal" if user == DEFAULT_ENTITY else f"user-principal '{user}'"


async def alter(
    session: ZooKeeperSession, user: str, added: Mapping[str, str], deleted: Sequence[str]
) -> list[str]:
    """Alter the credentials of a user, notify the brokers, and return the line to print.

    Raises:
        InvalidArgument: A credential is to be deleted that the user does not have.
        ToolError: What is stored is not readable.
        ZooKeeperError: ZooKeeper refused.
    """
    store = QuotaStore(session)
    own, version = await _stored(store, user)
    for parent in paths.ancestors(paths.CONFIG_CHANGE_PREFIX):
        try:
            await session.create(parent, b"")
        except NodeExists:
            continue
    await store.write(QuotaEntity(user), altered(own, added, deleted), version)
    return [f"Completed updating config for entity: {named(user)}."]


async def describe(session: ZooKeeperSession, user: str | None) -> list[str]:
    """Return the lines of ``--describe`` for a user, or for all users that have settings.

    As in Kafka they have the credentials, which are no passwords.

    Raises:
        ToolError: What is stored is not readable.
        ZooKeeperError: ZooKeeper refused.
    """
    store = QuotaStore(session)
    users = [user] if user is not None else [each.user for each in await store.read_all() if _is_user(each)]
    lines = []
    for each in users:
        own, _ = await _stored(store, each or DEFAULT_ENTITY)
        if own or user is not None:
            settings = ",".join(f"{name}={text}" for name, text in own.items())
            lines.append(f"Configs for {named(each or DEFAULT_ENTITY)} are {settings}")
    return lines


def _is_user(entity: QuotaEntity) -> bool:
    return entity.user is not None and entity.client_id is None


async def _stored(store: QuotaStore, user: str) -> tuple[Mapping[str, str], int | None]:
    entity = QuotaEntity(user)
    found = (await store.read([entity]))[entity]
    if found.settings is None:
        raise ToolError(f"Unreadable settings of {user}: {found.error}")
    return found.settings, found.version


def run(flags: Namespace, entity: Entity) -> list[str]:
    """Carry out the options in ZooKeeper, and return the lines to print below `WARNING`.

    Raises:
        InvalidArgument: The options are invalid.
        ToolError: ZooKeeper cannot be reached, or refused.
    """
    if entity.others:
        raise InvalidArgument(f"--zookeeper is for {USERS} alone here, without a client id")
    user, deleted = entity.name, settings_to_delete(flags)
    added = checked_credentials(settings_to_add(flags), deleted)

    async def work(session: ZooKeeperSession) -> list[str]:
        if flags.describe or user is None:
            return await describe(session, user)
        return await alter(session, user, added, deleted)

    security = security_by(read_tls_file(flags.zk_tls_config_file), os.environ)
    return in_session(flags.zookeeper, security, work)
