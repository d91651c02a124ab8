import contextlib
import re
import socket
import struct
import urllib.error
import urllib.request

import pytest

from barnabas.cluster.runtime import metrics_page
from barnabas.cluster.runtime.failpoints import FOLLOWER_FETCH, Action
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.metrics_page import MOST_REQUESTS, MetricsPage


@pytest.fixture
def state():
    return {"healthy": True, "armed": []}


@pytest.fixture
def page(state):
    page = MetricsPage(
        "127.0.0.1",
        0,
        Metrics().registry,
        lambda: state["healthy"],
        lambda point, action: state["armed"].append((point, action)),
    )
    yield page
    page.close()


def ask(page, path, method="GET"):
    request = urllib.request.Request(f"http://127.0.0.1:{page.port}{path}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_root_links_to_the_pages_there_are(page):
    status, text = ask(page, "/")
    assert status == 200
    links = re.findall('href="([^"]+)"', text)
    assert links == ["/metrics", "/metrics/jmx", "/health", "/failpoints"]
    assert [ask(page, link)[0] for link in links] == [200, 200, 200, 200]


def test_a_page_that_is_not_there_names_those_that_are(page):
    status, text = ask(page, "/nowhere")
    assert (status, text.startswith("there is no GET /nowhere; expected GET /metrics, GET /metrics/jmx")) == (
        404,
        True,
    )


def test_metrics_are_shown(page):
    status, text = ask(page, "/metrics")
    assert status == 200
    assert "kafka_server_KafkaServer_BrokerState" in text


def test_metrics_are_shown_under_the_names_of_dashboards(page):
    status, text = ask(page, "/metrics/jmx")
    assert status == 200
    assert "kafka_server_kafkaserver_brokerstate" in text


def test_health_follows_the_broker(page, state):
    assert ask(page, "/health") == (200, "serving\n")
    state["healthy"] = False
    assert ask(page, "/health") == (503, "not serving\n")


def test_a_failpoint_is_armed_by_post(page, state):
    assert ask(page, "/failpoints/follower.fetch?action=pause", "POST") == (200, "follower.fetch=pause\n")
    assert state["armed"] == [(FOLLOWER_FETCH, Action.PAUSE)]


def test_no_failpoint_is_armed_where_that_is_not_allowed():
    page = MetricsPage("127.0.0.1", 0, Metrics().registry, lambda: True, None)
    try:
        status, text = ask(page, "/failpoints/follower.fetch?action=exit", "POST")
        assert (status, text) == (
            403,
            "failpoints.over.http is false: no failpoint is armed over HTTP\n",
        )
        assert ask(page, "/failpoints") == (200, "follower.fetch=off\ndisk.full=off\nclock.back=off\n")
    finally:
        page.close()


def test_failpoints_are_listed(page):
    assert ask(page, "/failpoints") == (200, "follower.fetch=off\ndisk.full=off\nclock.back=off\n")


def test_an_unknown_failpoint_is_named(page, state):
    status, text = ask(page, "/failpoints/nothing?action=pause", "POST")
    assert status == 400
    assert "no failpoint is called 'nothing'" in text
    assert state["armed"] == []


def test_anything_else_is_not_there(page):
    assert ask(page, "/secrets")[0] == 404


def test_a_taken_port_is_an_error(page):
    with pytest.raises(OSError, match="in use"):
        MetricsPage("127.0.0.1", page.port, Metrics().registry, lambda: True, lambda _point, _action: None)


def test_slow_clients_keep_nobody_out(page):
    """Forty clients that sent a byte every four seconds made every health check fail."""
    with contextlib.ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(("127.0.0.1", page.port)))
            for _ in range(3 * MOST_REQUESTS)
        ]
        for connection in slow[-MOST_REQUESTS:]:
            connection.sendall(b"G")
        assert ask(page, "/health") == (200, "serving\n")
        for connection in slow[:MOST_REQUESTS]:
            assert connection.recv(1) == b""


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.0\r\n"])
def test_a_request_that_does_not_end_is_ended(page, monkeypatch, sent):
    monkeypatch.setattr(metrics_page, "REQUEST_S", 0.2)
    with socket.create_connection(("127.0.0.1", page.port)) as connection:
        connection.sendall(sent)
        connection.settimeout(0.05)
        for _ in range(1_000):
            try:
                assert connection.recv(1) == b""
                break
            except TimeoutError:
                connection.sendall(b"x")
            except ConnectionError:
                break
        else:
            pytest.fail("the connection is open after 1,000 bytes")


def test_who_hangs_up_leaves_no_traceback(page, capfd):
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", page.port)) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(page, "/health") == (200, "serving\n")
    assert "Traceback" not in capfd.readouterr().err
