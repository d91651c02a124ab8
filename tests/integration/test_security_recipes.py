"""The recipes of docs/security.md, with the commands and files that stand there, one after the other."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from barnabas.cluster.model.properties import parse_properties
from barnabas.local.ports import any_free
from barnabas.local.waiting import wait_until
from tests.logged import logged

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(console|properties)\n(.*?)```", re.DOTALL)
PATIENCE_S = 240

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


def recipe(number):
    """The section of a recipe."""
    return PAGE.split(f"\n## Recipe {number}: ")[1].split("\n## ")[0]


def blocks(number, kind):
    return [text for found, text in BLOCK.findall(recipe(number)) if found == kind]


class Reader:
    """Somebody who does what the page says, in a folder of their own and on free ports.

    Args:
        folder: The folder.
    """

    def __init__(self, folder):
        self.folder = folder
        free = any_free(2).brokers
        self.ports = {"9092": free[0].kafka, "9192": free[0].grpc, "2181": free[1].kafka}
        self.running = {}
        path = os.pathsep.join((str(ROOT / "scripts"), str(Path(sys.executable).parent), os.environ["PATH"]))
        self._environment = {**os.environ, "PATH": path}

    def here(self, text):
        for port, own in self.ports.items():
            text = re.sub(rf"\b{port}\b", str(own), text)
        return text

    def write(self, name, text):
        (self.folder / name).write_text(self.here(text))

    def do(self, console):
        """Run the commands of a block; those in the background until they serve."""
        for line in console.splitlines():
            assert line.startswith("$ ")
            command = self.here(line.removeprefix("$ "))
            if command.endswith(" &"):
                self.start(command.removesuffix(" &"))
            else:
                done = self.shell(command)
                assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"

    def shell(self, command):
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def start(self, command):
        name = "zookeeper" if " zookeeper " in command else "broker"
        with (self.folder / f"{name}.out").open("wb") as out:
            self.running[name] = subprocess.Popen(
                ["bash", "-c", f"exec {command}"],
                cwd=self.folder,
                env=self._environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        said = {"zookeeper": "ZooKeeper answers on", "broker": "started (kafka.server.KafkaServer)"}[name]
        log = {"zookeeper": "zookeeper.out", "broker": "logs/server.log"}[name]

        def serves():
            assert self.running[name].poll() is None, (self.folder / f"{name}.out").read_text()
            return (self.folder / log).exists() and said in logged(self.folder / log)

        wait_until(serves, f"{name} serves")

    def stop(self, name):
        process = self.running.pop(name)
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        shutil.rmtree(self.folder / "logs", ignore_errors=True)


@pytest.fixture
def reader(tmp_path):
    someone = Reader(tmp_path)
    yield someone
    for name in ("broker", "zookeeper"):
        if name in someone.running:
            someone.stop(name)


def alice_of(admin):
    """The properties of alice: those of the administrator with what the page names in its place."""
    mechanism, entry = re.search(
        r"`alice\.properties` is the same, with `sasl\.mechanism=(.*?)`, and\s+`(.*?)`\.", recipe(1)
    ).groups()
    return parse_properties(admin) | {"sasl.mechanism": mechanism, "sasl.jaas.config": entry}


def as_text(settings):
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def test_the_recipes_do_what_the_page_says(reader):
    server, admin = blocks(1, "properties")
    certificates, servers_and_alice, first_of_scram = blocks(1, "console")
    reader.do(certificates)
    for name, text in {
        "server.properties": server,
        "admin.properties": admin,
        "alice.properties": as_text(alice_of(admin)),
        "nobody.properties": as_text(parse_properties(admin) | {"security.protocol": "SSL"}),
        "wrong.properties": admin.replace("change-me", "guessed"),
    }.items():
        reader.write(name, text)
    reader.do(servers_and_alice)
    list_topics = reader.here("kafka-topics.sh --bootstrap-server localhost:9092 --list --command-config ")
    assert reader.shell(list_topics + "alice.properties").stdout.split() == ["first"]
    for stranger in ("nobody.properties", "wrong.properties"):
        assert reader.shell(list_topics + stranger).returncode != 0
    reader.do(first_of_scram)
    scram = alice_of(admin)
    scram["sasl.jaas.config"] = scram["sasl.jaas.config"].replace("alice", "admin")
    reader.write("scram.properties", as_text(scram))
    wait_until(lambda: reader.shell(list_topics + "scram.properties").returncode == 0, "admin let in")
    assert not may_read(reader.ports["2181"])
    printed = (reader.folder / "zookeeper.out").read_text()
    told = parse_properties("".join(re.findall(r"^  .*\n", printed, re.MULTILINE)))
    assert (
        set(told) == {"java.security.auth.login.config", "zookeeper.set.acl"} <= set(parse_properties(server))
    )

    reader.stop("broker")
    (changes,) = blocks(2, "properties")
    reader.write("server.properties", as_text(parse_properties(server) | parse_properties(changes)))
    reader.start("python -m barnabas.broker server.properties")
    assert reader.shell(list_topics + "alice.properties").stdout.split() == []

    (grants,) = blocks(3, "console")
    reader.do(grants)
    assert reader.shell(list_topics + "alice.properties").stdout.split() == ["orders"]
    consume = reader.here(
        "kafka-console-consumer.sh --bootstrap-server localhost:9092 --consumer.config alice.properties "
        "--topic orders --from-beginning --max-messages 1 --timeout-ms 60000 --group "
    )
    assert reader.shell(consume + "billing-1").stdout == "hello\n"
    assert "GROUP" in reader.shell(consume + "others").stderr.upper()

    # As in Kafka, ACLs can be changed without a broker, which obeys all the same.
    in_zookeeper = "--authorizer-properties zookeeper.connect=localhost:2181 --topic orders --operation All"
    login = "KAFKA_OPTS=-Djava.security.auth.login.config=zookeeper/jaas.conf"
    reader.do(f"$ {login} kafka-acls.sh {in_zookeeper} --add --deny-principal User:alice\n")
    wait_until(
        lambda: reader.shell(list_topics + "alice.properties").stdout.split() == [], "orders denied to alice"
    )
    reader.do(f"$ {login} kafka-acls.sh {in_zookeeper} --remove --force --deny-principal User:alice\n")
    wait_until(
        lambda: reader.shell(list_topics + "alice.properties").stdout.split() == ["orders"], "orders seen"
    )


def may_read(port):
    """Whether somebody without the brokers' password reads what ZooKeeper has."""
    client = KazooClient(f"127.0.0.1:{port}", timeout=10)
    try:
        client.start(20)
        return bool(client.get_children("/"))
    except (KazooException, KazooTimeoutError):
        return False
    finally:
        client.stop()
        client.close()
