"""Certificates between brokers, and how they are replaced while a broker runs."""

from __future__ import annotations

import os

import grpc.aio
import pytest
from structlog.testing import capture_logs

from barnabas.broker.server.peers import peer_credentials
from barnabas.broker.server.peers.peer_credentials import PeerCredentials
from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.rpc.channels import open_channel, take_credentials
from barnabas.cluster.tls.stores import Stores, load_stores
from tests.certificates import Authority

ROOT = Authority("root")
HERE = ("127.0.0.1",)


class Files:
    """The files of the stores of a broker."""

    def __init__(self, directory):
        self.own, self.trusted = directory / "own.pem", directory / "ca.pem"
        self.trusted.write_text(ROOT.text)
        self.issue("CN=b1", 1)

    def issue(self, subject, second):
        """Write a new certificate, at a time of its own."""
        ROOT.issue(subject, HERE).write_pem(self.own)
        os.utime(self.own, (second, second))

    def load(self):
        return load_stores(
            {
                "ssl.keystore.location": str(self.own),
                "ssl.keystore.type": "PEM",
                "ssl.truststore.location": str(self.trusted),
                "ssl.truststore.type": "PEM",
            }
        )


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


def test_both_stores_are_needed():
    with pytest.raises(LookupError):
        PeerCredentials(lambda: Stores(None, None, ()))


def test_files_that_have_not_changed_are_not_read_again(files):
    reads = []
    credentials = PeerCredentials(lambda: (reads.append(1), files.load())[1])
    before = credentials.channel()
    assert [credentials.reload() for _ in range(3)] == [False] * 3
    assert credentials.channel() is before
    assert len(reads) == 2, "the first look reads again: a file may have changed during the first reading"


def test_changed_files_are_used_and_bad_ones_wait_until_they_are_good(files):
    credentials = PeerCredentials(files.load)
    before = credentials.channel()
    whole = files.own.read_text()
    files.own.write_text(whole[:100])
    os.utime(files.own, (2, 2))
    with capture_logs() as lines:
        assert not credentials.reload()
        files.own.unlink()
        assert not credentials.reload()
    assert [line["log_level"] for line in lines] == ["error", "error"]
    assert credentials.channel() is before
    files.issue("CN=b1", 3)
    assert credentials.reload()
    assert credentials.channel() is not before


def test_a_certificate_of_somebody_else_is_not_taken(files):
    credentials = PeerCredentials(files.load)
    files.issue("CN=b2", 2)
    with capture_logs() as lines:
        assert not credentials.reload()
    assert "CN=b2" in lines[0]["event"]


async def test_changes_are_noticed_by_themselves(files, monkeypatch):
    monkeypatch.setattr(peer_credentials, "RELOAD_INTERVAL_S", 0)
    credentials = PeerCredentials(files.load)
    files.issue("CN=b1", 2)
    looks = iter([False, True])

    def reload():
        if not next(looks):
            return PeerCredentials.reload(credentials)
        raise ConfigError("end", None, "the end")

    monkeypatch.setattr(credentials, "reload", reload)
    before = credentials.channel()
    with pytest.raises(ConfigError):
        await credentials.watch()
    assert credentials.channel() is not before


async def test_a_server_uses_new_certificates_for_new_connections(files):
    credentials = PeerCredentials(files.load)
    server = grpc.aio.server()

    async def subject(_request, context):
        return context.auth_context()["x509_common_name"][0]

    method = grpc.unary_unary_rpc_method_handler(subject)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("s", {"m": method}),))
    port = server.add_secure_port("127.0.0.1:0", credentials.server())
    await server.start()

    async def asked(roots):
        identity = files.load().identity
        known = grpc.ssl_channel_credentials(roots.text.encode(), identity.key, identity.chain)
        async with grpc.aio.secure_channel(f"127.0.0.1:{port}", known) as channel:
            return await channel.unary_unary("/s/m")(b"", timeout=60)

    assert await asked(ROOT) == b"b1"
    other = Authority("other")
    other.issue("CN=b1", HERE).write_pem(files.own)
    files.trusted.write_text(other.text)
    assert credentials.reload()
    assert await asked(other) == b"b1"
    with pytest.raises(grpc.aio.AioRpcError):
        await asked(ROOT)
    await server.stop(0)


@pytest.mark.parametrize(("host", "is_reached"), [("127.0.0.1", True), ("localhost", False)])
async def test_a_channel_reaches_a_server_whose_certificate_names_the_host_alone(files, host, is_reached):
    credentials = PeerCredentials(files.load)
    server = grpc.aio.server()
    port = server.add_secure_port("127.0.0.1:0", credentials.server())
    await server.start()
    take_credentials(credentials.channel)
    try:
        async with open_channel(host, port, 6000) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary("/s/m")(b"", timeout=60)
    finally:
        take_credentials(None)
    expected = grpc.StatusCode.UNIMPLEMENTED if is_reached else grpc.StatusCode.UNAVAILABLE
    assert refused.value.code() is expected
    assert is_reached or "Hostname Verification Check failed" in refused.value.details()
    await server.stop(0)
