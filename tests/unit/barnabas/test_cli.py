import sys
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner

import barnabas
from barnabas import analysis, cli
from barnabas.local.zookeeper_jars import ZooKeeperStartError


@pytest.fixture
def ran(monkeypatch):
    calls = []

    def run(*arguments):
        calls.append(arguments)
        return 7

    monkeypatch.setattr(cli.foreground, "run", run)
    return calls


def test_up_has_the_defaults_of_kafka(ran):
    result = CliRunner().invoke(cli.app, ["up"])
    assert result.exit_code == 7
    assert ran == [(Path("barnabas-data"), 3, 9092)]


def test_up_takes_brokers_dir_and_port(ran):
    CliRunner().invoke(cli.app, ["up", "--brokers", "5", "--dir", "d", "--port", "0"])
    assert ran == [(Path("d"), 5, 0)]


def test_up_tells_which_ports_it_takes():
    told = " ".join(CliRunner().invoke(cli.app, ["up", "--help"]).stdout.replace("│", " ").split())
    assert "gRPC is 1000 above, metrics 2000, ZooKeeper 3000" in told


def test_up_refuses_no_brokers(ran):
    assert CliRunner().invoke(cli.app, ["up", "--brokers", "0"]).exit_code == 2
    assert ran == []


def test_zookeeper_that_cannot_start_is_one_line(monkeypatch):
    def refuse(_directory, _port):
        raise ZooKeeperStartError("no java found")

    monkeypatch.setattr(cli.embedded, "run_in_foreground", refuse)
    result = CliRunner().invoke(cli.app, ["zookeeper", "--port", "0"])
    assert (result.exit_code, result.stderr) == (1, "barnabas: no java found\n")


def test_every_command_is_there():
    text = CliRunner().invoke(cli.app, ["--help"]).stdout
    assert all(command in text for command in ("up", "zookeeper", "demo", "analyze"))


def stand_in(monkeypatch, package, name):
    """Put a module in the place of a heavy one; what it was called with, its status being 3."""
    calls = []

    def run(*arguments):
        calls.append(arguments)
        return 3

    module = types.SimpleNamespace(run=run, main=run)
    monkeypatch.setitem(sys.modules, f"{package.__name__}.{name}", module)
    monkeypatch.setattr(package, name, module, raising=False)
    return calls


def test_the_demo_may_draw_a_picture(monkeypatch):
    calls = stand_in(monkeypatch, barnabas, "demo")
    assert CliRunner().invoke(cli.app, ["demo", "--picture", "demo.svg"]).exit_code == 3
    assert calls == [(Path("demo.svg"),)]


def test_analyze_hands_paths_on_as_they_were_given(monkeypatch):
    calls = stand_in(monkeypatch, analysis, "job")
    result = CliRunner().invoke(cli.app, ["analyze", "a.log", "s3a://logs/*", "--out", "hdfs://d/e"])
    assert result.exit_code == 3
    said = ["--out=hdfs://d/e", "--format=html", "--time-zone=UTC", "--", "a.log", "s3a://logs/*"]
    assert calls == [(said,)]


def test_analyze_hands_on_what_the_logs_do_not_say(monkeypatch):
    calls = stand_in(monkeypatch, analysis, "job")
    asked = ["analyze", "a.log", "--broker", "3", "--time-zone", "Europe/Berlin", "--follow"]
    assert CliRunner().invoke(cli.app, asked).exit_code == 3
    assert calls[0][0][-5:] == ["--time-zone=Europe/Berlin", "--broker=3", "--follow", "--", "a.log"]


def test_analyze_takes_nothing_that_is_given_for_an_option(monkeypatch):
    calls = stand_in(monkeypatch, analysis, "job")
    asked = ["analyze", "--broker", "-5", "--out", "-x", "--", "--follow"]
    assert CliRunner().invoke(cli.app, asked).exit_code == 3
    assert calls == [(["--out=-x", "--format=html", "--time-zone=UTC", "--broker=-5", "--", "--follow"],)]
