"""Switches on real sockets; a cut is seen by what does not arrive until it is healed."""

import asyncio

import pytest

from barnabas.local.links import HEALTHY, Condition, Links, Way

pytestmark = pytest.mark.usefixtures("nothing_is_left_open")

CUT = Condition(is_cut=True)


class Server:
    """Notes what arrives, and echoes it."""

    def __init__(self):
        self.received = b""
        self.connections = 0
        self._changed = asyncio.Event()
        self._serving = {}

    async def start(self, port=0):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"

    async def stop(self):
        self._server.close()
        for writer in self._serving.values():
            writer.transport.abort()
        await asyncio.gather(*self._serving)

    async def _serve(self, reader, writer):
        self.connections += 1
        self._serving[asyncio.current_task()] = writer
        while data := await reader.read(1000):
            self.received += data
            self._changed.set()
            writer.write(data)
        writer.close()

    async def until(self, received):
        while self.received != received:
            self._changed.clear()
            await self._changed.wait()


@pytest.fixture
async def server():
    started = Server()
    await started.start()
    yield started
    await started.stop()


@pytest.fixture
async def links():
    made = Links()
    yield made
    await made.stop()


async def dial(address):
    host, _, port = address.partition(":")
    return await asyncio.open_connection(host, int(port))


async def is_closed(reader):
    try:
        return await reader.read(1) == b""
    except ConnectionError:
        return True


@pytest.fixture
async def settled(links):
    """Awaits as many round trips over a healthy link as anything that passes would need to arrive."""
    own = Server()
    await own.start()
    reader, writer = await dial(await links.join("8", "9", own.address))

    async def settle():
        for _ in range(5):
            writer.write(b"x")
            await reader.readexactly(1)

    yield settle
    writer.close()
    await own.stop()


async def test_bytes_and_ends_pass_in_both_directions(server, links):
    reader, writer = await dial(await links.join("1", "2", server.address))
    writer.write(b"x" * 300_000)
    writer.write_eof()
    assert await reader.read(-1) == b"x" * 300_000
    writer.close()


async def test_a_cut_is_silent_and_what_was_sent_arrives_after_it(server, links, settled):
    address = await links.join("1", "2", server.address)
    reader, writer = await dial(address)
    writer.write(b"before")
    assert await reader.readexactly(6) == b"before"
    links.change("1", "2", CUT)
    assert links.disturbed() == [("1", "2", CUT)]
    writer.write(b"after")
    late_reader, late_writer = await dial(address)
    late_writer.write(b"late")
    await settled()
    assert server.received == b"before"
    links.heal()
    assert links.disturbed() == []
    assert await reader.readexactly(5) == b"after"
    assert await late_reader.readexactly(4) == b"late"
    writer.close()
    late_writer.close()


async def test_one_way_is_cut_and_the_other_is_not(server, links, settled):
    reader, writer = await dial(await links.join("1", "2", server.address))
    writer.write(b"a")
    await reader.readexactly(1)
    links.change("2", "1", CUT)
    writer.write(b"b")
    await server.until(b"ab")
    answer = asyncio.create_task(reader.readexactly(1))
    await settled()
    assert not answer.done()
    links.change("2", "1", HEALTHY)
    assert await answer == b"b"
    writer.close()


async def test_a_way_is_that_of_all_connections_whoever_opened_them(server, links, settled):
    other = Server()
    await other.start()
    there, back = await links.join("1", "2", server.address), await links.join("2", "1", other.address)
    links.change("1", "2", CUT)
    (there_reader, there_writer), (back_reader, back_writer) = await dial(there), await dial(back)
    there_writer.write(b"x")
    back_writer.write(b"y")
    answers = [asyncio.create_task(reader.read(1)) for reader in (there_reader, back_reader)]
    await settled()
    assert [answer.done() for answer in answers] == [False, False]
    links.heal()
    assert await asyncio.gather(*answers) == [b"x", b"y"]
    for each in (there_writer, back_writer):
        each.close()
    await other.stop()


async def test_a_refusal_resets_what_is_connected_and_what_comes(server, links):
    address = await links.join("1", "2", server.address)
    reader, writer = await dial(address)
    writer.write(b"x")
    await reader.readexactly(1)
    links.change("1", "2", Condition(is_refused=True))
    assert await is_closed(reader)
    new_reader, new_writer = await dial(address)
    assert await is_closed(new_reader)
    assert server.connections == 1
    for each in (writer, new_writer):
        each.close()


async def test_a_server_that_ends_is_passed_on_and_one_that_is_gone_refuses(server, links):
    address = await links.join("1", "2", server.address)
    await server.stop()
    reader, writer = await dial(address)
    assert await is_closed(reader)
    writer.close()


async def test_a_connection_may_wait_for_its_server(server, links):
    await server.stop()
    reader, writer = await dial(await links.join("1", "zookeeper", server.address, lambda: True))
    writer.write(b"early")
    again = Server()
    await again.start(server.port)
    assert await reader.readexactly(5) == b"early"
    writer.close()
    await again.stop()


async def test_delay_and_bandwidth_say_when_bytes_arrive(monkeypatch):
    way, now = Way(), 100.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
    assert way.due(1_000_000) == 100.0
    way.change(Condition(delay_s=0.5))
    assert way.due(1_000_000) == 100.5
    way.change(Condition(bytes_per_second=1000.0))
    assert way.due(500) == 100.5
    assert way.due(500) == 101.0
    now = 200.0
    way.change(Condition(bytes_per_second=1000.0, delay_s=0.25))
    assert way.due(1000) == 201.25
    monkeypatch.undo()


async def test_stopped_links_leave_no_task_and_pass_nothing_on_even_where_a_way_is_cut(server, settled):
    await settled()  # its own link has its tasks now
    before = asyncio.all_tasks()
    links = Links()
    address = await links.join("1", "2", server.address)
    reader, writer = await dial(address)
    writer.write(b"a")
    assert await reader.readexactly(1) == b"a"
    links.change("1", "2", CUT)
    writer.write(b"b")
    late_reader, late_writer = await dial(address)
    await settled()
    await links.stop()
    assert await is_closed(reader)
    assert await is_closed(late_reader)
    await server.stop()
    assert asyncio.all_tasks() <= before
    assert (server.received, server.connections) == (b"a", 1)
    writer.close()
    late_writer.close()


@pytest.mark.parametrize("wrong", [{"delay_s": -1.0}, {"bytes_per_second": 0.0}, {"bytes_per_second": -1.0}])
def test_a_condition_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match="expected"):
        Condition(**wrong)


async def test_a_link_tells_its_condition(links, server):
    await links.join("1", "2", server.address)
    links.change("1", "2", CUT)
    assert (links.condition("1", "2"), links.condition("2", "1")) == (CUT, HEALTHY)
