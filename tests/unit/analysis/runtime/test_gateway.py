"""The start of Java: a command that is computed once, and an archive of classes for later runs."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from barnabas.analysis.runtime import gateway

# Answers as Spark's launcher: an empty line, then the words of the command, each ended by NUL.
LAUNCHER = """#!/bin/sh
echo "$SPARK_SCALA_VERSION $*" >> "{asked}"
printf '\\0\\n'
printf '%s\\0' java -cp 'jars/*' org.apache.spark.deploy.SparkSubmit pyspark-shell
"""
COMMAND = ["java", "-cp", "jars/*", "org.apache.spark.deploy.SparkSubmit", "pyspark-shell"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    jar = tmp_path / "spark" / "jars" / "spark-core_2.13-4.2.0.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    return tmp_path / "spark"


@pytest.fixture
def java(tmp_path: Path) -> Path:
    script = tmp_path / "java"
    script.write_text(LAUNCHER.format(asked=tmp_path / "asked"))
    script.chmod(0o755)
    return script


def asked(tmp_path: Path) -> list[str]:
    return (tmp_path / "asked").read_text().splitlines()


def test_the_command_is_asked_for_once(java: Path, home: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert gateway._command(str(java), home, tmp_path) == COMMAND
    (question,) = asked(tmp_path)
    assert question.startswith("2.13 -Xmx128m -cp ")
    assert question.endswith(
        "org.apache.spark.launcher.Main org.apache.spark.deploy.SparkSubmit pyspark-shell"
    )


def test_without_a_folder_it_is_asked_for_each_time(java: Path, home: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert gateway._command(str(java), home, None) == COMMAND
    assert len(asked(tmp_path)) == 2


def test_a_damaged_command_is_asked_for_again(java: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "command.json").write_text('["java", ')
    assert gateway._command(str(java), home, tmp_path) == COMMAND
    assert gateway._command(str(java), home, tmp_path) == COMMAND
    assert len(asked(tmp_path)) == 1


def test_a_launcher_that_fails_is_an_error(home: Path, tmp_path: Path) -> None:
    with pytest.raises(gateway.PySparkRuntimeError):
        gateway._command("false", home, tmp_path)


def test_only_a_whole_archive_is_used(tmp_path: Path) -> None:
    (tmp_path / "command.json").touch()
    made, *_ = gateway._sharing(tmp_path, ["-XX:+UseSerialGC"])
    option, _, path = made.partition("=")
    assert option == "-XX:ArchiveClassesAtExit"
    # Java reserves the header's place and writes it last.
    Path(path).write_bytes(bytes(4096))
    assert gateway._sharing(tmp_path, ["-XX:+UseSerialGC"])[0] == made
    Path(path).write_bytes(b"\xa8\xab\x0b\xf0" + bytes(4092))
    assert gateway._sharing(tmp_path, ["-XX:+UseSerialGC"])[0] == f"-XX:SharedArchiveFile={path}"
    assert gateway._sharing(tmp_path, ["-XX:+UseG1GC"])[0].startswith("-XX:ArchiveClassesAtExit=")


def test_the_first_run_makes_no_archive(tmp_path: Path) -> None:
    assert gateway._sharing(tmp_path, []) == []
    assert gateway._sharing(None, []) == []


def test_nothing_is_kept_where_others_write(
    java: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kept = gateway._kept(java, home)
    assert kept is not None
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert gateway._kept(java, home) == kept
    assert gateway._kept(java, home / "other") != kept
    kept.chmod(0o777)
    assert gateway._kept(java, home) is None


def test_nothing_is_kept_where_no_folder_can_be(
    java: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert gateway._kept(java, home) is None


def test_spark_that_somebody_configured_is_started_by_its_scripts(home: Path) -> None:
    assert gateway._is_plain({"PATH": "/bin", "SPARK_LOCAL_IP": "127.0.0.1"}, home)
    assert not gateway._is_plain({"SPARK_CONF_DIR": "/etc/spark"}, home)
    assert not gateway._is_plain({"SPARK_SUBMIT_OPTS": "-Da=b"}, home)
    assert not gateway._is_plain({"HADOOP_CONF_DIR": "/etc/hadoop"}, home)
    (home / "conf").mkdir()
    assert not gateway._is_plain({}, home)


def test_java_is_that_of_java_home() -> None:
    assert gateway._java({"JAVA_HOME": "/jdk"}) == "/jdk/bin/java"
    assert gateway._java({}) == "java"
