"""The sessions of tools with ZooKeeper, and the file with settings of TLS (``--zk-tls-config-file``).

Source: ``ZkSecurityMigrator.createZkClientConfigFromFile`` and ``KafkaZkClient`` of Kafka 2.8.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.zk.client.client_settings import (
    SET_ACL,
    SYSTEM_PROPERTIES,
    ZooKeeperSecurityError,
    security_of,
)
from barnabas.cluster.zk.client.errors import ZooKeeperError
from barnabas.cluster.zk.client.security import ZooKeeperSecurity
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.tools.command_line.files import read_properties
from barnabas.tools.command_line.parser import Parser, ToolError

Returned = TypeVar("Returned")

_TIMEOUT_MS = 30_000

SHELL_FLAG = "-zk-tls-config-file"
"""The flag of ``zookeeper-shell.sh``, which has one dash."""


def add_tls_file(options: Parser) -> None:
    """Add the option of the tools for a file with settings of TLS."""
    options.add_argument(
        "--zk-tls-config-file",
        metavar="FILE",
        help="the settings zookeeper.ssl.* of the connection, among other properties",
    )


def take_tls_file(words: list[str]) -> dict[str, str]:
    """Take the shell's flag and its file out of ``words``, and return the settings of the file.

    Raises:
        ToolError: There is no file behind the flag, or it cannot be read.
    """
    if SHELL_FLAG not in words:
        return {}
    at = words.index(SHELL_FLAG)
    _, *file = words[at : at + 2]
    del words[at : at + 2]
    if not file:
        raise ToolError(f"Error: no filename provided with option {SHELL_FLAG}")
    return read_tls_file(file[0])


def read_tls_file(path: str | None) -> dict[str, str]:
    """Return the settings of TLS in a file of properties; others in it are ignored. None has no settings.

    Raises:
        ToolError: The file cannot be read.
    """
    properties = read_properties(path, "--zk-tls-config-file")
    return {name: text for name, text in properties.items() if name in SYSTEM_PROPERTIES}


def security_by(settings: Mapping[str, str], environment: Mapping[str, str]) -> ZooKeeperSecurity:
    """Return the security of a tool's session, which secures the nodes that it creates if it has an identity.

    Args:
        settings: The settings of `read_tls_file`.
        environment: The environment variables.

    Raises:
        ToolError: A setting, a store or the JAAS file is bad.
    """
    try:
        security = security_of(settings, environment)
        is_known = security.login is not None or security.has_certificate
        return security_of({**settings, SET_ACL: str(is_known).lower()}, environment)
    except (ConfigError, ZooKeeperSecurityError) as error:
        raise ToolError(str(error)) from error


def in_session(
    connect: str, security: ZooKeeperSecurity, work: Callable[[ZooKeeperSession], Awaitable[Returned]]
) -> Returned:
    """Connect, and return what ``work`` returns of the session.

    Raises:
        ToolError: ZooKeeper cannot be reached, or refused.
    """
    # kazoo logs every attempt to connect; a tool prints one error if all of them fail.
    logging.getLogger("kazoo").setLevel(logging.CRITICAL + 1)

    async def run() -> Returned:
        session = await ZooKeeperSession.connect(
            connect,
            session_timeout_ms=_TIMEOUT_MS,
            connect_timeout_ms=_TIMEOUT_MS,
            on_event=lambda _: None,
            security=security,
        )
        try:
            return await work(session)
        finally:
            await session.close()

    try:
        return asyncio.run(run())
    except (ValueError, ZooKeeperError) as error:
        raise ToolError(str(error)) from error
