"""Where keys are read, how often, and what happens when they cannot be."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading

import pytest
from structlog.testing import capture_logs

from barnabas.broker.server.security import key_source
from barnabas.broker.server.security.key_source import MAX_BYTES, KeySource, fetch, is_allowed
from barnabas.broker.server.security.signed_tokens import KeySetError

X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"


def ed(kid):
    return json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": X}]}).encode()


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://issuer.example/keys?v=1", True),
        ("https://issuer.example:8443/keys", True),
        ("file:///etc/keys.json", True),
        ("file://localhost/etc/keys.json", True),
        ("http://127.0.0.1:8080/keys", True),
        ("http://localhost/keys", True),
        ("http://[::1]:80/keys", True),
        ("http://issuer.example/keys", False),
        ("https://user:secret@issuer.example/keys", False),
        ("https:///keys", False),
        ("https://issuer:port/keys", False),
        ("https://[::1/keys", False),
        ("file://host/keys", False),
        ("file:keys", False),
        ("ftp://issuer/keys", False),
        ("/etc/keys.json", False),
        ("", False),
    ],
)
def test_keys_come_from_where_nobody_can_exchange_them(url, allowed):
    assert is_allowed(url) is allowed


def test_a_file_is_read_up_to_a_limit(tmp_path):
    path = tmp_path / "some keys.json"
    path.write_bytes(ed("a"))
    assert fetch(f"file://{tmp_path}/some%20keys.json") == ed("a")
    path.write_bytes(b" " * (MAX_BYTES + 1))
    with pytest.raises(KeySetError, match="at most"):
        fetch(f"file://{tmp_path}/some%20keys.json")
    with pytest.raises(OSError, match="No such file"):
        fetch(f"file://{tmp_path}/none.json")


@pytest.fixture
async def server():
    """Answers every connection with the text in it, and keeps the requests."""
    answer, requests = [b""], []

    async def serve(reader, writer):
        with contextlib.suppress(asyncio.IncompleteReadError):
            requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer[0])
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/keys?v=1", answer, requests


async def test_a_server_is_asked(server):
    url, answer, requests = server
    answer[0] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkeys"
    assert await asyncio.to_thread(fetch, url) == b"keys"
    assert requests[0].startswith(b"GET /keys?v=1 HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: http://evil/\r\nContent-Length: 0\r\n\r\n", "answered 302"),
        (b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "answered 500"),
        (b"no http\r\n\r\n", "no HTTP"),
        (b"", "no HTTP"),
    ],
)
async def test_another_answer_is_an_error(server, answer, message):
    server[1][0] = answer
    with pytest.raises(OSError, match=message):
        await asyncio.to_thread(fetch, server[0])


def test_https_is_verified(monkeypatch):
    made = []

    class Refusing:
        def __init__(self, host, port, *, timeout, context):
            made.append((host, port, timeout, context.check_hostname))

        def request(self, *_, **__):
            raise ConnectionRefusedError("nobody there")

        def close(self):
            made.append("closed")

    monkeypatch.setattr(key_source.http.client, "HTTPSConnection", Refusing)
    with pytest.raises(ConnectionRefusedError):
        fetch("https://issuer.example:8443")
    assert made == [("issuer.example", 8443, key_source.TIMEOUT_S, True), "closed"]


async def a_moment():
    await asyncio.sleep(0.001)


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await a_moment()


@pytest.fixture
async def started(monkeypatch):
    """Runs a source that reads one answer after the other, the last one again and again."""
    for name in ("EXPEDITED_S", "FIRST_RETRY_S", "LAST_RETRY_S"):
        monkeypatch.setattr(key_source, name, 0.001)
    tasks = []

    def start(answers, refresh_ms):
        reads = []

        def read(url):
            assert url == "file:///keys"
            reads.append(answers[0] if len(answers) == 1 else answers.pop(0))
            if isinstance(reads[-1], Exception):
                raise reads[-1]
            return reads[-1]

        source = KeySource("file:///keys", refresh_ms, read)
        tasks.append(asyncio.get_running_loop().create_task(source.run()))
        return source, reads

    yield start
    for task in tasks:
        task.cancel()


async def test_keys_are_read_again_after_a_while(started):
    source, reads = started([ed("a"), ed("b")], refresh_ms=1)
    await source.tried()
    await until(lambda: len(reads) > 2)
    assert list(source.keys.keys) == ["b"]


async def test_keys_are_read_again_if_a_token_names_another(started):
    source, reads = started([ed("a"), ed("b")], refresh_ms=3_600_000)
    await source.tried()
    assert list(source.keys.keys) == ["a"]
    await asyncio.sleep(0.01)
    assert len(reads) == 1
    source.keys.on_unknown()
    await until(lambda: list(source.keys.keys) == ["b"])


async def test_a_server_that_never_ends_its_answer_is_a_failure_and_its_thread_holds_up_nobody(monkeypatch):
    monkeypatch.setattr(key_source, "DEADLINE_S", 0.01)
    ends = threading.Event()
    source = KeySource("file:///keys", 1000, lambda _: ends.wait(60) and ed("late"))
    task = asyncio.get_running_loop().create_task(source.run())
    with capture_logs() as logs:
        async with asyncio.timeout(60):
            await source.tried()
        assert all(each.daemon for each in threading.enumerate() if each.name == "keys of tokens")
        ends.set()
        await until(lambda: logs)
    task.cancel()
    assert "Keys cannot be read" in logs[0]["event"]


async def test_a_failure_is_logged_and_tried_again_and_leaves_the_keys(started):
    with capture_logs() as logs:
        source, reads = started([OSError("gone"), b"no keys", ed("a"), OSError("gone")], refresh_ms=1)
        await source.tried()
        await until(lambda: len(reads) > 4)
    assert list(source.keys.keys) == ["a"]
    assert "gone" in logs[0]["event"]
    assert 'a list "keys"' in logs[1]["event"]
