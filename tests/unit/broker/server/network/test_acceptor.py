from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket

import pytest
from structlog.testing import capture_logs

from barnabas.broker.core.quotas.connection_quotas import ConnectionLimits
from barnabas.broker.server.network.acceptor import Acceptor, ConnectionQuotas


@pytest.fixture
async def accepting():
    """An acceptor over a listening socket that a test may replace, and what it has accepted."""
    made = []

    def start(quotas, listening=None):
        bound = socket.create_server(("127.0.0.1", 0))
        bound.settimeout(0)
        served = asyncio.Queue()
        chosen = listening(bound) if listening else bound
        acceptor = Acceptor(chosen, "L", quotas, lambda connection, _host: served.put_nowait(connection))
        made.append((acceptor, served))
        return bound.getsockname(), served

    yield start
    for acceptor, served in made:
        acceptor.close()
        acceptor.close()
        while not served.empty():
            served.get_nowait().close()


class OutOfDescriptors:
    """A listening socket whose ``accept`` says so, so many times."""

    def __init__(self, bound, number, times):
        self._bound = bound
        self._number = number
        self._times = times

    def accept(self):
        if self._times:
            self._times -= 1
            raise OSError(self._number, os.strerror(self._number))
        return self._bound.accept()

    def fileno(self):
        return self._bound.fileno()

    def close(self):
        self._bound.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS])
async def test_it_goes_on_after_a_shortage(accepting, number):
    address, served = accepting(
        ConnectionQuotas(lambda: ConnectionLimits(10), 10_000),
        lambda bound: OutOfDescriptors(bound, number, 3),
    )
    with capture_logs() as lines, socket.create_connection(address):
        async with asyncio.timeout(60):
            (await served.get()).close()
    (reason,) = {line["reason"] for line in lines}
    assert reason.startswith(os.strerror(number))
    assert (number == errno.EMFILE) == ("`ulimit -n`" in reason)


async def test_a_client_that_has_gone_costs_no_other(accepting):
    address, served = accepting(
        ConnectionQuotas(lambda: ConnectionLimits(10), 10_000),
        lambda bound: OutOfDescriptors(bound, errno.ECONNABORTED, 3),
    )
    with socket.create_connection(address):
        async with asyncio.timeout(60):
            (await served.get()).close()


class Asked(ConnectionQuotas):
    """Tells that it was asked about a connection."""

    def __init__(self, maximum, first_kept_back):
        super().__init__(maximum, first_kept_back)
        self.asked = asyncio.Event()

    def fits(self, connection):
        self.asked.set()
        return super().fits(connection)


async def test_a_connection_under_too_high_a_number_waits_and_gets_a_lower_one(accepting):
    below = [os.dup(0) for _ in range(8)]
    try:
        limit = below[-1] + 1
        # The listening socket and the client's own come first.
        quotas = Asked(lambda: ConnectionLimits(10), limit)
        address, served = accepting(quotas)
        with capture_logs() as lines, socket.create_connection(address):
            async with asyncio.timeout(60):
                await quotas.asked.wait()
            assert served.empty()
            os.close(below.pop(0))
            async with asyncio.timeout(60):
                connection = await served.get()
            assert connection.fileno() < limit
            connection.close()
        limit_of_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert f"the process may have {limit_of_files} files open" in lines[0]["reason"]
        assert "`ulimit -n`" in lines[0]["reason"]
    finally:
        for each in below:
            os.close(each)


async def test_some_connections_are_accepted_though_logs_hold_all_lower_numbers(accepting):
    quotas = ConnectionQuotas(lambda: ConnectionLimits(10), first_kept_back=0, guaranteed=1)
    address, served = accepting(quotas)
    with socket.create_connection(address), socket.create_connection(address):
        async with asyncio.timeout(60):
            (await served.get()).close()
    assert quotas.count == 1
    with socket.socket() as another:
        assert not quotas.fits(another)


@pytest.mark.parametrize(("every_s", "at_least"), [(0.0, 2), (3600.0, 1)])
async def test_that_connections_wait_is_said_again_and_again(accepting, monkeypatch, every_s, at_least):
    monkeypatch.setattr("barnabas.broker.server.network.acceptor.WARN_EVERY_S", every_s)
    quotas = Asked(lambda: ConnectionLimits(10), 0)
    address, _served = accepting(quotas)
    with capture_logs() as lines, socket.create_connection(address):
        for _ in range(3):
            async with asyncio.timeout(60):
                await quotas.asked.wait()
            quotas.asked.clear()
    assert len(lines) >= at_least
    assert every_s == 0.0 or len(lines) == 1


async def test_too_many_connections_name_the_setting(accepting):
    asked = asyncio.Event()

    def maximum():
        # The acceptor warns in the turn of the loop in which it asks, before the test goes on.
        asked.set()
        return ConnectionLimits(0)

    address, _served = accepting(ConnectionQuotas(maximum, 10_000))
    with capture_logs() as lines, socket.create_connection(address):
        async with asyncio.timeout(60):
            await asked.wait()
    assert lines[0]["reason"] == "max.connections allows no more than 0; raise it"


async def is_closed(connection):
    """Whether the broker closes a connection without a word."""
    connection.settimeout(0)
    async with asyncio.timeout(60):
        try:
            return await asyncio.get_running_loop().sock_recv(connection, 1) == b""
        except ConnectionResetError:
            return True


async def test_a_connection_too_many_of_an_address_is_closed(accepting):
    quotas = ConnectionQuotas(lambda: ConnectionLimits(per_ip=1), 10_000)
    address, served = accepting(quotas)
    with capture_logs() as lines, socket.create_connection(address) as kept:
        async with asyncio.timeout(60):
            first = await served.get()
        with socket.create_connection(address) as other:
            assert await is_closed(other)
        first.close()
        quotas.closed("L", "127.0.0.1")
        with socket.create_connection(address):
            async with asyncio.timeout(60):
                (await served.get()).close()
        kept.close()
    expected = (
        "Rejected connection from 127.0.0.1, address already has the configured maximum of 1 connections."
    )
    assert lines[0]["event"] == expected


async def test_connections_wait_for_their_rate(accepting):
    quotas = ConnectionQuotas(lambda: ConnectionLimits(rate=1), 10_000, windows=2, window_ms=10)
    address, served = accepting(quotas)
    with capture_logs() as lines:
        for _ in range(3):
            with socket.create_connection(address):
                async with asyncio.timeout(60):
                    (await served.get()).close()
    assert quotas.count == 3
    assert "max.connection.creation.rate" in lines[0]["reason"]


async def test_a_connection_of_an_address_above_its_rate_is_closed_later(accepting):
    quotas = ConnectionQuotas(
        ConnectionLimits, 10_000, ip_rate={"127.0.0.1": 0.0}.get, windows=2, window_ms=10
    )
    address, served = accepting(quotas)
    with socket.create_connection(address) as silent:
        assert await is_closed(silent)
    assert served.empty()
    assert quotas.count == 0


async def test_what_is_held_or_silent_is_closed_with_the_acceptor():
    asked = asyncio.Event()

    def ip_rate(_):
        # The connection is kept in the turn of the loop in which this is asked.
        asked.set()
        return 0.0

    quotas = ConnectionQuotas(ConnectionLimits, 10_000, ip_rate=ip_rate, windows=2, window_ms=3_600_000)
    bound = socket.create_server(("127.0.0.1", 0))
    bound.settimeout(0)
    acceptor = Acceptor(bound, "L", quotas, lambda *_: None)
    with socket.create_connection(bound.getsockname()) as silent:
        async with asyncio.timeout(60):
            await asked.wait()
        acceptor.close()
        assert await is_closed(silent)
