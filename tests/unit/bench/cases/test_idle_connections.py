import socket
import threading

import pytest

from barnabas.bench.cases.idle_connections import connect


def serve(answer):
    server = socket.create_server(("127.0.0.1", 0))

    def once():
        connection, _ = server.accept()
        with connection, server:
            connection.recv(100)
            connection.sendall(answer)

    threading.Thread(target=once, daemon=True).start()
    return f"127.0.0.1:{server.getsockname()[1]}"


def test_a_connection_is_open_when_its_client_knows_the_versions():
    connect(serve(b"\0\0\0\x05hello")).close()


def test_a_broker_that_refuses_connections_is_named():
    with pytest.raises(ConnectionError, match="after 0 of 4 bytes"):
        connect(serve(b""))
