import contextlib
import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas.local.expiry import expire_owner, password_of
from barnabas.local.ports import free_ports
from barnabas.local.zookeeper_wire import WireError

OWNER = 0x10002269CD80000


def test_the_password_is_javas_random_of_the_id():
    # java.util.Random(OWNER ^ 0xB3415C00L).nextBytes(16), by the generator as its documentation has it.
    seed, words = (OWNER ^ 0xB3415C00 ^ 0x5DEECE66D) % 2**48, []
    for _ in range(4):
        seed = (seed * 0x5DEECE66D + 11) % 2**48
        words.append(seed // 2**16)
    assert password_of(OWNER) == struct.pack("<4I", *words)


class Server:
    """One znode, owned by ``OWNER`` until its session was taken ``tries`` times and closed."""

    def __init__(self, error=0, owner=OWNER, tries=1):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = ThreadPoolExecutor(8)
        self._error = error
        self._owner = owner
        self._tries = tries
        self.closed = []
        self._thread.submit(self._accept)

    @property
    def address(self):
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                self._thread.submit(self._serve, self._socket.accept()[0])

    def _serve(self, connection):
        with connection, connection.makefile("rb") as incoming:
            _, _, _, session, _length = struct.unpack(">iqiqi", self._frame(incoming)[:28])
            self._answer(connection, struct.pack(">iiqi", 0, 6000, session, 16) + bytes(17))
            while request := self._frame(incoming):
                xid, kind = struct.unpack_from(">ii", request)
                if kind == -11:
                    self.closed.append(session)
                    return
                self._answer(connection, struct.pack(">iqi", xid, 7, self._error) + self._stat())

    def _stat(self):
        owner = self._owner if len(self.closed) < self._tries else 0x99
        return struct.pack(">qqqqiiiqiiq", 1, 1, 0, 0, 0, 0, 0, owner, 0, 0, 1)

    def _frame(self, incoming):
        head = incoming.read(4)
        return incoming.read(struct.unpack(">i", head)[0]) if head else b""

    def _answer(self, connection, body):
        connection.sendall(struct.pack(">i", len(body)) + body)

    def close(self):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.shutdown()


@pytest.fixture
def serve():
    servers = []

    def start(**znode):
        servers.append(Server(**znode))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_the_owners_session_is_taken_and_closed(serve):
    server = serve()
    assert expire_owner(server.address, "/brokers/ids/1") == OWNER
    assert server.closed == [OWNER]


def test_where_the_owner_is_quicker_it_is_tried_again(serve):
    server = serve(tries=3)
    assert expire_owner(server.address, "/brokers/ids/1") == OWNER
    assert server.closed == [OWNER] * 3


def test_another_server_is_asked_where_the_first_is_dead(serve):
    server, (dead,) = serve(), free_ports(1)
    assert expire_owner(f"127.0.0.1:{dead},{server.address}", "/brokers/ids/1") == OWNER
    assert server.closed == [OWNER]


def test_the_error_is_that_of_the_last_server():
    with pytest.raises(ConnectionRefusedError):
        expire_owner(",".join(f"127.0.0.1:{port}" for port in free_ports(2)), "/brokers/ids/1")


def test_the_znode_is_below_the_chroot(serve):
    with pytest.raises(WireError, match="/kafka/brokers/ids/1: there is no such znode"):
        expire_owner(f"{serve(error=-101).address}/kafka", "/brokers/ids/1")


@pytest.mark.parametrize(
    ("znode", "said"),
    [
        ({"error": -101}, "there is no such znode"),
        ({"error": -4}, "the server answers -4"),
        ({"owner": 0}, "no ephemeral znode"),
        ({"tries": 1000}, "still owns /brokers/ids/1 after 10 tries"),
    ],
)
def test_what_prevents_a_run_is_reported(serve, znode, said):
    with pytest.raises(WireError, match=said):
        expire_owner(serve(**znode).address, "/brokers/ids/1")
