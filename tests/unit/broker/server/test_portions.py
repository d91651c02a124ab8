from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.server import portions as module
from barnabas.broker.server.portions import (
    LOCAL_PORTION,
    PORTION,
    RequestDeadline,
    begin_in_portions,
    portions,
    submit,
)
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic
from barnabas.cluster.model.errors import ErrorCode


def command(names):
    return CreateTopics(tuple(NewTopic(name) for name in names))


async def submit_all(broker, names, deadline):
    return [
        (list(portion), result)
        async for portion, result in submit(broker.controller, names, command, deadline)
    ]


async def test_patience_runs_out() -> None:
    deadline = RequestDeadline(1000)
    assert 0 < deadline.left_ms <= 1000
    assert RequestDeadline(0).left_ms <= 0


@pytest.mark.parametrize("count", [1, PORTION, PORTION + 1, 3 * PORTION])
def test_portions_are_all_the_items_in_order(count):
    cut = list(portions(range(count)))
    assert [item for portion in cut for item in portion] == list(range(count))
    assert max(map(len, cut)) <= PORTION


async def test_each_portion_is_a_command_of_its_own(broker):
    names = [f"t{number}" for number in range(2 * PORTION + 1)]
    results = await submit_all(broker, names, RequestDeadline(60_000))
    assert [name for portion, _ in results for name in portion] == names
    assert [len(command.topics) for command, _ in broker.controller.commands] == [PORTION, PORTION, 1]
    assert all(isinstance(result, CreateTopicsResult) for _, result in results)


async def test_nothing_is_asked_as_well(broker):
    assert [portion for portion, _ in await submit_all(broker, [], RequestDeadline(60_000))] == [[]]
    assert len(broker.controller.commands) == 1


async def test_who_is_no_controller_is_asked_once(broker):
    broker.controller.answer = Refused(ErrorCode.NOT_CONTROLLER, "elsewhere")
    results = await submit_all(broker, range(2 * PORTION), RequestDeadline(60_000))
    assert [result for _, result in results] == [broker.controller.answer] * 2
    assert len(broker.controller.commands) == 1


async def test_what_is_not_begun_in_time_is_refused(broker):
    results = await submit_all(broker, [f"t{number}" for number in range(2 * PORTION)], RequestDeadline(0))
    assert len(broker.controller.commands) == 1
    (_, first), (late, refused) = results
    assert isinstance(first, CreateTopicsResult)
    assert (len(late), refused.error) == (PORTION, ErrorCode.REQUEST_TIMED_OUT)
    assert "0 ms" in refused.message


async def test_a_portion_that_failed_does_not_hinder_the_next(broker, monkeypatch):
    monkeypatch.setattr(module, "PORTION", 1)
    broker.controller.answer = Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "unforeseen")
    await submit_all(broker, ["a", "b"], RequestDeadline(60_000))
    assert len(broker.controller.commands) == 2


async def test_what_is_begun_in_portions_is_awaited_together():
    begun = []

    def begin(some):
        begun.append((some, asyncio.get_running_loop().create_future()))
        return begun[-1][1]

    items = {number: str(number) for number in range(2 * LOCAL_PORTION + 1)}
    working = asyncio.ensure_future(begin_in_portions(items, begin))
    for _ in range(10):
        await asyncio.sleep(0)
    for some, future in reversed(begun):
        assert not working.done()
        future.set_result({number: int(text) for number, text in some.items()})
    assert await working == {number: number for number in items}
    assert [len(some) for some, _ in begun] == [LOCAL_PORTION, LOCAL_PORTION, 1]
