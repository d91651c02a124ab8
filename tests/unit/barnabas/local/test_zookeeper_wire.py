import socket
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas.local.zookeeper_wire import NO_NODE, NOT_EMPTY, Connection, Stat, WireError


class Server:
    """Gives a session, then answers each request with the next of ``answers``: an error and a body."""

    def __init__(self, *answers, timeout=6000):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._answers = answers
        self._timeout = timeout
        self.requests = []
        self._thread = ThreadPoolExecutor(1)
        self._serving = self._thread.submit(self._serve)

    def _serve(self):
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as incoming:
            self._frame(incoming)
            self._send(connection, struct.pack(">iiqi", 0, self._timeout, 9, 16) + bytes(17))
            for error, body in self._answers:
                self.requests.append(self._frame(incoming))
                self._send(connection, struct.pack(">iqi", 1, 7, error) + body)

    def _frame(self, incoming):
        return incoming.read(struct.unpack(">i", incoming.read(4))[0])

    def _send(self, connection, body):
        connection.sendall(struct.pack(">i", len(body)) + body)

    def close(self):
        self._listener.close()
        self._thread.shutdown()


@pytest.fixture
def connected():
    """A function: a connection to a server that gives these answers, and the server."""
    opened = []

    def connected(*answers, **server):
        opened.append(Server(*answers, **server))
        opened.append(Connection(opened[-1].address))
        opened[-1].connect()
        return opened[-1], opened[-2]

    yield connected
    for each in reversed(opened):
        each.__exit__() if isinstance(each, Connection) else each.close()


def test_a_stat_tells_who_made_a_znode_and_who_owns_it(connected):
    connection, _ = connected((0, struct.pack(">qqqqiiiqiiq", 5, 6, 0, 0, 0, 0, 0, 0x77, 0, 0, 1)))
    assert connection.stat("/brokers/ids/1") == Stat(czxid=5, owner=0x77)


def test_data_and_children_are_read(connected):
    names = struct.pack(">i", 2) + struct.pack(">i", 1) + b"1" + struct.pack(">i", 2) + b"12"
    connection, server = connected((0, struct.pack(">i", 3) + b"abc"), (0, names))
    assert connection.data("/a") == b"abc"
    assert connection.children("/b") == ["1", "12"]
    assert [struct.unpack_from(">ii", request)[1] for request in server.requests] == [4, 8]


def test_a_znode_is_deleted_whatever_its_version(connected):
    connection, server = connected((0, b""))
    assert connection.delete("/a")
    assert server.requests == [struct.pack(">iii", 1, 2, 2) + b"/a" + struct.pack(">i", -1)]


def test_what_is_not_there_is_no_error(connected):
    connection, _ = connected(
        (NO_NODE, b""), (NO_NODE, b""), (NO_NODE, b""), (NO_NODE, b""), (NOT_EMPTY, b"")
    )
    assert connection.stat("/a") is None
    assert connection.data("/a") is None
    assert connection.children("/a") == []
    assert not connection.delete("/a")
    assert not connection.delete("/a")


def test_a_refusal_names_the_znode(connected):
    connection, _ = connected((-4, b""))
    with pytest.raises(WireError, match="/a: the server answers -4"):
        connection.stat("/a")


def test_a_server_that_disconnects_or_gives_no_session_is_reported(connected):
    connection, _ = connected()
    with pytest.raises(WireError, match="closed the connection after 0 of 4 bytes"):
        connection.stat("/a")
    with pytest.raises(WireError, match="the server opened no session"):
        connected(timeout=0)
