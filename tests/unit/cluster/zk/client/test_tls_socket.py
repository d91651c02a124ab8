"""What kazoo sees of a TLS connection, against a peer in the same thread."""

from __future__ import annotations

import socket
import ssl
import threading

import pytest
from kazoo.handlers.utils import selector_select

from barnabas.cluster.tls.client_context import client_context
from barnabas.cluster.tls.terms import Terms
from barnabas.cluster.zk.client.tls_socket import TlsSocket, select_with_data
from tests.certificates import Authority

AUTHORITY = Authority("ours")


class Peer:
    """A server that has accepted one connection; it sends what it is told to."""

    def __init__(self, tmp_path, version):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(AUTHORITY.issue("CN=zk", ("127.0.0.1",)).write_pem(tmp_path / "zk.pem"))
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        accepted = []

        def accept():
            accepted.append(context.wrap_socket(listener.accept()[0], server_side=True))

        thread = threading.Thread(target=accept)
        thread.start()
        ours = client_context(
            None, AUTHORITY.text.encode(), Terms("none", (version,), None), checks_host=True
        )
        self.client = TlsSocket.dial(ours, "127.0.0.1", self.address, 30)
        thread.join()
        listener.close()
        self.server = accepted[0]
        self.client.setblocking(flag=False)


@pytest.fixture(params=["TLSv1.2", "TLSv1.3"])
def peer(request, tmp_path):
    peer = Peer(tmp_path, request.param)
    yield peer
    peer.client.close()
    peer.server.close()


def select(reads, timeout_s=None, writes=()):
    return select_with_data(selector_select, reads, writes, [], timeout_s)


def test_an_answer_is_read_in_parts(peer):
    peer.server.sendall(b"answer")
    assert select([peer.client]) == ([peer.client], [], [])
    assert peer.client.recv(2) == b"an"
    # The rest is decrypted already, and the file descriptor not readable any more.
    assert selector_select([peer.client], [], [], 0)[0] == []
    assert select([peer.client])[0] == [peer.client]
    assert peer.client.pending() == 4
    assert peer.client.recv(100) == b"swer"
    assert not peer.client.has_data()


def test_messages_of_tls_itself_are_no_data(peer):
    # With TLS 1.3 the server has sent session tickets.
    assert select([peer.client], 0) == ([], [], [])
    with pytest.raises(ssl.SSLWantReadError):
        peer.client.recv(1)


def test_other_sockets_are_told_beside_decrypted_data(peer):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"wake")
        assert select([peer.client, ours], 30)[0] == [ours]
        peer.server.sendall(b"ab")
        ours.recv(4)
        assert select([peer.client, ours])[0] == [peer.client]
        theirs.send(b"wake")
        peer.client.recv(1)
        assert select([peer.client, ours])[0] == [peer.client, ours]


def test_it_can_be_written_to(peer):
    assert select([], 30, [peer.client]) == ([], [peer.client], [])
    assert peer.client.send(memoryview(b"request")) == 7
    assert peer.server.recv(100) == b"request"
    assert peer.client.fileno() > 0


def test_the_end_is_readable_and_stays(peer):
    peer.server.close()
    assert select([peer.client], 30)[0] == [peer.client]
    outcomes = []
    for _ in range(2):
        assert peer.client.has_data()
        try:
            outcomes.append(peer.client.recv(1))
        except OSError as error:
            outcomes.append(type(error))
    assert outcomes in ([b"", b""], [ssl.SSLEOFError] * 2, [ssl.SSLZeroReturnError] * 2)


def test_a_server_without_a_trusted_certificate_is_left(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        other = Authority("other")
        context.load_cert_chain(other.issue("CN=zk", ("127.0.0.1",)).write_pem(tmp_path / "zk.pem"))

        def accept():
            with pytest.raises(OSError):  # noqa: PT011
                context.wrap_socket(listener.accept()[0], server_side=True)

        thread = threading.Thread(target=accept)
        thread.start()
        ours = client_context(
            None, AUTHORITY.text.encode(), Terms("none", ("TLSv1.3",), None), checks_host=True
        )
        with pytest.raises(ssl.SSLCertVerificationError):
            TlsSocket.dial(ours, "127.0.0.1", listener.getsockname(), 30)
        thread.join()
