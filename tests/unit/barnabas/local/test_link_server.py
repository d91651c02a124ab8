"""The process of links between containers, on real sockets."""

import asyncio
import contextlib
import json

import pytest

from barnabas.local import link_server
from barnabas.local.link_server import Link
from barnabas.local.links import HEALTHY, Condition
from barnabas.local.ports import free_ports


def test_arguments_name_every_link():
    port, links = link_server.arguments(9000, [Link("1", "zookeeper", "zookeeper:2181", 9001)])
    assert port == "9000"
    assert [Link(*link) for link in json.loads(links)] == [Link("1", "zookeeper", "zookeeper:2181", 9001)]


@pytest.fixture
async def served():
    async def echo(reader, writer):
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    target = server.sockets[0].getsockname()[1]
    control, port = free_ports(2)
    task = asyncio.create_task(link_server.serve(control, [Link("1", "2", f"127.0.0.1:{target}", port)]))
    while True:
        try:
            await link_server.change(f"127.0.0.1:{control}", {})
            break
        except OSError:
            await asyncio.sleep(0)
    yield f"127.0.0.1:{control}", port
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    server.close()


async def test_a_way_is_cut_and_healed_by_another_process(served):
    control, port = served
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"one")
    assert await reader.readexactly(3) == b"one"
    await link_server.change(control, {("2", "1"): Condition(is_cut=True)})
    writer.write(b"two")
    answer = asyncio.ensure_future(reader.readexactly(3))
    done, _ = await asyncio.wait([answer], timeout=0.1)
    assert not done
    await link_server.change(control, {("2", "1"): HEALTHY})
    assert await answer == b"two"
    writer.close()


async def test_a_way_is_refused(served):
    control, port = served
    await link_server.change(control, {("1", "2"): Condition(is_refused=True)})
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read(1) == b""
    writer.close()


async def test_an_unknown_way_is_an_error_of_the_client(served):
    control, _ = served
    with pytest.raises(ConnectionError, match="do not answer"):
        await link_server.change(control, {("1", "9"): HEALTHY})
