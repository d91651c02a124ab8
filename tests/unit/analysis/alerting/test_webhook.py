"""The webhook against real sockets: what counts as delivered, and what it says where it is not."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

import pytest

from barnabas.analysis.alerting import webhook as module
from barnabas.analysis.alerting.decide import Alert, Status
from barnabas.analysis.alerting.webhook import LONGEST_PAUSE_S, NotDeliveredError, Webhook, body, pause_s
from barnabas.analysis.story.episodes import AlertKind
from tests.receiver import Receiver

NOON = datetime(2026, 11, 21, 12)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://hooks.example.org/T1/B2?x=y", Webhook("https", "hooks.example.org", None, "/T1/B2?x=y")),
        ("http://127.0.0.1:9093", Webhook("http", "127.0.0.1", 9093, "/")),
        ("http://[::1]:80/a", Webhook("http", "::1", 80, "/a")),
    ],
)
def test_a_url_is_taken_apart(url: str, expected: Webhook) -> None:
    assert Webhook.of(url) == expected


@pytest.mark.parametrize(
    "url",
    [
        "", "hooks", "ftp://a/b", "http://", "http:///x", "http://a:b/", "http://a:99999/", "//a/b",
        "http://me:secret@a/", "http://a/b c", "http://a/\u00e4", "http://a/\r\nX: y",
    ],
)  # fmt: skip
def test_another_url_is_refused_with_what_was_expected(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected http://HOST\[:PORT\]/PATH or https://HOST") as caught:
        Webhook.of(url)
    assert "secret" not in str(caught.value)


def test_its_name_hides_the_path_that_may_be_a_secret() -> None:
    assert str(Webhook.of("https://hooks.example.org:8443/T1/B2?key=3")) == "https://hooks.example.org:8443"


def test_a_post_arrives_with_path_and_body(receiver: Receiver) -> None:
    alert = Alert(
        "PartitionWithoutLeader:orders-3:1", AlertKind.NO_LEADER, "orders-3", NOON, None, NOON, Status.FIRING,
        None,
        {"kind": "PartitionWithoutLeader", "sentence": "orders-3 lost its leader \N{SNOWMAN}."},
    )  # fmt: skip
    Webhook.of(receiver.url).post(body([(alert, Status.FIRING)], "prod", NOON))
    assert receiver.paths == ["/alerts?key=1"]
    assert receiver.posts == [
        {
            "version": 1,
            "sent": "2026-11-21T12:00:00.000Z",
            "cluster": "prod",
            "alerts": [
                {
                    "id": "PartitionWithoutLeader:orders-3:1", "status": "firing", "cluster": "prod",
                    "kind": "PartitionWithoutLeader", "sentence": "orders-3 lost its leader \N{SNOWMAN}.",
                }
            ],
        }
    ]  # fmt: skip


@pytest.mark.parametrize("status", [301, 404, 500, 503])
def test_another_status_is_not_delivered(receiver: Receiver, status: int) -> None:
    receiver.status = status
    with pytest.raises(NotDeliveredError, match=rf"status {status} .*: expected 200 to 299"):
        Webhook.of(receiver.url).post(json.dumps({}).encode())


@contextmanager
def server_that(answers: bytes, *, goes_on: bool) -> Iterator[int]:
    """A server that reads a request, answers with some bytes, and closes or says nothing more."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65_536)
                connection.sendall(answers)
                # A byte now and then, for longer than any timeout of a single read.
                while goes_on and not over.wait(0.02):
                    connection.sendall(b"x")

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        over.set()
        thread.join()


@pytest.mark.parametrize(
    ("answers", "goes_on"),
    [(b"", True), (b"HTTP/1.1 200 OK\r\nX: ", True)],
    ids=["no status", "no end of headers"],
)
def test_a_receiver_that_drips_is_cut_off(
    answers: bytes, goes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DEADLINE_S", 0.3)
    with (
        server_that(answers, goes_on=goes_on) as port,
        pytest.raises(NotDeliveredError, match=r"no answer within 0.3 s"),
    ):
        Webhook("http", "127.0.0.1", port, "/").post(b"{}")


@pytest.mark.parametrize("answers", [b"", b"SSH-2.0-OpenSSH\r\n"])
def test_what_is_no_http_is_not_delivered(answers: bytes) -> None:
    with server_that(answers, goes_on=False) as port, pytest.raises(NotDeliveredError):
        Webhook("http", "127.0.0.1", port, "/").post(b"{}")


def test_a_closed_port_is_not_delivered() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotDeliveredError, match="refused"):
        Webhook("http", "127.0.0.1", port, "/").post(b"{}")


def test_pauses_double_up_to_the_longest() -> None:
    assert [pause_s(failures) for failures in (1, 2, 3, 6, 7, 1_000_000)] == [
        1.0, 2.0, 4.0, 32.0, LONGEST_PAUSE_S, LONGEST_PAUSE_S
    ]  # fmt: skip
