"""What the embedded ZooKeeper decides before a process exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas import zookeeper
from barnabas.zookeeper import EmbeddedZooKeeper, ZooKeeperStartError, find_jars, find_java, java_version


def a_java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return java


@pytest.mark.parametrize(
    ("release", "version"),
    [
        ('JAVA_VERSION="17.0.15"\n', 17),
        ('IMPLEMENTOR="x"\nJAVA_VERSION="21"\n', 21),
        ('JAVA_VERSION="1.8.0_402"\n', 8),
        ("", None),
        ('JAVA_VERSION="?"', None),
    ],
)
def test_java_version(release: str, version: int | None) -> None:
    assert java_version(release) == version


def test_java_of_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = a_java(tmp_path, "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == str(java)


def test_missing_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ZooKeeperStartError, match="no java found in PATH: install a Java 17"):
        find_java()


def test_an_old_java_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = a_java(tmp_path, "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ZooKeeperStartError, match=f"{java} is Java 11: install a Java 17"):
        find_java()


def test_the_jars_are_found_in_pyspark() -> None:
    names = [jar.name for jar in find_jars()]
    assert any(name.startswith("zookeeper-3.") for name in names)
    assert not any(name.startswith("log4j-core") for name in names)


def test_missing_pyspark_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zookeeper.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ZooKeeperStartError, match="install pyspark"):
        find_jars()


def test_the_configuration_keeps_every_acknowledged_write(tmp_path: Path) -> None:
    config = dict(line.split("=") for line in zookeeper.render_config(tmp_path, 2181, 500).splitlines())
    assert config["forceSync"] == "yes"
    assert config["dataDir"] != config["dataLogDir"]
    assert config["clientPortAddress"] == "127.0.0.1"
    assert (config["minSessionTimeout"], config["maxSessionTimeout"]) == ("1000", "60000")


def test_port_0_is_any_free_port_and_stays(tmp_path: Path) -> None:
    server = EmbeddedZooKeeper(tmp_path)
    assert server.port > 0
    assert server.address == f"127.0.0.1:{server.port}"
    assert server.pid is None
