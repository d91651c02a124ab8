"""What is asked of Docker; tests/containers tries it for real."""

import json
import os
import signal
from pathlib import Path

import pytest

from barnabas.chaos.targets import composed as module
from barnabas.chaos.targets import links
from barnabas.chaos.targets.composed import ComposedCluster, composed_targets, why_not
from barnabas.chaos.targets.links import NetworkError
from barnabas.local.errors import ClusterError
from barnabas.local.zookeeper_jars import ZooKeeperStartError

NOWHERE = Path("nowhere")
PROJECT = f"barnabas-chaos-{os.getpid()}"
BROKER = f"{PROJECT}-broker-2-1"


class Engine:
    """Notes every command; what containers say of themselves is the same for all."""

    def __init__(self, volume):
        self.commands = []
        self.pid = "77"
        self.health = "healthy"
        self.refused = ""
        self._mounts = [
            {"Destination": where, "Source": str(volume)} for where in ("/var/lib/barnabas", "/datalog")
        ]

    def run(self, *command, may_fail=False, timeout_s=0.0):
        said = " ".join(command)
        self.commands.append(said)
        if self.refused and self.refused in said:
            raise ClusterError(f"{said}: refused")
        answers = {
            "State.Pid}} {{": f"{self.pid} 172.18.0.3\n" * 6,
            "State.Pid": self.pid,
            "ExitCode": "137",
            "Health": self.health,
            "Networks": "172.18.0.3",
            "Gateway": "172.18.0.1",
            "Mounts": json.dumps(self._mounts),
            "logs --tail": "its last line\n",
            "ps --all": "somebody-else\nbarnabas-chaos-0\n",
        }
        return next((answer for asked, answer in answers.items() if asked in said), "")

    def done(self):
        """The commands so far that do something, which are forgotten."""
        done = [command for command in self.commands if "inspect" not in command]
        self.commands.clear()
        return done


@pytest.fixture
def engine(monkeypatch, tmp_path):
    engine = Engine(tmp_path / "volume")
    monkeypatch.setattr(module, "_run", engine.run)
    monkeypatch.setattr(links, "_run", engine.run)
    monkeypatch.setattr(module, "END_TIMEOUT_S", 0.0)
    return engine


def test_a_cluster_is_a_project_of_its_own_and_leaves_nothing(engine, tmp_path):
    with composed_targets(tmp_path) as targets:
        leftovers, down, up, *_ = engine.done()
        assert leftovers.startswith("docker ps --all")
        assert "--project-name barnabas-chaos-0 " in down
        assert " down --volumes" in down
        assert up.startswith("env BROKER_1_PORT=")
        assert f"--project-name {PROJECT} " in up
        assert up.endswith("--profile ensemble up --detach --wait")
        assert f"--file {tmp_path / 'docker-compose.yml'}" in up
        assert "auto.create.topics.enable=false" in (tmp_path / "server.properties").read_text()
        # Or Docker would start a broker that ended by itself again, and nobody would hear of it.
        services = json.loads((tmp_path / "docker-compose.yml").read_text())["services"]
        assert {service["restart"] for service in services.values()} == {"no"}
        assert targets.zookeepers == ["zookeeper", "zookeeper-2", "zookeeper-3"]
        assert targets.others(2) == ["broker-1", "broker-3"]
        assert [where.split(":")[0] for where in targets.cluster.bootstrap.split(",")] == ["localhost"] * 3
    (down,) = engine.done()
    assert f"--project-name {PROJECT} " in down


def test_a_cluster_that_does_not_start_leaves_nothing_either(engine, tmp_path):
    engine.refused = " up "
    with pytest.raises(ClusterError, match="refused"), composed_targets(tmp_path):
        pass
    assert " down --volumes" in engine.done()[-1]


def test_faults_hit_brokers_through_their_containers(engine):
    cluster = ComposedCluster(NOWHERE)
    cluster.kill(2)
    cluster.pause(2)
    cluster.resume(2)
    cluster.restart(2, wait=True)
    assert engine.done() == [
        f"docker kill --signal SIGKILL {BROKER}",
        f"docker wait {BROKER}",
        f"docker pause {BROKER}",
        f"docker unpause {BROKER}",
        f"docker start {BROKER}",
    ]
    broker = cluster.brokers[2]
    assert (broker.pid, broker.exit_status, broker.last_words()) == (77, None, "its last line")
    engine.pid = "0"
    assert (broker.pid, broker.exit_status) == (None, 137)
    cluster.terminate(2, 0.0)
    broker.signal(signal.SIGTERM)
    assert engine.done()[-1] == f"docker kill --signal SIGTERM {BROKER}"


def test_what_does_not_end_or_become_healthy_is_reported(engine):
    cluster = ComposedCluster(NOWHERE)
    with pytest.raises(
        ClusterError, match=f"the end of {BROKER} was not seen within 0 s; last: its last line"
    ):
        cluster.terminate(2, 0.0)
    engine.health = "starting"
    with pytest.raises(ClusterError, match="the health of all brokers was not seen"):
        cluster.wait_ready(0.0)


def test_a_zookeeper_is_asked_at_its_address(engine, monkeypatch):
    monkeypatch.setattr(
        module, "mode_of", lambda host, port: "leader" if (host, port) == ("172.18.0.3", 2181) else None
    )
    server = ComposedCluster(NOWHERE).ensemble.servers["zookeeper-2"]
    assert (server.address, server.mode()) == ("172.18.0.3:2181", "leader")
    server.wait_ready(0.0)
    engine.pid = "0"
    assert server.mode() is None
    with pytest.raises(ZooKeeperStartError, match="zookeeper-2-1 serving was not seen"):
        server.wait_ready(0.0)
    engine.done()
    server.stop()
    assert engine.done() == [
        f"docker {what} {PROJECT}-zookeeper-2-1" for what in ("kill --signal SIGTERM", "wait")
    ]


def test_a_container_that_does_not_run_has_no_links(engine):
    engine.pid = "0"
    with pytest.raises(NetworkError, match="broker-2, zookeeper has no network namespace now"):
        ComposedCluster(NOWHERE).links.cut([("zookeeper", "broker-2")])
    assert ComposedCluster(NOWHERE).links.heal() == 0
    assert engine.done() == []


def test_the_reason_why_it_is_unavailable_is_returned(engine, monkeypatch, tmp_path):
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    assert why_not() == "only root can cut the networks of containers"
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    monkeypatch.setattr(module.shutil, "which", lambda name: None if name == "nsenter" else name)
    assert why_not() == "there is no nsenter"
    monkeypatch.setattr(module.shutil, "which", lambda name: name)
    assert why_not() is None
    engine.refused = "docker info"
    assert why_not() == "docker info: refused"
    monkeypatch.setattr(module, "FILE", tmp_path / "docker-compose.yml")
    assert "docker-compose.yml" in why_not()
