from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import socket
import ssl
import struct

import pytest
from structlog.testing import capture_logs

from barnabas.broker.server import fairness
from barnabas.broker.server.fairness import FairQueue
from barnabas.broker.server.network.acceptor import ConnectionQuotas
from barnabas.broker.server.network.clients import ClientListener
from barnabas.broker.server.network.connection_limits import ConnectionLimits
from barnabas.broker.server.security import tls_transport
from barnabas.broker.server.security.handshakes import Handshakes
from barnabas.broker.server.security.listener_security import SslSettings
from barnabas.broker.server.security.listener_tls import ListenerTls
from barnabas.broker.server.security.tls_transport import TlsTransport
from barnabas.cluster.model.configs.declarations import Password
from barnabas.cluster.model.principal import ANONYMOUS
from barnabas.cluster.model.principal_mapping import PrincipalMapping
from barnabas.cluster.tls.ciphers import suites_of
from barnabas.cluster.tls.terms import Terms
from tests.certificates import Authority
from tests.unit.broker.server.raw_client import Client

ROOT, OTHER = Authority("root"), Authority("other")
BROKER = ROOT.issue("CN=broker", ("localhost",))
ALICE = ROOT.issue("CN=alice,OU=people,O=example")
DAY = dt.timedelta(days=1)
VERSIONS = ("TLSv1.2", "TLSv1.3")


def values_of(broker=BROKER, trusted=ROOT.text):
    values = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": Password(broker.key_text()),
        "ssl.keystore.certificate.chain": Password(broker.chain()),
    }
    if trusted is not None:
        values |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": Password(trusted)}
    return values


def tls_of(auth="none", rules="DEFAULT", protocols=VERSIONS, suites=(), **stores):
    terms = Terms(auth, protocols, suites_of(suites) if suites else None)
    mapping = None if rules is None else PrincipalMapping(rules)
    return ListenerTls("SSL", SslSettings(values_of(**stores), str, terms, mapping))


def client_context(tmp_path, identity=None, trusted=ROOT, version=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=trusted.text)
    if identity is not None:
        context.load_cert_chain(identity.write_pem(tmp_path / "client.pem"))
    if version is not None:
        context.minimum_version = context.maximum_version = version
    return context


@pytest.fixture
async def listen(broker):
    listeners = []

    async def start(tls, **settings):
        broker.settings = dataclasses.replace(broker.settings, **settings)
        quotas = ConnectionQuotas(lambda: ConnectionLimits(10_000), 10_000)
        listener = ClientListener(broker.context, quotas, "SSL", tls=tls)
        listeners.append(listener)
        bound = socket.create_server(("127.0.0.1", 0))
        bound.settimeout(0)
        listener.start_on(bound)
        return listener, quotas, bound.getsockname()[1]

    yield start
    for listener in listeners:
        await listener.stop()


async def connect(schema, port, context):
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="localhost"
    )
    return Client(schema, reader, writer)


async def versions(schema, client):
    client.send(client.api_versions(1))
    size = struct.unpack(">i", await client.reader.readexactly(4))[0]
    return await client.reader.readexactly(size)


async def a_moment():
    await asyncio.sleep(0.001)


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await a_moment()


def principals_of(listener):
    return {str(connection.principal) for connection in listener._connections}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_requests_are_answered_over_tls(listen, schema, tmp_path, version):
    listener, quotas, port = await listen(tls_of())
    client = await connect(schema, port, client_context(tmp_path, version=version))
    for _ in range(3):
        assert len(await versions(schema, client)) > 100
    assert principals_of(listener) == {str(ANONYMOUS)}
    client.writer.close()
    await until(lambda: quotas.count == 0)
    assert listener.connection_count == 0


@pytest.mark.parametrize(
    ("auth", "identity", "rules", "principal"),
    [
        ("required", ALICE, "DEFAULT", "User:CN=alice,OU=people,O=example"),
        ("requested", ALICE, "RULE:^CN=(.*?),.*$/$1/U", "User:ALICE"),
        ("requested", None, "DEFAULT", "User:ANONYMOUS"),
        ("none", ALICE, "DEFAULT", "User:ANONYMOUS"),
        # With SASL the certificate names nobody.
        ("required", ALICE, None, "User:ANONYMOUS"),
    ],
)
async def test_a_certificate_names_the_client(  # noqa: PLR0917  (a row and fixtures)
    listen, schema, tmp_path, auth, identity, rules, principal
):
    listener, _, port = await listen(tls_of(auth, rules))
    client = await connect(schema, port, client_context(tmp_path, identity))
    assert await versions(schema, client)
    assert principals_of(listener) == {principal}
    client.writer.close()


async def refused(schema, port, context):
    """The error that a client meets, at the latest when it reads."""
    try:
        client = await connect(schema, port, context)
    except (ssl.SSLError, ConnectionError) as error:
        return error
    with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)) as caught:
        await versions(schema, client)
    client.writer.close()
    return caught.value


BAD = {
    "none": (None, "required", "did not return a certificate"),
    "of another authority": (OTHER.issue("CN=alice"), "requested", "unable to get local issuer certificate"),
    "expired": (ROOT.issue("CN=alice", begins=-2 * DAY, ends=-DAY), "required", "certificate has expired"),
}


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_a_bad_certificate_is_refused(listen, schema, tmp_path, bad, version):
    identity, auth, reason = BAD[bad]
    listener, quotas, port = await listen(tls_of(auth))
    with capture_logs() as lines:
        assert await refused(schema, port, client_context(tmp_path, identity, version=version))
        await until(lambda: quotas.count == 0 and lines)
    assert "Failed authentication with 127.0.0.1:" in lines[0]["event"]
    assert lines[0]["event"].endswith("(SSL handshake failed)")
    assert reason in lines[0]["reason"]
    assert listener.connection_count == 0
    assert not listener._handshakes


async def test_the_client_is_told_why_its_handshake_has_failed(listen, schema, tmp_path):
    # In TLS 1.2 the client waits for the end of the handshake, so the alert cannot be overtaken by a reset.
    _, _, port = await listen(tls_of("required"))
    error = await refused(
        schema, port, client_context(tmp_path, BAD["expired"][0], version=ssl.TLSVersion.TLSv1_2)
    )
    assert "CERTIFICATE_EXPIRED" in str(error)


async def answer_to(port, sent):
    """What the listener answers before it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        async with asyncio.timeout(60):
            return await reader.read()
    finally:
        writer.close()


async def test_plaintext_ends_the_connection(listen):
    _, quotas, port = await listen(tls_of())
    with capture_logs() as lines:
        answer = await answer_to(port, struct.pack(">ihhih", 10, 18, 0, 1, -1))
        await until(lambda: quotas.count == 0 and lines)
    assert answer in {b"", b"\x15\x03\x01\x00\x02\x02\x46"}
    assert lines[0]["event"].endswith("(SSL handshake failed)")


async def test_a_client_that_leaves_during_the_handshake_is_forgotten(listen):
    listener, quotas, port = await listen(tls_of())
    with capture_logs() as lines:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        await until(lambda: listener._handshakes)
        writer.write(b"\x16\x03\x01")
        writer.close()
        await until(lambda: quotas.count == 0)
    assert "during the handshake" in lines[0]["reason"]
    assert not listener._handshakes


async def test_a_slow_handshake_ends(listen):
    _, quotas, port = await listen(tls_of(), max_idle_ms=50)
    with capture_logs() as lines:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(60):
            assert await reader.read() == b""
        await until(lambda: quotas.count == 0)
    assert "the handshake has taken more than 0.05 seconds" in [line["reason"] for line in lines]
    writer.close()


async def test_a_stop_ends_handshakes(listen):
    listener, quotas, port = await listen(tls_of())
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: listener._handshakes)
    with capture_logs() as lines:
        await listener.stop()
    assert (quotas.count, lines) == (0, [])
    writer.close()


async def test_a_client_without_a_name_by_the_rules_is_closed(listen, schema, tmp_path):
    _, quotas, port = await listen(tls_of("required", "RULE:^CN=bob.*$/bob/"))
    with capture_logs() as lines:
        await refused(schema, port, client_context(tmp_path, ALICE))
        await until(lambda: quotas.count == 0 and lines)
    assert lines[0]["reason"].endswith("applies to CN=alice,OU=people,O=example")


async def test_only_enabled_versions_and_suites_are_accepted(listen, schema, tmp_path):
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    _, quotas, port = await listen(tls_of(suites=(suite,)))
    await refused(schema, port, client_context(tmp_path, version=ssl.TLSVersion.TLSv1_3))
    client = await connect(schema, port, client_context(tmp_path))
    assert client.writer.get_extra_info("cipher")[0] == "ECDHE-ECDSA-AES128-GCM-SHA256"
    client.writer.close()
    await until(lambda: quotas.count == 0)


async def test_a_large_answer_arrives_whole_and_a_client_that_does_not_read_costs_what_is_counted(
    listen, schema, tmp_path
):
    listener, _, port = await listen(tls_of(), send_buffer_bytes=16_384)
    client = await connect(schema, port, client_context(tmp_path))
    await until(lambda: listener.connection_count == 1)
    (connection,) = listener._connections
    answers = connection._context.answers
    content = bytes(range(256)) * 60_000
    connection.answer([struct.pack(">i", len(content)), content])
    await until(lambda: answers.used > 1_000_000)
    async with asyncio.timeout(120):
        assert await client.reader.readexactly(4 + len(content)) == struct.pack(">i", len(content)) + content
    await until(lambda: answers.used == 0)
    client.writer.close()


async def test_a_request_of_many_records_of_tls_is_read(listen, schema, tmp_path):
    _, _, port = await listen(tls_of())
    client = await connect(schema, port, client_context(tmp_path))
    client.send(client.produce(5, bytes(3_000_000), acks=0), client.api_versions(6))
    size, correlation = struct.unpack(">ii", await client.reader.readexactly(8))
    assert correlation == 6
    assert size > 100
    client.writer.close()


async def test_a_broken_record_closes_the_connection(listen, schema, tmp_path):
    _, quotas, port = await listen(tls_of())
    client = await connect(schema, port, client_context(tmp_path))
    await versions(schema, client)
    raw = client.writer.transport.get_extra_info("socket")
    socket.socket.send(raw._sock if hasattr(raw, "_sock") else raw, b"\x17\x03\x03\x00\x20" + bytes(32))
    await until(lambda: quotas.count == 0)
    client.writer.close()


async def test_a_renewed_certificate_serves_new_connections_and_old_ones_stay(listen, schema, tmp_path):
    tls = tls_of()
    _, _, port = await listen(tls)
    old = await connect(schema, port, client_context(tmp_path))
    renewed = ROOT.issue("CN=broker", ("localhost", "other"))
    tls.context = tls_of(broker=renewed).context
    new = await connect(schema, port, client_context(tmp_path))
    served = [
        client.writer.get_extra_info("ssl_object").getpeercert()["serialNumber"] for client in (old, new)
    ]
    assert [int(serial, 16) for serial in served] == [
        BROKER.certificate.serial_number,
        renewed.certificate.serial_number,
    ]
    assert await versions(schema, old)
    assert await versions(schema, new)
    old.writer.close()
    new.writer.close()


class Unread:
    """The transport of a socket whose client reads nothing."""

    def __init__(self):
        self.is_aborted = False
        self.waiting = 0

    def get_extra_info(self, name, default=None):
        del name
        return default

    def write(self, data):
        self.waiting += len(data)

    def get_write_buffer_size(self):
        return self.waiting

    def is_closing(self):
        return self.is_aborted

    def abort(self):
        self.is_aborted = True


class NewKeys:
    """OpenSSL's end of a connection whose client asks for new keys, which OpenSSL answers at once."""

    def __init__(self, transport):
        self._transport = transport

    def pending(self):
        return 0

    def read(self, size, buffer):
        del size, buffer
        self._transport._incoming.read()
        self._transport._outgoing.write(bytes(1000))
        raise ssl.SSLWantReadError


def transport_of(handshakes):
    context = tls_of().context
    return TlsTransport(context, 60, lambda _: Idle(), lambda transport, reason: None, handshakes)


class Idle(asyncio.BufferedProtocol):
    def get_buffer(self, sizehint):
        del sizehint
        return memoryview(bytearray(1000))

    def shake_hands(self):
        pass


async def test_a_client_that_asks_for_new_keys_and_reads_nothing_is_cut_off():
    raw = Unread()
    transport = transport_of(Handshakes(FairQueue()))
    transport.connection_made(raw)
    transport._protocol, transport._tls = Idle(), NewKeys(transport)
    for _ in range(1000):
        if not raw.is_aborted:
            transport.buffer_updated(1000)
    assert raw.is_aborted
    assert raw.waiting <= tls_transport.UNREAD_BYTES + 2000
    transport.connection_lost(None)


async def test_a_client_that_reads_may_ask_for_new_keys():
    raw = Unread()
    raw.write = lambda data: None
    transport = transport_of(Handshakes(FairQueue()))
    transport.connection_made(raw)
    transport._protocol, transport._tls = Idle(), NewKeys(transport)
    for _ in range(1000):
        transport.buffer_updated(1000)
    assert not raw.is_aborted
    transport.connection_lost(None)


async def test_many_handshakes_are_not_made_in_one_turn(listen, schema, tmp_path, turns, monkeypatch):
    """A hundred with a key of RSA 4096 bits took 470 ms."""
    monkeypatch.setattr(fairness, "TURN_S", 1e-9)
    turns.count(monkeypatch, TlsTransport, "shake_hands")
    listener, _, port = await listen(tls_of())
    context = client_context(tmp_path)
    clients = await asyncio.gather(*(connect(schema, port, context) for _ in range(50)))
    for client in clients:
        assert len(await versions(schema, client)) > 100
    assert listener.connection_count == 50
    assert turns.all >= 100
    assert turns.most_in_a_turn() <= 2
    for client in clients:
        client.writer.close()


class Held(Unread):
    """A socket that is read or not."""

    is_read = True

    def pause_reading(self):
        self.is_read = False

    def resume_reading(self):
        self.is_read = True


async def test_a_client_whose_handshake_waits_is_not_read(monkeypatch):
    monkeypatch.setattr(fairness, "TURN_S", 1e-9)
    handshakes, raw = Handshakes(FairQueue()), Held()
    handshakes.ready(Idle())  # the turn is over, as it took longer than nothing
    transport = transport_of(handshakes)
    transport.connection_made(raw)
    transport.buffer_updated(0)
    assert not raw.is_read
    await until(lambda: raw.is_read)
    transport.buffer_updated(0)
    transport.abort()
    await a_moment()
    assert not transport._has_step_ahead
    transport.connection_lost(None)
