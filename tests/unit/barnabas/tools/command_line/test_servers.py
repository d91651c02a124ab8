from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.tools.command_line import servers as module
from barnabas.tools.command_line.servers import Demand, ServersError, demand, parse_servers, why_silent
from tests.certificates import Authority


@contextmanager
def served(answer: Callable[[socket.socket], None], connections: int) -> Iterator[str]:
    """A server that answers so many connections, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in range(connections):
                connection, _ = listening.accept()
                with connection:
                    answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def request(connection: socket.socket) -> int | None:
    """Read a request and return its API key; None if it is none."""
    size = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big")
    if not 0 < size < 100:
        return None
    return int(struct.unpack(">h", connection.recv(size, socket.MSG_WAITALL)[:2])[0])


def with_login(connection: socket.socket) -> None:
    """Answer ApiVersions only."""
    while request(connection) == 18:
        connection.sendall(struct.pack(">iihi", 10, 1, 0, 0))


def open_to_all(connection: socket.socket) -> None:
    """Answer ApiVersions and Metadata."""
    while (key := request(connection)) is not None:
        connection.sendall(struct.pack(">iihi", 10, 1, 0, 0))
        if key == 3:
            return


@pytest.fixture
def with_tls(tmp_path: Path) -> Callable[[socket.socket], None]:
    """The answer of a listener that speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Authority("a").issue("CN=b").write_pem(tmp_path / "own.pem"))

    def answer(connection: socket.socket) -> None:
        try:
            with context.wrap_socket(connection, server_side=True) as secured:
                secured.recv(1)
        except OSError:
            pass  # the client has seen enough

    return answer


def test_a_demand_for_tls_is_seen(with_tls: Callable[[socket.socket], None]) -> None:
    with served(with_tls, 3) as server:
        assert demand(server, "PLAINTEXT") is Demand.TLS
        assert demand(server, "SASL_SSL") is None
        assert why_silent([server]) == (
            f"{server} speaks TLS: security.protocol=SSL, or SASL_SSL and a login, belong in the file of "
            "--command-config (--producer.config, --consumer.config)"
        )


def test_a_demand_for_a_login_is_seen() -> None:
    with served(with_login, 5) as server:
        assert demand(server, "PLAINTEXT") is Demand.LOGIN
        assert "demands a login: security.protocol=SASL_PLAINTEXT" in why_silent([server])


def test_who_meets_all_demands_is_told_of_none() -> None:
    assert demand("127.0.0.1:1", "SASL_SSL") is None


def test_a_server_that_answers_everybody_demands_nothing() -> None:
    with served(open_to_all, 2) as server:
        assert demand(server, "PLAINTEXT") is None


@pytest.mark.parametrize(
    ("text", "servers"),
    [
        ("localhost:9092", ["localhost:9092"]),
        ("a:1,b.c:65535", ["a:1", "b.c:65535"]),
        (" a:1 ,, b:2,", ["a:1", "b:2"]),
        ("[::1]:9092,[fe80::1%eth0]:9092", ["[::1]:9092", "[fe80::1%eth0]:9092"]),
    ],
)
def test_addresses_stand_between_commas(text: str, servers: list[str]) -> None:
    assert parse_servers(text) == servers


@pytest.mark.parametrize(
    "server",
    [
        "localhost:9xx",
        "localhost",
        "localhost:",
        ":9092",
        "localhost:0",
        "localhost:65536",
        "localhost:-1",
        "localhost:999999",
        "::1:9092",
        "[::1:9092",
        "http://localhost:9092",
        "local host:9092",
        "localhost:\u0663",
    ],
)
def test_what_is_no_address_is_named_with_what_was_expected(server: str) -> None:
    with pytest.raises(ServersError) as refused:
        parse_servers(f"a:1,{server}")
    assert str(refused.value).startswith(f"{server!r} is no address, expected host:port with a port")


@pytest.mark.parametrize("text", ["", ",", " "])
def test_no_address_at_all_is_refused(text: str) -> None:
    with pytest.raises(ServersError, match=r"'.*' names no address, expected host:port"):
        parse_servers(text)


def test_a_process_that_accepts_but_does_not_answer_is_distinguished_from_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CONNECT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent = f"127.0.0.1:{listening.getsockname()[1]}"
        assert why_silent([silent]).startswith(f"{silent} accepts connections but does not answer")
    assert why_silent([silent, "host.invalid:1"]) == (
        f"{silent} cannot be connected to: Connection refused; expected the host:port of a running broker; "
        f"{why_silent(['host.invalid:1'])}"
    )
    assert why_silent([silent, silent]).startswith(f"each of {silent}, {silent} cannot be connected to: ")
    assert "host.invalid:1 has a host name that cannot be resolved" in why_silent(["host.invalid:1"])
