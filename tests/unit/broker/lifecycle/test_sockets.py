import socket

import pytest

from barnabas.broker.config.start_error import StartError
from barnabas.broker.lifecycle.sockets import bind, port_of
from barnabas.cluster.model.brokers import Endpoint


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", ""])
def test_a_bound_socket_takes_connections(host):
    with bind(Endpoint("PLAINTEXT", host, 0)) as bound:
        with socket.create_connection((host or "127.0.0.1", port_of(bound)), timeout=10):
            pass
        assert bound.getblocking() is False


def test_a_taken_port_is_named():
    with bind(Endpoint("PLAINTEXT", "127.0.0.1", 0)) as bound:
        taken = Endpoint("PLAINTEXT", "127.0.0.1", port_of(bound))
        with pytest.raises(
            StartError, match=f"Cannot listen on PLAINTEXT://127.0.0.1:{taken.port}: .*in use"
        ):
            bind(taken)


def test_a_host_that_is_not_ours_is_named():
    with pytest.raises(StartError, match=r"Cannot listen on PLAINTEXT://192\.0\.2\.1:0"):
        bind(Endpoint("PLAINTEXT", "192.0.2.1", 0))
