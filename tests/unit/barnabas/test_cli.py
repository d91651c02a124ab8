import inspect
import sys
import types
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

import barnabas
from barnabas import analysis, cli, commands
from barnabas import page as live_page
from barnabas.local.zookeeper_jars import ZooKeeperStartError


@pytest.fixture
def ran(monkeypatch):
    calls = []

    def run(*arguments, page_host, secure):
        more = [*([] if page_host == "127.0.0.1" else [page_host]), *(["secure"] if secure else [])]
        calls.append((*arguments, *more))
        return 7

    monkeypatch.setattr(cli.foreground, "run", run)
    return calls


def test_up_has_the_defaults_of_kafka(ran):
    result = CliRunner().invoke(cli.app, ["up"])
    assert result.exit_code == 7
    assert ran == [(Path("barnabas-data"), 3, 9092, {}, (8080, 0))]


@pytest.mark.parametrize(("given", "ports"), [(["--no-page"], ()), (["--page-port", "81"], (81,))])
def test_up_serves_the_page_where_it_is_told_or_not_at_all(ran, given, ports):
    CliRunner().invoke(cli.app, ["up", *given])
    assert ran[0][4] == ports


def test_up_serves_the_page_to_others_only_if_it_is_told(ran):
    CliRunner().invoke(cli.app, ["up", "--page-host", "10.0.0.1"])
    assert ran[0][5:] == ("10.0.0.1",)


def test_up_takes_brokers_dir_and_port(ran):
    given = [
        "--brokers",
        "5",
        "--dir",
        "d",
        "--port",
        "0",
        "--override",
        "broker.rack=c=d",
        "--override",
        "log.dirs=",
    ]
    CliRunner().invoke(cli.app, ["up", *given])
    assert ran == [(Path("d"), 5, 0, {"broker.rack": "c=d", "log.dirs": ""}, (8080, 0))]


@pytest.mark.parametrize("text", ["broker.rack", "=c", "log.segmnt.bytes=5", "log.segment.bytes=5"])
def test_up_refuses_an_override_without_a_name_and_a_value_that_brokers_take(ran, text):
    assert CliRunner().invoke(cli.app, ["up", "--override", text]).exit_code == 2
    assert ran == []


@pytest.mark.parametrize("command", ["up", "status", "down", "logs", "zookeeper"])
def test_a_directory_that_is_a_file_is_refused(ran, tmp_path, command):
    (tmp_path / "file").touch()
    result = CliRunner().invoke(cli.app, [command, "--dir", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "Invalid value for '--dir'" in result.stderr
    assert ran == []


@pytest.mark.parametrize("more", [[], ["--detach"]])
def test_up_refuses_a_port_without_room_above_it(ran, more):
    result = CliRunner().invoke(cli.app, ["up", "--port", "99999", *more])
    assert result.exit_code == 2
    assert "expected 1 to 62532" in result.stderr
    assert ran == []


def test_up_may_be_secure(ran):
    CliRunner().invoke(cli.app, ["up", "--secure"])
    assert ran == [(Path("barnabas-data"), 3, 9092, {}, (8080, 0), "secure")]


def test_up_in_the_background_gets_the_same_options(monkeypatch):
    calls = []
    monkeypatch.setattr(cli.foreground, "detach", lambda *arguments: calls.append(arguments) or 0)
    given = [
        "up",
        "-d",
        "--dir",
        "d",
        "--override",
        "broker.rack=b",
        "--no-page",
        "--page-port",
        "81",
        "--secure",
    ]
    given += ["--page-host", "0.0.0.0"]
    assert CliRunner().invoke(cli.app, given).exit_code == 0
    options = [
        "--brokers=3",
        "--dir=d",
        "--port=9092",
        "--override=broker.rack=b",
        "--no-page",
        "--page-port=81",
    ]
    options += ["--page-host=0.0.0.0", "--secure"]
    assert calls == [(Path("d"), options)]


@pytest.mark.parametrize("command", ["kill", "stop", "start", "pause", "resume"])
def test_a_command_about_a_broker_goes_to_the_cluster(monkeypatch, command):
    calls = []

    class Client:
        def __init__(self, directory):
            calls.append(directory)

        def perform(self, name, broker):
            calls.append((name, broker))

    monkeypatch.setattr(commands, "ControlClient", Client)
    assert CliRunner().invoke(cli.app, [command, "2", "--dir", "d"]).exit_code == 0
    assert calls == [Path("d"), (command, 2)]


@pytest.mark.parametrize("words", [["status"], ["down"], ["kill", "1"]])
def test_where_no_cluster_runs_that_is_said(tmp_path, words):
    result = CliRunner().invoke(cli.app, [*words, "--dir", str(tmp_path)])
    assert result.exit_code == 1
    assert result.stderr == (
        f"barnabas: no cluster runs in {tmp_path}: `barnabas up --dir {tmp_path}` starts one\n"
    )


def test_the_version_is_printed():
    result = CliRunner().invoke(cli.app, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"barnabas {version('barnabas')}\n")


def test_analyze_without_spark_is_one_line(monkeypatch):
    monkeypatch.setattr(cli.importlib.util, "find_spec", lambda _name: None)
    result = CliRunner().invoke(cli.app, ["analyze", "a.log"])
    assert result.exit_code == 1
    assert result.stderr == "barnabas: analyze needs Spark: pip install 'barnabas[spark]'\n"


WITHOUT_PAGE = "the live page needs a web server: pip install 'barnabas[page]'"


def test_without_the_extra_page_up_runs_without_a_page_and_says_so(ran, monkeypatch):
    monkeypatch.setattr(live_page.importlib.util, "find_spec", lambda _name: None)
    result = CliRunner().invoke(cli.app, ["up"])
    assert (ran[0][4], result.stderr) == ((), f"barnabas: {WITHOUT_PAGE}\n")


@pytest.mark.parametrize(
    ("command", "status"),
    [(["up", "--page-port", "80"], 2), (["page", "--zookeeper", "z:1", "--bootstrap", "b:1"], 1)],
)
def test_who_asks_for_the_page_is_refused_without_the_extra(ran, monkeypatch, command, status):
    monkeypatch.setattr(live_page.importlib.util, "find_spec", lambda _name: None)
    result = CliRunner().invoke(cli.app, command, env={"COLUMNS": "200"})
    assert (result.exit_code, ran) == (status, [])
    assert WITHOUT_PAGE in result.stderr


def test_up_tells_which_ports_it_takes():
    told = " ".join(CliRunner().invoke(cli.app, ["up", "--help"]).stdout.replace("│", " ").split())
    assert "gRPC is 1000 above, metrics 2000, ZooKeeper 3000" in told


def test_up_refuses_no_brokers(ran):
    assert CliRunner().invoke(cli.app, ["up", "--brokers", "0"]).exit_code == 2
    assert ran == []


def test_jars_are_fetched_before_a_machine_has_no_network(monkeypatch, tmp_path):
    def found(*, secure):
        assert secure  # those of a secured cluster, too
        return (tmp_path / "a.jar", tmp_path / "b.jar")

    monkeypatch.setattr(cli, "find_jars", found)
    result = CliRunner().invoke(cli.app, ["fetch-jars"])
    assert (result.exit_code, result.stdout) == (0, f"barnabas: ZooKeeper's jars are in {tmp_path}\n")


def test_jars_that_cannot_be_fetched_are_one_line(monkeypatch):
    def refuse(*, secure):
        raise ZooKeeperStartError(f"cannot download jars, secure: {secure}")

    monkeypatch.setattr(cli, "find_jars", refuse)
    result = CliRunner().invoke(cli.app, ["fetch-jars"])
    assert (result.exit_code, result.stderr) == (1, "barnabas: cannot download jars, secure: True\n")


def test_zookeeper_that_cannot_start_is_one_line(monkeypatch):
    def refuse(_directory, _port, _security):
        raise ZooKeeperStartError("no java found")

    monkeypatch.setattr(cli.embedded, "run_in_foreground", refuse)
    result = CliRunner().invoke(cli.app, ["zookeeper", "--port", "0"])
    assert (result.exit_code, result.stderr) == (1, "barnabas: no java found\n")


def test_zookeeper_is_secured_as_it_is_told(monkeypatch, tmp_path):
    securities = []

    def run(_directory, _port, security):
        securities.append(security)
        return 0

    monkeypatch.setattr(cli.embedded, "run_in_foreground", run)
    store = tmp_path / "zk.pem"
    store.touch()
    for given in ([], ["--secure"], ["--keystore", str(store), "--truststore", str(store)]):
        options = ["zookeeper", "--dir", str(tmp_path / "zookeeper"), *given]
        assert CliRunner().invoke(cli.app, options).exit_code == 0
    assert [(each.requires_login, each.tls is not None) for each in securities] == [
        (False, False),
        (True, False),
        (False, True),
    ]


def test_zookeeper_with_half_of_tls_is_a_usage_error(tmp_path):
    result = CliRunner().invoke(cli.app, ["zookeeper", "--keystore", str(tmp_path / "zk.pem")])
    assert result.exit_code == 2
    assert "--keystore and --truststore go together" in result.stderr


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


def test_help_fits_a_terminal_of_80_columns():
    # Typer keeps the lines of a paragraph; one that is too long is broken after a few words of the next.
    texts = [inspect.getdoc(command.callback) or "" for command in cli.app.registered_commands]
    long = [
        line for text in texts for line in "\n".join(text.split("\n\n")[1:]).splitlines() if len(line) > 78
    ]
    assert not long
