"""SCRAM credentials of kafka-configs.sh --zookeeper."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from barnabas.cluster.model.scram import ScramMechanism, credential_of, parse_credential
from barnabas.cluster.zk.stores.quotas import QuotaStore
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.configs import zookeeper_configs
from barnabas.tools.configs.config_flags import InvalidArgument
from barnabas.tools.configs.configs import main
from barnabas.tools.configs.zookeeper_configs import altered, checked_credentials, named

SHA_256, SHA_512 = "SCRAM-SHA-256", "SCRAM-SHA-512"
ALICE = ("--zookeeper", "z:1", "--entity-type", "users", "--entity-name", "alice")


def test_a_credential_is_kept_as_kafka_keeps_it() -> None:
    (text,) = checked_credentials({SHA_256: "iterations=8192,password=secret"}, [SHA_512]).values()
    found = parse_credential(text)
    assert found.iterations == 8192
    salted = ScramMechanism.SCRAM_SHA_256.salted_password("secret", found.salt, 8192)
    assert found == credential_of(ScramMechanism.SCRAM_SHA_256, found.salt, 8192, salted)


@pytest.mark.parametrize(
    ("added", "deleted"),
    [
        ({"producer_byte_rate": "1"}, []),
        ({SHA_256: "password=secret", "producer_byte_rate": "1"}, []),
        ({}, ["producer_byte_rate"]),
    ],
)
def test_only_credentials_are_altered(added: dict[str, str], deleted: list[str]) -> None:
    with pytest.raises(InvalidArgument, match="only supported for SCRAM credential updates") as refused:
        checked_credentials(added, deleted)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["secret", "iterations=100,password=secret", "iterations=,password=secret"])
def test_a_bad_credential_is_not_repeated(text: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        checked_credentials({SHA_256: text}, [])
    assert "secret" not in str(refused.value)


def test_other_settings_of_the_user_stay() -> None:
    own = {"producer_byte_rate": "1", SHA_256: "old"}
    assert altered(own, {SHA_256: "new"}, []) == {"producer_byte_rate": "1", SHA_256: "new"}
    assert altered(own, {SHA_512: "x"}, [SHA_256]) == {"producer_byte_rate": "1", SHA_512: "x"}
    with pytest.raises(InvalidArgument, match=r"Invalid config\(s\): SCRAM-SHA-512"):
        altered(own, {}, [SHA_512])


def test_users_are_named_in_kafkas_words() -> None:
    assert [named("alice"), named("")] == ["user-principal 'alice'", "default user-principal"]


class Nodes:
    """The nodes of ZooKeeper that the tool touches; it is the session and the store."""

    def __init__(self) -> None:
        self.created: list[str] = []
        self.settings: dict = {}

    async def create(self, path, data):
        self.created.append(path)

    async def read(self, entities):
        kept = SimpleNamespace(settings={}, version=None, error=None)
        return {each: self.settings.get(each, kept) for each in entities}

    async def read_all(self):
        return self.settings

    async def write(self, entity, own, version):
        self.settings[entity] = SimpleNamespace(settings=own, version=0, error=None)


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    found = Nodes()
    monkeypatch.setattr(zookeeper_configs, "QuotaStore", lambda session: session)
    monkeypatch.setattr(
        zookeeper_configs, "in_session", lambda connect, security, work: asyncio.run(work(found))
    )
    return found


def test_the_tool_alters_and_describes(nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    assert QuotaStore is not zookeeper_configs.QuotaStore
    assert main([*ALICE, "--alter", "--add-config", f"{SHA_256}=[password=secret]"]) == 0
    warning = "".join(f"{line}\n" for line in zookeeper_configs.WARNING)
    done = "Completed updating config for entity: user-principal 'alice'.\n"
    assert capsys.readouterr().out == warning + done
    assert nodes.created == ["/config", "/config/changes"]
    (entity,) = nodes.settings
    kept = nodes.settings[entity].settings[SHA_256]
    for words in (ALICE, ALICE[:4]):
        assert main([*words, "--describe"]) == 0
        told = capsys.readouterr().out.removeprefix(warning)
        assert told == f"Configs for user-principal 'alice' are {SHA_256}={kept}\n"
    assert main([*ALICE, "--alter", "--delete-config", SHA_256]) == 0
    assert main([*ALICE[:4], "--describe"]) == 0
    assert capsys.readouterr().out == warning + done + warning


def test_errors_are_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(connect, security, work):
        raise ToolError("too late")

    monkeypatch.setattr(zookeeper_configs, "in_session", refuse)
    assert main([*ALICE, "--describe"]) == 1
    assert capsys.readouterr().err == "kafka-configs.sh: Error while executing config command: too late\n"
    assert main([*ALICE, "--describe", "--zk-tls-config-file", "/nowhere"]) == 1
    assert "zk-tls-config-file /nowhere cannot be read" in capsys.readouterr().err
    client = ("--entity-type", "clients", "--entity-name", "c")
    assert main([*ALICE[:2], "--describe", *client]) == 1
    assert "the entity type must be one of users,brokers with the --zookeeper argument" in (
        capsys.readouterr().err
    )
