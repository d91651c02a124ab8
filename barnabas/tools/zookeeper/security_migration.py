"""``zookeeper-security-migration.sh``: set the ACLs of all nodes as ``zookeeper.set.acl`` would have.

Options and output are those of Kafka 2.8's ``kafka.admin.ZkSecurityMigrator``. The exit code is 0, or 1 on
any error, which goes to standard error. Two nodes that Kafka leaves as they are change too, if they exist:
``/feature`` and ``/barnabas``.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.model.configs.zookeeper import LOGIN_CONFIG
from barnabas.cluster.zk.client.client_settings import (
    OPTIONS_VARIABLE,
    SET_ACL,
    ZooKeeperSecurityError,
    security_of,
    system_properties,
)
from barnabas.cluster.zk.client.errors import (
    NodeExists,
    NoNode,
    SessionExpired,
    ZooKeeperError,
)
from barnabas.cluster.zk.client.operations import Create
from barnabas.cluster.zk.client.pipeline import value
from barnabas.cluster.zk.client.security import ZooKeeperSecurity
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.znode_acls import FURTHER_ROOTS, SECURE_ROOTS, default_acl
from barnabas.tools.command_line.parser import Parser, ToolError, integer
from barnabas.tools.zookeeper.zookeeper_client import (
    add_tls_file,
    read_tls_file,
)

OPTIONS = Parser(
    "zookeeper-security-migration.sh",
    "This tool updates the ACLs of znodes as part of the process of setting up ZooKeeper authentication.",
)
OPTIONS.add_argument(
    "--zookeeper.acl", dest="acl", required=True, choices=["secure", "unsecure"], help="what the nodes become"
)
OPTIONS.add_argument(
    "--zookeeper.connect", dest="connect", default="localhost:2181", help="the servers and the chroot"
)
for _name, _help in {"session": "the session timeout, ms", "connection": "how long to wait, ms"}.items():
    OPTIONS.add_argument(
        f"--zookeeper.{_name}.timeout", dest=f"{_name}_timeout", type=integer, default=30_000, help=_help
    )
OPTIONS.add_argument(
    "--enable.path.check",
    dest="enable_path_check",
    action="store_true",
    help="end with exit code 1 if a root node is missing, as with a wrong chroot",
)
add_tls_file(OPTIONS)


class PathsMissing(Exception):
    """An error if root nodes are missing and ``--enable.path.check`` is given; it has been reported."""


class Migration:
    """Sets the ACLs of a cluster.

    Args:
        session: A session that is authenticated; it must create nodes with the same ACLs.
        secure: Whether to secure the nodes, or to open them.
    """

    def __init__(self, session: ZooKeeperSession, *, secure: bool) -> None:
        self._session = session
        self._secure = secure

    async def run(self, *, enable_path_check: bool) -> None:
        """Set all ACLs.

        Raises:
            PathsMissing: Root nodes are missing, and ``enable_path_check`` is set.
            ZooKeeperError: ZooKeeper refused a change or was lost; others were carried out.
        """
        await self._set(["/"])
        missing = [path for path in SECURE_ROOTS if await self._session.exists(path) is None]
        if missing:
            _say(
                "Warning: The following secure root paths do not exist in ZooKeeper: " + ",".join(missing),
                "That might be due to an incorrect chroot is specified when executing the command.",
            )
            if enable_path_check:
                _say("Exit the command.")
                raise PathsMissing
        # A node /controller without an owner would keep brokers from an election.
        absent = {paths.CONTROLLER} & set(missing)
        for path in missing:
            if path not in absent:
                await self._create(path)
        further = [path for path in FURTHER_ROOTS if await self._session.exists(path) is not None]
        level = [path for path in SECURE_ROOTS if path not in absent] + further
        while level:
            await self._set(level)
            families = await self._session.get_children_many(level)
            level = [
                f"{path}/{name}" for path, names in zip(level, families, strict=True) for name in names or ()
            ]

    async def _create(self, path: str) -> None:
        for each in (*paths.ancestors(path), path):
            try:
                await self._session.multi(Create(each))
            except NodeExists:
                continue

    async def _set(self, level: Sequence[str]) -> None:
        """Set the ACLs of nodes; those that have been deleted meanwhile are reported."""
        acls = {path: default_acl(path, secure=self._secure) for path in level}
        for path, outcome in zip(acls, await self._session.set_acls(acls), strict=True):
            if isinstance(outcome, NoNode):
                gone = f"Znode is gone, it could be have been legitimately deleted: {path}"
                sys.stderr.write(f"WARN: {gone}\n")
            else:
                value(outcome)


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _security(flags: Namespace) -> ZooKeeperSecurity:
    """Return the security of the session.

    Raises:
        ToolError: There is no identity, or a file is bad.
    """
    file = system_properties(os.environ.get(OPTIONS_VARIABLE, "")).get(LOGIN_CONFIG)
    settings = read_tls_file(flags.zk_tls_config_file)
    try:
        security = security_of(settings, os.environ)
    except (ConfigError, ZooKeeperSecurityError) as error:
        raise ToolError(str(error)) from error
    if security.login is None and not security.has_certificate:
        if file is not None:
            raise ToolError(f"Security isn't enabled, most likely the file isn't set properly: {file}")
        raise ToolError(
            "No JAAS configuration file has been specified and no TLS client certificate has been specified. "
            f"Please make sure that you set the system property {LOGIN_CONFIG} or provide a ZooKeeper client "
            "TLS configuration via --zk-tls-config-file <filename> identifying at least "
            "zookeeper.ssl.client.enable, zookeeper.clientCnxnSocket, and zookeeper.ssl.keystore.location"
        )
    return security_of({**settings, SET_ACL: str(flags.acl == "secure")}, os.environ)


async def migrate(flags: Namespace, security: ZooKeeperSecurity) -> int:
    """Connect, set the ACLs, and return the exit code.

    Raises:
        ZooKeeperError: It failed.
    """
    session = await ZooKeeperSession.connect(
        flags.connect,
        session_timeout_ms=flags.session_timeout,
        connect_timeout_ms=flags.connection_timeout,
        on_event=lambda _: None,
        security=security,
    )
    try:
        migration = Migration(session, secure=security.set_acl)
        await migration.run(enable_path_check=flags.enable_path_check)
    except PathsMissing:
        return 1
    finally:
        await session.close()
    return 0


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Run the tool with these options, and return the exit code."""
    security = _security(flags)
    # kazoo logs every attempt to connect; the tool prints one error if all of them fail.
    logging.getLogger("kazoo").setLevel(logging.CRITICAL + 1)
    try:
        return asyncio.run(migrate(flags, security))
    except ValueError as error:
        raise ToolError(str(error)) from error
    except ZooKeeperError as error:
        if isinstance(error, SessionExpired):
            _say("ZooKeeper session expired while changing ACLs")
        raise ToolError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
