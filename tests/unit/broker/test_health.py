"""The health check that containers run."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from barnabas.broker import health


@contextmanager
def metrics_page(text: str) -> Iterator[str]:
    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_a_running_broker_is_ready() -> None:
    with metrics_page(
        "# HELP x\nkafka_server_KafkaServer_BrokerState 3.0\nbarnabas_zookeeper_connected 1.0\n"
    ) as url:
        assert health.main([url]) == 0


@pytest.mark.parametrize("connected", ["", "barnabas_zookeeper_connected 0.0\n"])
def test_a_broker_without_zookeeper_is_not_ready(connected: str, capsys: pytest.CaptureFixture[str]) -> None:
    with metrics_page(f"kafka_server_KafkaServer_BrokerState 3.0\n{connected}") as url:
        assert health.main([url]) == 1
    assert "not connected to ZooKeeper" in capsys.readouterr().err


@pytest.mark.parametrize("page", ["kafka_server_KafkaServer_BrokerState 1.0\n", "other 3.0\n", ""])
def test_a_broker_that_is_not_running_is_not_ready(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    with metrics_page(page) as url:
        assert health.main([url]) == 1
    assert "BrokerState" in capsys.readouterr().err


def test_an_address_that_does_not_answer_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with metrics_page("") as url:
        pass
    assert health.main([url]) == 1
    assert url in capsys.readouterr().err


def test_it_wants_one_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main([]) == 2
    assert "usage" in capsys.readouterr().err
