"""The page's HTTP interface, over a real socket; no cluster is there to be shown."""

import contextlib
import http.client
import json
import select
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager

import pytest

from barnabas.local.control import BrokerState
from barnabas.page import app, groups, live, readers, report
from barnabas.page.controls import Action, ControlError, NoControls
from barnabas.page.live import Source
from barnabas.page.report import ReportState
from barnabas.page.server import PageError, PageServer

NOWHERE = Source("127.0.0.1:1", "127.0.0.1:1")


class Controls:
    """Processes that a test sets, and the actions that were asked for."""

    def __init__(self):
        self.states = {1: BrokerState.RUNNING}
        self.asked = []

    def processes(self):
        return self.states

    def actions(self):
        return frozenset(Action)

    async def act(self, action, broker):
        if broker != 1:
            raise ControlError(f"no broker {broker}")
        self.asked.append((action, broker))


@pytest.fixture(scope="module")
def controls():
    return Controls()


@pytest.fixture(scope="module")
def page(controls, tmp_path_factory):
    with PageServer(NOWHERE, controls, out=tmp_path_factory.mktemp("out")) as served:
        yield served


@contextmanager
def connected(page):
    connection = http.client.HTTPConnection(page.url.split("/")[2], timeout=20)
    try:
        yield connection
    finally:
        connection.close()


def ask(page, method, path, body=None, **headers):
    with connected(page) as connection:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers


def post(page, path, body=None, **headers):
    headers = {"content_type": "application/json", **headers}
    status, content, _ = ask(page, "POST", path, json.dumps(body or {}), **headers)
    return status, json.loads(content)


@pytest.mark.parametrize("path", ["/", "/static/page.js", "/static/state.js", "/static/page.css"])
def test_the_page_and_its_files_are_served_with_a_policy(page, path):
    status, content, headers = ask(page, "GET", path)
    assert status == 200
    assert content
    assert headers["content-security-policy"].startswith("default-src 'self'")


def test_another_name_of_this_host_is_refused(page):
    assert ask(page, "GET", "/api/history", Host="evil.example")[0] == 400


def test_another_page_presses_no_button(page, controls):
    status, said = post(page, "/api/brokers/1/kill", Origin="http://evil.example")
    assert status == 403
    assert "http://evil.example may not change this cluster" in said["error"]
    for origin in ("null", page.url.replace("http", "https").rstrip("/"), page.url.rstrip("/") + "0"):
        assert post(page, "/api/brokers/1/kill", Origin=origin)[0] == 403
    assert post(page, "/api/brokers/1/kill", content_type="text/plain")[0] == 403
    assert controls.asked == []


def test_an_action_of_the_page_itself_is_carried_out_and_told(page, controls):
    assert post(page, "/api/brokers/1/kill", Origin=page.url.rstrip("/")) == (200, {})
    assert controls.asked == [(Action.KILL, 1)]
    history = json.loads(ask(page, "GET", "/api/history")[1])
    assert "SIGKILL to broker 1" in [change["text"] for change in history["changes"]]
    assert history["controls"] == sorted(Action)


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/api/brokers/9/kill", {}, 409, "no broker 9"),
        ("/api/brokers/1/eat", {}, 404, "no action 'eat', expected kill, stop, start"),
        ("/api/topics", {"name": "a/b", "partitions": 1}, 400, "the name is 'a/b'"),
        ("/api/topics", {"name": "a", "partitions": 0}, 400, "partitions is 0, expected 1 to 1000"),
        ("/api/topics", {"name": "a", "partitions": True}, 400, "partitions is True, expected 1 to 1000"),
        ("/api/topics", {"name": "a" * 70_000}, 413, "more than 65536 bytes"),
        ("/api/topics", [], 400, "expected a JSON object"),
        ("/api/workload/eat", {}, 404, "no 'eat' of the workload"),
    ],
)
def test_what_cannot_be_done_is_said(page, path, body, status, said):
    content = json.dumps(body)
    answered, text, _ = ask(page, "POST", path, content, content_type="application/json")
    assert answered == status
    assert said in json.loads(text)["error"]


def test_json_that_is_too_deep_is_refused(page):
    status, text, _ = ask(page, "POST", "/api/topics", "[" * 30_000, content_type="application/json")
    assert (status, "the request is no JSON" in text.decode()) == (400, True)


@pytest.mark.parametrize(
    "path",
    [
        "/api/lines?subject=a&at=x",
        "/api/lines?at=1",
        "/api/lines?subject=a&at=" + "9" * 15,
        "/api/stream?after=-1",
        "/api/stream?after=" + "9" * 5000,
    ],
)
def test_a_question_without_a_time_is_refused(page, path):
    assert ask(page, "GET", path)[0] == 400


def test_a_report_that_is_not_there(page):
    state = json.loads(ask(page, "GET", "/api/report")[1])
    assert state["state"] == ReportState.NONE
    assert ask(page, "GET", "/report/report.html")[0] == 404
    assert ask(page, "GET", "/report/..%2f..%2fetc/passwd")[0] == 404
    assert ask(page, "GET", "/report/%00")[0] == 404


def test_no_log_has_lines_of_a_far_future(page):
    assert ask(page, "GET", "/api/lines?subject=a&at=" + "9" * 14)[:2] == (200, b"[]")


def test_without_a_loss_there_is_no_failover(page):
    assert json.loads(ask(page, "GET", "/api/failover")[1]) is None


def test_groups_are_unknown_if_no_broker_answers(monkeypatch):
    monkeypatch.setattr(groups, "_TIMEOUT_MS", 100)
    assert groups.GroupReader(NOWHERE.bootstrap).read({}) is None


def test_a_coordinator_that_hangs_delays_no_other_figure(tmp_path, monkeypatch):
    answers = threading.Event()
    monkeypatch.setattr(groups.GroupReader, "read", lambda _self, _ends: [] if answers.wait(60) else None)
    monkeypatch.setattr(live, "FIGURES_S", 0.01)

    def next_groups():
        while stream.readline() != b"event: figures\n":
            pass
        return json.loads(stream.readline().removeprefix(b"data: "))["groups"]

    with PageServer(NOWHERE, NoControls(), out=tmp_path) as page, connected(page) as browser:
        browser.request("GET", "/api/stream?after=0")
        stream = browser.getresponse()
        assert next_groups() is None
        answers.set()
        while next_groups() is None:
            pass


def test_a_reader_that_does_not_read_is_cut_off(page, monkeypatch):
    monkeypatch.setattr(readers, "UNREAD_S", 0.1)
    host, port = page.url.split("/")[2].split(":")
    with socket.socket() as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        silent.connect((host, int(port)))
        # More than the buffers of both sides hold.
        asked = b"GET /static/page.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 500
        waiting = select.poll()
        waiting.register(silent, select.POLLHUP | select.POLLERR)
        with contextlib.suppress(ConnectionError):
            silent.sendall(asked)
        assert waiting.poll(60_000)
    assert ask(page, "GET", "/")[0] == 200


def test_an_open_browser_does_not_disturb_the_end(controls, tmp_path, capfd):
    with PageServer(NOWHERE, controls, out=tmp_path) as ending, connected(ending) as browser:
        browser.request("GET", "/api/stream?after=0")
        answer = browser.getresponse()
        answer.readline()
        ending.__exit__(None, None, None)
        assert b"event: reset" not in answer.read()
    assert capfd.readouterr().err == ""


def test_streams_have_a_limit(page, monkeypatch):
    monkeypatch.setattr(app, "MOST_STREAMS", 1)
    with connected(page) as first:
        first.request("GET", "/api/stream?after=0")
        first.getresponse().readline()
        status, said, _ = ask(page, "GET", "/api/stream?after=0")
        assert (status, json.loads(said)) == (
            503,
            {"error": "1 browsers follow this cluster, which is the most"},
        )


def test_a_browser_is_sent_what_changes(page, controls):
    last = json.loads(ask(page, "GET", "/api/history")[1])["changes"][-1]["n"]
    with connected(page) as connection:
        connection.request("GET", "/api/stream", headers={"last-event-id": str(last)})
        answer = connection.getresponse()
        controls.states = {1: BrokerState.KILLED}
        while not (line := answer.readline()).startswith(b"id: "):
            pass
        assert int(line[4:]) == last + 1
        assert answer.readline() == b"event: changes\n"
        (change,) = json.loads(answer.readline().removeprefix(b"data: "))
        assert (change["text"], change["bad"]) == ("The process of broker 1 is killed", True)


def test_a_browser_that_missed_too_much_reads_the_history_again(page):
    with connected(page) as connection:
        connection.request("GET", "/api/stream?after=1000000")
        assert connection.getresponse().read() == b"event: reset\ndata: {}\n\n"


def test_a_page_that_only_watches_has_no_buttons(tmp_path):
    with PageServer(NOWHERE, NoControls(), out=tmp_path) as page:
        assert json.loads(ask(page, "GET", "/api/history")[1])["controls"] == []
        status, said = post(page, "/api/brokers/1/kill")
        assert (status, said["error"]) == (409, "this page only watches: it cannot kill broker 1")


def test_a_page_without_spark_says_who_makes_the_report(tmp_path, monkeypatch):
    monkeypatch.setattr(report.importlib.util, "find_spec", lambda _name: None)
    with PageServer(NOWHERE, NoControls(), out=tmp_path, without_spark="make report") as page:
        assert json.loads(ask(page, "GET", "/api/history")[1])["no_report"] == "make report"
        assert post(page, "/api/report")[1]["message"] == "make report"


def test_the_first_free_port_is_taken(page, tmp_path):
    taken = int(page.url.rsplit(":", 1)[1].strip("/"))
    with pytest.raises(PageError, match=f"cannot listen on 127.0.0.1:{taken}: "):
        PageServer(NOWHERE, NoControls(), out=tmp_path, ports=(taken,))
    with PageServer(NOWHERE, NoControls(), out=tmp_path, ports=(taken, 0)) as other:
        assert other.url != page.url


def test_the_page_of_a_cluster_elsewhere_is_served_until_a_signal(tmp_path):
    command = [
        sys.executable, "-m", "barnabas", "page", "--port", "0",
        "--zookeeper", NOWHERE.zookeeper, "--bootstrap", NOWHERE.bootstrap,
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[-1]
            with urllib.request.urlopen(address) as answer:
                assert answer.status == 200
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0
