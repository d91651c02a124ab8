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
from collections.abc import Sequence

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.model.configs.zookeeper import LOGIN_CONFIG
from barnabas.cluster.zk.client_settings import (
    OPTIONS_VARIABLE,
    SET_ACL,
    ZooKeeperSecurityError,
    security_of,
    system_properties,
)
from barnabas.cluster.zk.errors import (
    NodeExists,
    NoNode,
    SessionExpired,
    ZooKeeperError,
)
from barnabas.cluster.zk.operations import Create
from barnabas.cluster.zk.pipeline import value
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.znode_acls import FURTHER_ROOTS, SECURE_ROOTS, default_acl
from barnabas.cluster.zk.security import ZooKeeperSecurity
from barnabas.cluster.zk.session import ZooKeeperSession
from barnabas.tools.command_line.entry import run_tool, run_with_options
from barnabas.tools.command_line.log4j import log
from barnabas.tools.command_line.options import Given, JavaError, Kind, Option, Options, UsageError
from barnabas.tools.zookeeper.zookeeper_client import (
    TLS_FILE,
    ZooKeeperClientError,
    java_class_of,
    read_tls_file,
)

PURPOSE = (
    "ZooKeeper Migration Tool Help. This tool updates the ACLs of znodes as part of the process of setting "
    "up ZooKeeper authentication."
)

OPTIONS = Options(
    Option("zookeeper.acl", "'secure' or 'unsecure': what the nodes become; required", ""),
    Option("zookeeper.connect", "the servers and the chroot", "", default="localhost:2181"),
    Option("zookeeper.session.timeout", "the session timeout, ms", "", kind=Kind.INTEGER, default="30000"),
    Option("zookeeper.connection.timeout", "how long to wait, ms", "", kind=Kind.INTEGER, default="30000"),
    Option("enable.path.check", "end with exit code 1 if a root node is missing, as with a wrong chroot"),
    TLS_FILE,
)

_LOGGER = "kafka.admin.ZkSecurityMigrator"
_INCORRECT = JavaError("java.lang.IllegalArgumentException", "Incorrect configuration")


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
                log("WARN", gone, _LOGGER)
            else:
                value(outcome)


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _security(given: Given, acl: str) -> ZooKeeperSecurity:
    """Return the security of the session.

    Raises:
        JavaError: There is no identity, or a file is bad.
    """
    file = system_properties(os.environ.get(OPTIONS_VARIABLE, "")).get(LOGIN_CONFIG)
    try:
        settings = read_tls_file(given.values().zk_tls_config_file)
        security = security_of(settings, os.environ)
    except ZooKeeperClientError as error:
        raise JavaError("java.io.IOException", str(error)) from error
    except ConfigError as error:
        raise JavaError("org.apache.kafka.common.config.ConfigException", str(error)) from error
    except ZooKeeperSecurityError as error:
        raise JavaError("org.apache.kafka.common.KafkaException", str(error)) from error
    is_known = security.login is not None or security.has_certificate
    if not is_known and file is None:
        sys.stderr.write(
            "ERROR: No JAAS configuration file has been specified and no TLS client certificate has been "
            f"specified. Please make sure that you set the system property {LOGIN_CONFIG} or provide a "
            f"ZooKeeper client TLS configuration via --{TLS_FILE.name} <filename> identifying at least "
            "zookeeper.ssl.client.enable, zookeeper.clientCnxnSocket, and zookeeper.ssl.keystore.location\n"
        )
        raise _INCORRECT
    if not is_known:
        _say(f"ERROR: Security isn't enabled, most likely the file isn't set properly: {file}")
        raise _INCORRECT
    return security_of({**settings, SET_ACL: str(acl == "secure")}, os.environ)


async def migrate(given: Given, security: ZooKeeperSecurity) -> int:
    """Connect, set the ACLs, and return the exit code.

    Raises:
        ZooKeeperError: It failed.
    """
    values = given.values()
    session = await ZooKeeperSession.connect(
        values.zookeeper_connect,
        session_timeout_ms=values.zookeeper_session_timeout,
        connect_timeout_ms=values.zookeeper_connection_timeout,
        on_event=lambda _: None,
        security=security,
    )
    try:
        migration = Migration(session, secure=security.set_acl)
        await migration.run(enable_path_check=values.enable_path_check)
    except PathsMissing:
        return 1
    finally:
        await session.close()
    return 0


def work(given: Given) -> int:
    """Run the tool with these options, and return the exit code."""
    acl = given.values().zookeeper_acl
    security = _security(given, acl)
    if acl not in {"secure", "unsecure"}:
        raise UsageError(PURPOSE)
    # kazoo logs every attempt to connect; the tool prints one error if all of them fail.
    logging.getLogger("kazoo").setLevel(logging.CRITICAL + 1)
    try:
        return asyncio.run(migrate(given, security))
    except ValueError as error:
        raise JavaError("java.lang.IllegalArgumentException", str(error)) from error
    except ZooKeeperError as error:
        if isinstance(error, SessionExpired):
            _say("ZooKeeper session expired while changing ACLs")
        raise JavaError(java_class_of(error), str(error)) from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool, and return the exit code."""
    return run_with_options(OPTIONS, PURPOSE, arguments, work, lambda error: f"{error.java_class}: {error}")


def command() -> int:
    """Run the tool as a program, and return its exit code."""
    return run_tool(main)


if __name__ == "__main__":
    sys.exit(command())
