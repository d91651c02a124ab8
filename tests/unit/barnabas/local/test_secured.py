from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from barnabas.cluster.model.properties import parse_properties
from barnabas.local.client_login import ClientLogin
from barnabas.local.cluster import LocalCluster
from barnabas.local.errors import ClusterError
from barnabas.local.secured import GRANTS, Secured, described, first_command, is_secured, settings_of


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_what_is_there_is_kept_and_more_brokers_get_certificates(tmp_path):
    assert not is_secured(tmp_path)
    first = Secured(tmp_path, 1)
    assert is_secured(tmp_path)
    before = contents(first.folder)
    second = Secured(tmp_path, 2)
    after = contents(second.folder)
    assert set(after) - set(before) == {"broker-2.pem"}
    assert {name: after[name] for name in before} == before
    assert (second.admin, second.client) == (first.admin, first.client)
    assert {path.stat().st_mode & 0o777 for path in second.folder.iterdir()} == {0o600}
    assert {(tmp_path / each).stat().st_mode & 0o777 for each in ("secure", "broker-2")} == {0o700}


def test_another_authority_issues_all_certificates_again(tmp_path):
    first = Secured(tmp_path, 2)
    before = contents(first.folder)
    (first.folder / "ca.pem").unlink()
    after = contents(Secured(tmp_path, 1).folder)
    assert not {"ca.pem", "ca.key", "broker-1.pem"} & {name for name in after if after[name] == before[name]}
    assert "broker-2.pem" not in after


def test_a_cluster_without_security_is_refused(tmp_path):
    (tmp_path / "zookeeper").mkdir()
    with pytest.raises(ClusterError, match="was made without --secure"):
        Secured(tmp_path, 1)
    assert not is_secured(tmp_path)


@pytest.mark.parametrize("text", ["[]", "{}", '{"admin": 1, "client": "b", "kafka": "c"}', "secret"])
def test_broken_passwords_are_named_and_not_shown(tmp_path, text):
    Secured(tmp_path, 1)
    (tmp_path / "secure" / "passwords.json").write_text(text)
    with pytest.raises(ClusterError, match="cannot make or read the files in") as caught:
        Secured(tmp_path, 1)
    assert "secret" not in str(caught.value)


def test_brokers_and_clients_get_their_files(tmp_path):
    secured = Secured(tmp_path, 2)
    passwords = json.loads((secured.folder / "passwords.json").read_text())
    assert len(set(passwords.values())) == 3
    cluster = LocalCluster(tmp_path, 2, overrides=secured.settings, zookeeper_security=secured.zookeeper)
    secured.apply(cluster)
    cluster.write_properties(2)
    broker = cluster.broker(2)
    written = parse_properties(broker.properties.read_text())
    assert written["listeners"] == f"SASL_SSL://{broker.kafka},GRPC://{broker.grpc}"
    assert written["ssl.keystore.location"] == str(secured.folder / "broker-2.pem")
    assert written["zookeeper.set.acl"] == "true"
    assert not [each for each in passwords.values() if each in broker.properties.read_text()]
    for user in ("admin", "client"):
        given = parse_properties((secured.folder / f"{user}.properties").read_text())
        assert given["bootstrap.servers"] == cluster.bootstrap
        assert f'username="{user}" password="{passwords[user]}"' in given["sasl.jaas.config"]


def test_super_users_are_the_admin_and_the_brokers(tmp_path):
    assert settings_of(tmp_path, 2)["super.users"] == (
        "User:admin;User:CN=broker-1,O=barnabas;User:CN=broker-2,O=barnabas"
    )


def test_grants_are_of_the_client_alone():
    entries = [entry for each in GRANTS.values() for entry in each]
    assert {entry.principal for entry in entries} == {"User:client"}


def test_the_first_command_can_be_copied_and_fits_into_80_columns(tmp_path, monkeypatch):
    command = ["echo", "hello", "|", "kafka-console-producer.sh", "--topic", "first"]
    for name in ("my data", "other"):
        (tmp_path / name).mkdir()
    for folder, shown in ((tmp_path, "my data/secure"), (tmp_path / "other", f"{tmp_path}/my data/secure")):
        monkeypatch.chdir(folder)
        said = first_command(tmp_path / "my data", "127.0.0.1:9092,127.0.0.1:9093")
        options = ["--bootstrap-server", "127.0.0.1:9092", "--producer.config", f"{shown}/client.properties"]
        assert shlex.split(said.replace("\\\n", "")) == [*command, *options]
    monkeypatch.chdir(tmp_path)
    lines = first_command(Path("barnabas-data"), "127.0.0.1:9092").splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80


def test_the_terminal_shows_each_client_its_file(tmp_path):
    lines = described(tmp_path)
    folder = tmp_path.resolve() / "secure"
    assert lines[1].strip() == str(folder)
    table = lines[2:]
    assert max(map(len, (lines[0], *table))) + len("barnabas: ") <= 80
    login = ClientLogin("client", "p", folder / "ca.pem")
    files = set(login.examples("h:1", folder / "client.properties")) | {
        "client.properties",
        "admin.properties",
    }
    assert {line[18:].split()[0] for line in table} == files
    clients = {line[2:17].strip() for line in table} - {""}
    assert clients == {"confluent-kafka", "kafka-python", "aiokafka", "Java", "Kafka's tools"}
