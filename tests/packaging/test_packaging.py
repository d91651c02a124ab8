"""What a user gets who installs the package, in venvs of their own and from any directory."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
import tomllib
import urllib.request
import zipfile
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from barnabas.page import NEEDS
from tests.packaging.conftest import EVERY_PYTHON, ROOT

pytestmark = [pytest.mark.packaging, pytest.mark.timeout(600)]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_wheel_holds_one_package_with_all_its_data(distributions):
    with zipfile.ZipFile(distributions.wheel) as wheel:
        names = wheel.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "barnabas",
        f"barnabas-{PROJECT['version']}.dist-info",
    }
    for kept in (
        "barnabas/py.typed",
        "barnabas/cluster/rpc/control_pb2.py",
        "barnabas/cluster/rpc/control_pb2.pyi",
        "barnabas/cluster/rpc/replication_pb2_grpc.py",
        "barnabas/local/zookeeper_jars.toml",
    ):
        assert kept in names
    code = {path.relative_to(ROOT) for path in (ROOT / "barnabas" / "broker").rglob("*.py")}
    assert {str(path) for path in code} <= set(names)
    page = (ROOT / "analysis" / "report" / "page").iterdir()
    assert {f"barnabas/analysis/report/page/{file.name}" for file in page} <= set(names)
    live = {f"barnabas/page/static/{file.name}" for file in (ROOT / "barnabas" / "page" / "static").iterdir()}
    assert "barnabas/page/static/page.js" in live
    assert live <= set(names)
    assert not [name for name in names if name.startswith(("barnabas/bench/", "barnabas/chaos/"))]


def test_the_source_distribution_has_sources_only(distributions):
    with tarfile.open(distributions.sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        assert not any(member.issym() for member in archive.getmembers())
    assert {"setup.py", "pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md"} <= set(names)
    assert {f"proto/{file.name}" for file in (ROOT / "proto").iterdir()} <= set(names)
    assert not any("_pb2" in name for name in names)


def test_version_and_help(installed):
    said = installed.run("barnabas", "--version")
    assert (said.returncode, said.stdout) == (0, f"barnabas {PROJECT['version']}\n")
    assert "up" in installed.run("barnabas", "-h").stdout


@contextmanager
def running(installed):
    """A cluster that runs in the background, and its `bootstrap.servers`."""
    up = installed.run("barnabas", "up", "--detach", "--port", "0")
    assert up.returncode == 0, up.stderr
    try:
        file = json.loads((installed.folder / "barnabas-data" / "cluster.json").read_text())
        yield ",".join(broker["kafka"] for broker in file["brokers"])
    finally:
        down = installed.run("barnabas", "down")
    assert (down.returncode, down.stderr) == (0, "")


def test_a_cluster_runs_from_any_directory(installed):
    with running(installed) as servers:
        file = json.loads((installed.folder / "barnabas-data" / "cluster.json").read_text())
        created = installed.run(
            *("kafka-topics.sh", "--bootstrap-server", servers, "--create", "--topic", "first"),
        )
        assert created.stdout == "Created topic first.\n", created.stderr
        described = installed.run("kafka-topics.sh", "--bootstrap-server", servers, "--describe")
        assert "ReplicationFactor: 3" in described.stdout
        assert "min.insync.replicas=2" in described.stdout
        written = installed.run(
            *("kafka-verifiable-producer.sh", "--bootstrap-server", servers, "--topic", "first"),
            *("--max-messages", "10"),
        )
        assert json.loads(written.stdout.splitlines()[-1])["acked"] == 10, written.stderr
        changed = installed.run(
            *("kafka-configs.sh", "--bootstrap-server", servers, "--alter", "--entity-type", "topics"),
            *("--entity-name", "first", "--add-config", "retention.ms=1000"),
        )
        assert changed.returncode == 0, changed.stderr
        shell = installed.run("zookeeper-shell.sh", file["zookeeper"]["address"], "ls", "/brokers/ids")
        assert shell.stdout.splitlines()[-1] == "[1, 2, 3]", shell.stderr
        assert installed.run("barnabas", "kill", "2").returncode == 0
        assert "killed" in installed.run("barnabas", "status").stdout


def test_the_page_needs_an_extra(installed, distributions):
    said = installed.run("barnabas", "page", "--zookeeper", "z:1", "--bootstrap", "b:1")
    assert (said.returncode, said.stderr) == (1, f"barnabas: {NEEDS}\n")
    added = installed.run("python", "-m", "pip", "install", "--quiet", f"{distributions.wheel}[page]")
    assert added.returncode == 0, added.stderr
    with running(installed):
        (page,) = re.findall(r"http://\S+", installed.run("barnabas", "status").stdout)
        with urllib.request.urlopen(page, timeout=30) as answer:
            assert "page.js" in answer.read().decode()


def test_analyze_without_spark_says_what_to_install(installed):
    said = installed.run("barnabas", "analyze", "state-change.log")
    assert said.returncode == 1
    assert said.stderr == "barnabas: analyze needs Spark: pip install 'barnabas[spark]'\n"


@pytest.mark.parametrize("tool", sorted(PROJECT["scripts"].keys() - {"barnabas", "zookeeper-shell.sh"}))
def test_each_of_kafkas_tools_tells_its_flags(installed, tool):
    said = installed.run(tool, "--help")
    printed = said.stdout + said.stderr
    flags = ("--bootstrap-server", "--producer-props", "--files", "--zookeeper.acl")
    assert any(flag in printed for flag in flags), printed


slow = pytest.mark.skipif(
    not EVERY_PYTHON, reason="only `make packaging` downloads Spark, Java and what builds"
)


@slow
def test_the_package_installs_from_git(installed_from_git):
    with running(installed_from_git) as servers:
        created = installed_from_git.run(
            *("kafka-topics.sh", "--bootstrap-server", servers, "--create", "--topic", "first"),
        )
    assert created.stdout == "Created topic first.\n", created.stderr


@slow
def test_the_extra_java_serves_zookeeper_where_there_is_no_java(installed_with_java):
    with running(installed_with_java):
        told = installed_with_java.folder / "barnabas-data" / "cluster.json"
        zookeeper = psutil.Process(json.loads(told.read_text())["zookeeper"]["pid"])
        assert zookeeper.exe().startswith(str(installed_with_java.venv.resolve()))


@slow
def test_analyze_with_spark_from_any_directory(installed_with_spark):
    with running(installed_with_spark):
        assert installed_with_spark.run("barnabas", "kill", "2").returncode == 0
    said = installed_with_spark.run(
        *("barnabas", "analyze", "barnabas-data", "--out", "report", "--format", "text")
    )
    assert said.returncode == 0, said.stderr
    assert "lines of 3 brokers" in said.stdout
    assert "Safety audit" in said.stdout
    assert (installed_with_spark.folder / "report" / "report.html").is_file()


@slow
def test_the_demo_from_any_directory(installed_with_spark):
    said = installed_with_spark.run("barnabas", "demo")
    assert said.returncode == 0, said.stdout + said.stderr
    story, _, _report = said.stdout.partition("What the brokers' logs say")
    assert max(map(len, story.splitlines())) <= 80
    report = Path(said.stdout.splitlines()[-1].removeprefix("The report: "))
    assert report.is_file()
    shutil.rmtree(report.parents[1])
