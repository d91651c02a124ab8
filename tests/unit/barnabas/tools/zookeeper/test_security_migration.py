"""zookeeper-security-migration.sh: what it changes, and its complaints; ZooKeeper is a tree in memory."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.zk.client import errors
from barnabas.cluster.zk.client.operations import Create, Stat
from barnabas.cluster.zk.schema.znode_acls import OPEN, PRIVATE, READABLE, SECURE_ROOTS
from barnabas.tools.zookeeper import security_migration
from barnabas.tools.zookeeper.security_migration import main
from tests.certificates import Authority

MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
JAAS = f'Client {{ {MODULE} required username="kafka" password="secret"; }};'
STAT = Stat(0, 1, 1)


class Session:
    """A tree of nodes with their ACLs.

    Attributes:
        vanishing: Nodes that are deleted before their ACL is set.
    """

    def __init__(self, *nodes: str) -> None:
        self.acls: dict[str, Any] = {"/": OPEN, **dict.fromkeys(nodes, OPEN)}
        self.vanishing: set[str] = set()
        self.error: Exception | None = None
        self.security: Any = None
        self.closed = 0

    async def exists(self, path: str) -> Stat | None:
        return STAT if path in self.acls else None

    async def multi(self, create: Create) -> None:
        if create.path in self.acls:
            raise errors.NodeExists(create.path)
        self.acls[create.path] = "created"

    async def set_acls(self, acls: dict[str, Any]) -> list[Any]:
        if self.error is not None:
            return [self.error for _ in acls]
        for path in self.vanishing & set(acls):
            self.acls.pop(path)
        outcomes: list[Any] = [STAT if path in self.acls else errors.NoNode(path) for path in acls]
        self.acls |= {path: acl for path, acl in acls.items() if path in self.acls}
        return outcomes

    async def get_children_many(self, paths: list[str]) -> list[list[str] | None]:
        return [
            [other[len(path) + 1 :] for other in self.acls if other.rpartition("/")[0] == path]
            if path in self.acls
            else None
            for path in paths
        ]

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> str:
    file = tmp_path / "jaas.conf"
    file.write_text(JAAS)
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={file}")
    return str(file)


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch, login: str) -> Session:
    session = Session(
        *SECURE_ROOTS, "/config/users", "/config/users/alice", "/brokers/ids", "/consumers", "/consumers/g"
    )

    async def connect(_servers: str, **options: Any) -> Session:
        session.security = options["security"]
        return session

    monkeypatch.setattr(security_migration.ZooKeeperSession, "connect", connect)
    return session


def test_everything_is_secured_and_opened_again(tree: Session, capsys: pytest.CaptureFixture[str]) -> None:
    tree.acls |= {"/feature": OPEN, "/barnabas": OPEN, "/barnabas/controller": OPEN}
    assert main(["--zookeeper.acl=secure"]) == 0
    assert tree.security.set_acl
    expected = dict.fromkeys(tree.acls, READABLE)
    expected |= {"/consumers": OPEN, "/consumers/g": OPEN}
    expected |= {"/config/users": PRIVATE, "/config/users/alice": PRIVATE}
    assert tree.acls == expected
    assert main(["--zookeeper.acl", "unsecure"]) == 0
    assert not tree.security.set_acl
    assert tree.acls == dict.fromkeys(tree.acls, OPEN)
    assert capsys.readouterr() == ("", "")
    assert tree.closed == 2


def test_missing_roots_are_created_but_not_the_controller(
    tree: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("/controller", "/kafka-acl-extended", "/kafka-acl-extended/prefixed"):
        del tree.acls[path]
    assert main(["--zookeeper.acl=secure"]) == 0
    assert "/controller" not in tree.acls
    assert tree.acls["/kafka-acl-extended/prefixed"] == READABLE
    assert capsys.readouterr().out == (
        "Warning: The following secure root paths do not exist in ZooKeeper: "
        "/controller,/kafka-acl-extended,/kafka-acl-extended/prefixed\n"
        "That might be due to an incorrect chroot is specified when executing the command.\n"
    )


def test_with_the_path_check_missing_roots_end_it(tree: Session, capsys: pytest.CaptureFixture[str]) -> None:
    del tree.acls["/brokers"]
    assert main(["--zookeeper.acl=secure", "--enable.path.check"]) == 1
    assert capsys.readouterr().out.endswith("\nExit the command.\n")
    assert tree.acls["/admin"] == OPEN
    assert "/brokers" not in tree.acls
    assert tree.closed == 1


def test_a_node_that_is_deleted_meanwhile_is_reported(
    tree: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    tree.vanishing = {"/brokers/ids"}
    assert main(["--zookeeper.acl=secure"]) == 0
    error = capsys.readouterr().err
    assert "WARN: Znode is gone, it could be have been legitimately deleted: /brokers/ids" in error


@pytest.mark.parametrize(
    ("error", "out"),
    [
        (errors.NoAuth("/"), ""),
        (
            errors.SessionExpired("gone"),
            "ZooKeeper session expired while changing ACLs\n",
        ),
        (errors.ZooKeeperTimeout("late"), ""),
        (errors.ZooKeeperUnavailable("x"), ""),
        (errors.ZooKeeperAuthFailed("x"), ""),
    ],
)
def test_an_error_ends_it(
    tree: Session, capsys: pytest.CaptureFixture[str], error: Exception, out: str
) -> None:
    tree.error = error
    assert main(["--zookeeper.acl=secure"]) == 1
    told = capsys.readouterr()
    assert told.out == out
    assert told.err == f"zookeeper-security-migration.sh: {error}\n"


def test_without_an_identity_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], login: str
) -> None:
    monkeypatch.setenv("KAFKA_OPTS", "")
    assert main(["--zookeeper.acl=secure"]) == 1
    assert "No JAAS configuration file has been specified and no TLS client certificate" in (
        capsys.readouterr().err
    )
    options = f"-Djava.security.auth.login.config={login} -Dzookeeper.sasl.clientconfig=Other"
    monkeypatch.setenv("KAFKA_OPTS", options)
    assert main(["--zookeeper.acl=secure"]) == 1
    assert f"Security isn't enabled, most likely the file isn't set properly: {login}\n" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "line",
    [
        "--zookeeper.connect=z:1",
        "--zookeeper.acl=open",
        "--zookeeper.acl=secure --zookeeper.connect=z",
        "--zookeeper.acl=secure --zk-tls-config-file=/missing",
    ],
)
@pytest.mark.usefixtures("login")
def test_a_bad_command_line(line: str) -> None:
    assert main(line.split()) == 1


def test_bad_settings_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    file = tmp_path / "tls.properties"
    file.write_text("zookeeper.ssl.protocol=SSLv3")
    assert main(["--zookeeper.acl=secure", f"--zk-tls-config-file={file}"]) == 1
    assert "Invalid configuration: zookeeper.ssl.protocol" in capsys.readouterr().err
    monkeypatch.setenv("KAFKA_OPTS", "-Djava.security.auth.login.config=/missing")
    assert main(["--zookeeper.acl=secure"]) == 1
    assert "Exception while loading" in capsys.readouterr().err


def test_a_certificate_is_enough(tree: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("KAFKA_OPTS")
    authority = Authority("ours")
    (tmp_path / "ca.pem").write_text(authority.text)
    authority.issue("CN=admin").write_pem(tmp_path / "admin.pem")
    file = tmp_path / "tls.properties"
    file.write_text(
        "zookeeper.ssl.client.enable=true\n"
        f"zookeeper.ssl.keystore.location={tmp_path}/admin.pem\n"
        f"zookeeper.ssl.truststore.location={tmp_path}/ca.pem\n"
    )
    assert main(["--zookeeper.acl=secure", f"--zk-tls-config-file={file}"]) == 0
    assert tree.security.has_certificate
    assert tree.acls["/brokers/ids"] == READABLE
