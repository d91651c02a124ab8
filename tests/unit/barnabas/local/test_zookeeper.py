"""What the embedded ZooKeeper decides before a process exists."""

from __future__ import annotations

from pathlib import Path

from barnabas.local import zookeeper
from barnabas.local.zookeeper import EmbeddedZooKeeper
from barnabas.local.zookeeper_security import ServerSecurity


def test_the_configuration_keeps_every_acknowledged_write(tmp_path: Path) -> None:
    config = dict(
        line.split("=") for line in zookeeper.render_config(tmp_path, 2181, "127.0.0.1").splitlines()
    )
    assert config["forceSync"] == "yes"
    assert config["dataDir"] != config["dataLogDir"]
    assert config["clientPortAddress"] == "127.0.0.1"
    assert (config["minSessionTimeout"], config["maxSessionTimeout"]) == ("1000", "60000")


def test_a_test_may_do_without_a_write_to_the_disk_before_each_acknowledgement(tmp_path: Path) -> None:
    assert "forceSync=no\n" in zookeeper.render_config(tmp_path, 2181, "127.0.0.1", force_sync=False)


def test_a_server_with_tls_has_no_other_port(tmp_path: Path) -> None:
    config = zookeeper.render_config(tmp_path, 2281, "127.0.0.1", secure=True)
    assert "secureClientPort=2281\nsecureClientPortAddress=127.0.0.1\n" in config
    assert "clientPort=" not in config


def test_a_member_of_an_ensemble_knows_all_of_it() -> None:
    membership = zookeeper.Membership(2, {1: "a:1:2", 2: "b:3:4"})
    config = dict(line.split("=") for line in zookeeper.render_membership(membership).splitlines())
    assert (config["server.1"], config["server.2"]) == ("a:1:2", "b:3:4")
    assert int(config["initLimit"]) > int(config["syncLimit"]) > 0


def test_a_server_that_does_not_run_has_no_mode(tmp_path: Path) -> None:
    assert EmbeddedZooKeeper(tmp_path).mode() is None


def test_port_0_is_any_free_port_and_stays(tmp_path: Path) -> None:
    server = EmbeddedZooKeeper(tmp_path)
    assert server.port > 0
    assert server.address == f"127.0.0.1:{server.port}"
    assert server.pid is None


def test_brokers_get_the_settings_that_a_secured_server_needs(tmp_path: Path) -> None:
    assert EmbeddedZooKeeper(tmp_path).client_settings == {}
    secured = EmbeddedZooKeeper(tmp_path, security=ServerSecurity({"kafka": "secret"}))
    assert secured.client_settings == {
        "java.security.auth.login.config": str(tmp_path / "jaas.conf"),
        "zookeeper.set.acl": "true",
    }
