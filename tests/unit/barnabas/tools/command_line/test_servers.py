from __future__ import annotations

import socket

import pytest

from barnabas.tools.command_line.servers import ServersError, parse_servers, why_silent


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
def test_what_is_no_address_is_named_with_its_option_and_what_was_expected(server: str) -> None:
    with pytest.raises(ServersError) as refused:
        parse_servers(f"a:1,{server}")
    assert str(refused.value).startswith(f"--bootstrap-server has {server!r}, expected host:port with a port")


@pytest.mark.parametrize("text", ["", ",", " "])
def test_no_address_at_all_is_refused(text: str) -> None:
    with pytest.raises(ServersError, match=r"--bootstrap-server is '.*', expected host:port"):
        parse_servers(text)


def test_a_process_that_accepts_but_does_not_answer_is_distinguished_from_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent = f"127.0.0.1:{listening.getsockname()[1]}"
        assert why_silent([silent]).startswith(f"{silent} accepts connections but does not answer")
    assert why_silent([silent, "host.invalid:1"]) == (
        f"{silent} cannot be connected to: Connection refused; expected the host:port of a running broker; "
        f"{why_silent(['host.invalid:1'])}"
    )
    assert "host.invalid:1 has a host name that cannot be resolved" in why_silent(["host.invalid:1"])
