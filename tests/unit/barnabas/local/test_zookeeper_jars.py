"""Which Java and which jars the embedded ZooKeeper runs from."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.local import zookeeper_jars
from barnabas.local.zookeeper_jars import ZooKeeperStartError, find_jars, find_java, java_version


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
    monkeypatch.setattr(zookeeper_jars.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ZooKeeperStartError, match="install pyspark"):
        find_jars()
