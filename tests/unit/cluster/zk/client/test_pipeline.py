from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.cluster.zk.client.errors import (
    NodeExists,
    NoNode,
    SessionExpired,
    ZooKeeperError,
    ZooKeeperTimeout,
)
from barnabas.cluster.zk.client.pipeline import LOST, Pipeline, Request, value


class Wire:
    """Where requests go: each is answered with the next of its outcomes, or held back for want of one."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.held: list[Callable[[Any], None]] = []

    def request(self, path: str, *outcomes: Any) -> Request:
        left = list(outcomes)

        def send(call_back: Callable[[Any], None]) -> None:
            self.sent.append(path)
            if left:
                call_back(left.pop(0))
            else:
                self.held.append(call_back)

        return Request(path, send)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def pipeline() -> Pipeline:
    pipeline = Pipeline(5.0)
    pipeline.connected()
    return pipeline


async def test_answers_come_in_the_order_of_the_requests(pipeline: Pipeline, wire: Wire) -> None:
    missing = NoNode("/b")
    assert await pipeline.all(
        [wire.request("/a", 1), wire.request("/b", missing), wire.request("/c", None)]
    ) == [
        1,
        missing,
        None,
    ]
    assert wire.sent == ["/a", "/b", "/c"]
    assert await pipeline.all([]) == []
    assert await pipeline.one(wire.request("/d", 4)) == 4
    with pytest.raises(NoNode):
        await pipeline.one(wire.request("/b", missing))


async def test_answers_from_other_threads_arrive(pipeline: Pipeline, wire: Wire) -> None:
    asking = asyncio.ensure_future(pipeline.all([wire.request(f"/{n}") for n in range(50)]))
    await asyncio.sleep(0)
    held = list(enumerate(wire.held))
    halves = [
        threading.Thread(target=lambda h=half: [call(n) for n, call in h]) for half in (held[::2], held[1::2])
    ]
    for thread in halves:
        thread.start()
    assert await asking == list(range(50))


async def test_nothing_is_sent_before_there_is_a_connection(wire: Wire) -> None:
    pipeline = Pipeline(5.0)
    asking = asyncio.ensure_future(pipeline.one(wire.request("/a", 1)))
    await asyncio.sleep(0)
    assert wire.sent == []
    pipeline.connected()
    assert await asking == 1


async def test_what_lost_its_connection_is_sent_again_and_says_so(pipeline: Pipeline, wire: Wire) -> None:
    answers = await pipeline.all(
        [
            wire.request("/a", LOST, NodeExists("/a")),
            wire.request("/b", NodeExists("/b")),
            wire.request("/c", LOST, LOST, 3),
        ]
    )
    assert wire.sent == ["/a", "/b", "/c", "/a", "/c", "/c"]
    assert [type(answer) for answer in answers] == [NodeExists, NodeExists, int]
    assert (answers[0].resent, answers[1].resent) == (True, False)


async def test_a_huge_batch_goes_in_windows(pipeline: Pipeline, wire: Wire) -> None:
    requests = [wire.request(f"/{n}", *([LOST] if n % 700 == 0 else []), n) for n in range(2500)]
    assert await pipeline.all(requests) == list(range(2500))
    assert wire.sent[:1000] == [f"/{n}" for n in range(1000)]
    assert len(wire.sent) == 2504


async def test_others_run_while_a_batch_is_sent(pipeline: Pipeline, wire: Wire) -> None:
    batch = asyncio.ensure_future(pipeline.all([wire.request(f"/{n}", n) for n in range(500)]))
    other = asyncio.ensure_future(pipeline.one(wire.request("/other", 7)))
    assert await other == 7
    assert wire.sent.index("/other") == 100
    assert await batch == list(range(500))


async def test_what_a_connection_lost_while_its_batch_was_sent_is_sent_again(wire: Wire) -> None:
    pipeline = Pipeline(5.0)
    pipeline.connected()
    batch = asyncio.ensure_future(
        pipeline.all([wire.request(f"/{n}", *([LOST] if n >= 100 else []), n) for n in range(300)])
    )
    await asyncio.sleep(0)
    assert len(wire.sent) == 100
    pipeline.disconnected()
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(wire.sent) == 300
    pipeline.connected()
    assert await batch == list(range(300))


async def test_a_deadline_ends_the_wait(wire: Wire) -> None:
    pipeline = Pipeline(0.05)
    with pytest.raises(ZooKeeperTimeout, match=r"no connection to ask over about /a within 0\.05 s"):
        await pipeline.one(wire.request("/a"))
    pipeline.connected()
    answers = await pipeline.all([wire.request("/a", 1), wire.request("/b")])
    assert answers[0] == 1
    assert isinstance(answers[1], ZooKeeperTimeout)
    assert str(answers[1]) == "no answer about /b within 0.05 s"


async def test_the_end_reaches_those_who_wait_and_those_who_come(pipeline: Pipeline, wire: Wire) -> None:
    answered = wire.request("/a", 1)
    asking = asyncio.ensure_future(pipeline.all([answered, wire.request("/b")]))
    unconnected = Pipeline(5.0)
    waiting = asyncio.ensure_future(unconnected.one(wire.request("/c")))
    await asyncio.sleep(0)
    for ended in (pipeline, unconnected):
        ended.end("it is over")
        ended.disconnected()
    first, second = await asking
    assert first == 1
    assert isinstance(second, SessionExpired)
    with pytest.raises(SessionExpired, match="it is over"):
        await waiting
    with pytest.raises(SessionExpired, match="it is over"):
        await pipeline.one(wire.request("/d", 1))
    assert not {"/c", "/d"} & set(wire.sent)


def test_value_is_the_answer_or_raises() -> None:
    assert value(3) == 3
    with pytest.raises(ZooKeeperError):
        value(NoNode("/a"))
