"""A secured local cluster: certificates, passwords and grants, in the folder ``secure`` of its directory.

Clients log in by SCRAM over TLS, brokers have certificates towards each other, ZooKeeper serves nobody
without a login, and an authorizer decides what users may do. The user `ADMIN` may do everything, `CLIENT`
what `GRANTS` allow.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cluster.model.acls import (
    CLUSTER,
    WILDCARD,
    AccessControlEntry,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.brokers import GRPC_LISTENER
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.jaas import SCRAM_MODULE
from barnabas.cluster.model.scram import MIN_ITERATIONS, credential_of
from barnabas.cluster.zk.client.client_settings import security_of
from barnabas.cluster.zk.client.errors import ZooKeeperError
from barnabas.cluster.zk.client.security import ZooKeeperSecurity
from barnabas.local.client_login import MECHANISM, ClientLogin
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.secret_files import write_secret
from barnabas.local.zookeeper_security import ServerSecurity

if TYPE_CHECKING:
    from barnabas.cluster.zk.client.session import ZooKeeperSession

FOLDER = "secure"
"""The folder in a cluster's directory that makes it a secured one. Its owner alone may open it."""

ADMIN, CLIENT = "admin", "client"
"""The names of the users for clients."""

HOSTS = ("localhost", "127.0.0.1", "::1")
"""The names in the brokers' certificates."""

_ZOOKEEPER_USER = "kafka"
_USERS = (ADMIN, CLIENT, _ZOOKEEPER_USER)
_PASSWORDS = "passwords.json"
_AUTHORITY = "ca.pem"
_PASSWORD_BYTES, _SALT_BYTES = 24, 24
_LISTENER = _PROTOCOL = "SASL_SSL"
_SESSION_TIMEOUT_MS, _CONNECT_TIMEOUT_MS = 10_000, 20_000

_TOPIC_OPERATIONS = (
    AclOperation.READ,
    AclOperation.WRITE,
    AclOperation.CREATE,
    AclOperation.DELETE,
    AclOperation.DESCRIBE_CONFIGS,
)
_GROUP_OPERATIONS = (AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE)


def _entries(permission: AclPermission, *operations: AclOperation) -> frozenset[AccessControlEntry]:
    return frozenset(
        AccessControlEntry(f"User:{CLIENT}", WILDCARD, operation, permission) for operation in operations
    )


GRANTS: Mapping[ResourcePattern, frozenset[AccessControlEntry]] = {
    ResourcePattern(ResourceType.TOPIC, WILDCARD): _entries(AclPermission.ALLOW, *_TOPIC_OPERATIONS),
    # A reader of the topic of offsets learns what all groups read.
    ResourcePattern(ResourceType.TOPIC, "__", PatternType.PREFIXED): _entries(
        AclPermission.DENY, AclOperation.ALL
    ),
    ResourcePattern(ResourceType.GROUP, WILDCARD): _entries(AclPermission.ALLOW, *_GROUP_OPERATIONS),
    CLUSTER: _entries(AclPermission.ALLOW, AclOperation.IDEMPOTENT_WRITE),
}
"""The ACLs of `CLIENT`: write, read, create and delete topics, use all groups, and change no settings."""


def is_secured(directory: Path) -> bool:
    """Return whether the cluster in ``directory`` is a secured one."""
    return (directory / FOLDER).is_dir()


def principal_of(broker_id: int) -> str:
    """Return the subject of a broker's certificate, which is its principal."""
    return f"CN=broker-{broker_id},O=barnabas"


def settings_of(folder: Path, brokers: int, listeners: Sequence[str] = (_LISTENER,)) -> dict[str, str]:
    """Return the settings of all brokers, without those of single ones.

    Args:
        folder: The folder of certificates.
        brokers: The number of brokers.
        listeners: The listeners for clients.
    """
    logins = {
        f"listener.name.{each.lower()}.{MECHANISM.mechanism_name.lower()}.sasl.jaas.config": (
            f"{SCRAM_MODULE} required;"
        )
        for each in listeners
    }
    protocols = ",".join(f"{each}:{_PROTOCOL}" for each in listeners)
    super_users = (ADMIN, *(principal_of(each) for each in range(1, brokers + 1)))
    return {
        "listener.security.protocol.map": f"{protocols},{GRPC_LISTENER}:SSL",
        "sasl.enabled.mechanisms": MECHANISM.mechanism_name,
        **logins,
        "ssl.keystore.type": "PEM",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(folder / _AUTHORITY),
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": ";".join(f"User:{each}" for each in super_users),
    }


class Secured:
    """The security of a cluster in its directory. What is missing is made; what is there is kept.

    Args:
        directory: The cluster's directory.
        brokers: The number of brokers.
        hosts: The names in a broker's certificate, besides `HOSTS`.

    Attributes:
        folder: The folder of certificates, passwords and clients' files.
        settings: The settings of all brokers.
        zookeeper: Who may connect to ZooKeeper.
        admin: The login of `ADMIN`.
        client: The login of `CLIENT`.

    Raises:
        ClusterError: The directory has a cluster without security, or files that cannot be read.
    """

    def __init__(
        self, directory: Path, brokers: int, hosts: Callable[[int], Sequence[str]] = lambda _broker: ()
    ) -> None:
        directory = directory.resolve()
        self._hosts = hosts
        self.folder = directory / FOLDER
        if not is_secured(directory) and (directory / "zookeeper").exists():
            raise ClusterError(
                f"the cluster in {directory} was made without --secure, and everybody could change it since: "
                f"give another folder with --dir, or delete this one"
            )
        try:
            self._make(directory, brokers)
            if not (self.folder / _PASSWORDS).exists():
                made = {user: secrets.token_urlsafe(_PASSWORD_BYTES) for user in _USERS}
                write_secret(self.folder / _PASSWORDS, json.dumps(made))
            passwords = _passwords(self.folder)
        except (OSError, ValueError) as error:
            raise ClusterError(f"cannot make or read the files in {self.folder}: {error}") from error
        self.settings = settings_of(self.folder, brokers)
        self.zookeeper = ServerSecurity({_ZOOKEEPER_USER: passwords[_ZOOKEEPER_USER]}, requires_login=True)
        self.admin, self.client = (
            ClientLogin(user, passwords[user], self.folder / _AUTHORITY) for user in (ADMIN, CLIENT)
        )

    def _make(self, directory: Path, brokers: int) -> None:
        # Every command of barnabas imports this module, and few need a certificate or ZooKeeper.
        from barnabas.local.certificates import Authority, issue, make_authority

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key, certificate = self.folder / "ca.key", self.folder / _AUTHORITY
        if not certificate.exists():
            made = make_authority("barnabas")
            for store in self.folder.glob("broker-*.pem"):
                store.unlink()  # it comes from another authority, which the next broker would not trust
            write_secret(key, made.key)
            write_secret(certificate, made.certificate)
        authority = Authority(key.read_text(encoding="ascii"), certificate.read_text(encoding="ascii"))
        for number in range(1, brokers + 1):
            own = directory / f"broker-{number}"
            own.mkdir(mode=0o700, exist_ok=True)  # its data and logs are only for their owner, too
            if not self.store(number).exists():
                names = (*HOSTS, *self._hosts(number))
                write_secret(self.store(number), issue(authority, principal_of(number), names))

    def store(self, broker_id: int) -> Path:
        """Return the file of a broker's key and certificate."""
        return self.folder / f"broker-{broker_id}.pem"

    def apply(self, cluster: LocalCluster) -> None:
        """Set the brokers' own settings, and write the files of clients.

        Args:
            cluster: The cluster, made with `settings` and `zookeeper`, and not started.
        """
        for broker in cluster.brokers.values():
            broker.own_settings |= {
                "listeners": f"{_LISTENER}://{broker.kafka},{GRPC_LISTENER}://{broker.grpc}",
                "ssl.keystore.location": str(self.store(broker.id)),
            }
        self.write_clients(cluster.bootstrap)

    def write_clients(self, bootstrap: str) -> None:
        """Write the files of clients, with these ``bootstrap.servers``."""
        properties = self.folder / f"{CLIENT}.properties"
        files = {
            f"{ADMIN}.properties": self.admin.properties(bootstrap),
            properties.name: self.client.properties(bootstrap),
            **self.client.examples(bootstrap, properties),
        }
        for name, text in files.items():
            write_secret(self.folder / name, text)

    def provision(self, connect: str, security: ZooKeeperSecurity) -> None:
        """Write what is missing of the users and their ACLs to ZooKeeper, before a broker reads them.

        A user that has a credential keeps it, and its ACLs, so what an administrator changed stays.

        Args:
            connect: The connect string of a ZooKeeper that serves.
            security: The brokers' login there.

        Raises:
            ClusterError: ZooKeeper failed.
        """
        try:
            asyncio.run(self._provision(connect, security))
        except ZooKeeperError as error:
            raise ClusterError(f"cannot write the users to ZooKeeper: {error}") from error

    async def _provision(self, connect: str, security: ZooKeeperSecurity) -> None:
        from barnabas.cluster.zk.client.session import ZooKeeperSession
        from barnabas.cluster.zk.stores.cluster import ClusterStore

        session = await ZooKeeperSession.connect(
            connect,
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            connect_timeout_ms=_CONNECT_TIMEOUT_MS,
            on_event=lambda _event: None,
            security=security,
        )
        try:
            await ClusterStore(session).create_persistent_paths()
            await _add_user(session, self.admin, {})
            await _add_user(session, self.client, GRANTS)
        finally:
            await session.close()


def admin_of(directory: Path) -> ClientLogin:
    """Return the login of `ADMIN` of the secured cluster in ``directory``.

    Raises:
        OSError, ValueError: Its passwords cannot be read.
    """
    folder = directory / FOLDER
    return ClientLogin(ADMIN, _passwords(folder)[ADMIN], folder / _AUTHORITY)


def _passwords(folder: Path) -> dict[str, str]:
    found = json.loads((folder / _PASSWORDS).read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not all(isinstance(found.get(user), str) for user in _USERS):
        raise ValueError(f"{_PASSWORDS} must have the passwords of {', '.join(_USERS)}")
    return {user: found[user] for user in _USERS}


_USES = (
    ("confluent-kafka", "with_confluent_kafka.py", "run it, or take `settings`"),
    ("kafka-python", "with_kafka_python.py", "the same"),
    ("aiokafka", "with_aiokafka.py", "the same"),
    ("Java", f"{CLIENT}.properties", "load it into Properties,"),
    ("", "WithJava.java", "as this program does"),
    ("Kafka's tools", f"{CLIENT}.properties", "--command-config FILE"),
    ("", f"{ADMIN}.properties", f"the same, as {ADMIN}"),
)
"""The clients, their files, and what to do with these."""


def described(directory: Path) -> list[str]:
    """Return lines for the terminal about how each client logs in; they have no password.

    The table fits into 80 columns.
    """
    folder = directory.resolve() / FOLDER
    return [
        f"clients log in as {CLIENT} or {ADMIN} ({_PROTOCOL}, {MECHANISM.mechanism_name}): files in",
        f"  {folder}",
        *(f"  {client:<15} {file:<23} {use}" for client, file, use in _USES),
    ]


def first_command(directory: Path, bootstrap: str) -> str:
    """Return a command that writes a record, to copy; its lines fit into 80 columns if the paths do."""
    file = directory.resolve() / FOLDER / f"{CLIENT}.properties"
    is_below = file.is_relative_to(Path.cwd())
    return " \\\n    ".join(
        (
            "  echo hello | kafka-console-producer.sh --topic first",
            f"--bootstrap-server {bootstrap.partition(',')[0]}",
            f"--producer.config {shlex.quote(os.path.relpath(file) if is_below else str(file))}",
        )
    )


def zookeeper_security(cluster: LocalCluster) -> ZooKeeperSecurity:
    """Return the login with which this process reaches the embedded ZooKeeper of a cluster."""
    settings = {} if cluster.zookeeper is None else cluster.zookeeper.client_settings
    return security_of(settings, {})


async def _add_user(
    session: ZooKeeperSession,
    login: ClientLogin,
    grants: Mapping[ResourcePattern, frozenset[AccessControlEntry]],
) -> None:
    """Write a user's ACLs and credential, unless it has a credential, which is written last."""
    from barnabas.cluster.zk.stores.acls import AclStore
    from barnabas.cluster.zk.stores.quotas import QuotaStore

    users, entity, name = QuotaStore(session), QuotaEntity(login.user), MECHANISM.mechanism_name
    stored = (await users.read([entity]))[entity]
    if stored.settings is None:
        raise ClusterError(f"the stored settings of user {login.user} cannot be read: {stored.error}")
    if name in stored.settings:
        return
    acls = AclStore(session)
    await acls.create_paths()
    for resource, entries in grants.items():
        known = (await acls.read([resource]))[resource]
        if known.entries is None:
            raise ClusterError(f"the stored ACLs of {resource} cannot be read: {known.error}")
        await acls.write(resource, known.entries | entries, known.version)
    salt = secrets.token_bytes(_SALT_BYTES)
    salted = MECHANISM.salted_password(login.password, salt, MIN_ITERATIONS)
    credential = credential_of(MECHANISM, salt, MIN_ITERATIONS, salted)
    await users.write(entity, {**stored.settings, name: credential.text}, stored.version)
