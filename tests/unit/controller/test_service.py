from __future__ import annotations

import asyncio

import pytest

from barnabas.cluster.model.commands.command import CommandResult, Refused
from barnabas.cluster.model.commands.configs import AlterConfigs, IncrementalAlterConfigs
from barnabas.cluster.model.commands.elections import ElectionType, ElectLeaders
from barnabas.cluster.model.commands.reassignments import ListPartitionReassignments
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic
from barnabas.cluster.model.errors import ErrorCode
from barnabas.controller.core.protocol.effects import Reply
from barnabas.controller.core.protocol.inputs import CommandReceived, Draw
from barnabas.controller.service import Service

UNCLEAN = ElectionType.UNCLEAN
COMMAND = CreateTopics((NewTopic("a"), NewTopic("b")))


def service(put):
    dice = iter([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    return Service(put, lambda: next(dice))


async def test_a_command_goes_in_with_dice_and_its_result_comes_back():
    entries = []
    door = service(entries.append)
    waiting = asyncio.ensure_future(door.submit(COMMAND, 10_000))
    await asyncio.sleep(0)
    (entry,) = entries
    assert entry.command == COMMAND
    assert entry.draws == (Draw(0.1, 0.2), Draw(0.3, 0.4))
    result = CreateTopicsResult(())
    door.reply(Reply(entry.token, result))
    door.reply(Reply(entry.token, Refused(ErrorCode.NOT_CONTROLLER, "a second word is not heard")))
    assert await waiting is result


async def test_callers_are_distinguished():
    entries = []
    door = service(entries.append)
    first = asyncio.ensure_future(door.submit(COMMAND, 10_000))
    second = asyncio.ensure_future(door.submit(COMMAND, 10_000))
    await asyncio.sleep(0)
    one, other = CreateTopicsResult(()), Refused(ErrorCode.NOT_CONTROLLER, "no")
    door.reply(Reply(entries[1].token, other))
    door.reply(Reply(entries[0].token, one))
    assert (await first, await second) == (one, other)


async def test_a_command_that_is_not_answered_in_its_time_is_refused():
    entries = []
    door = service(entries.append)
    result = await door.submit(COMMAND, 0)
    assert isinstance(result, Refused)
    assert result.error is ErrorCode.REQUEST_TIMED_OUT
    assert "0 ms" in result.message
    door.reply(Reply(entries[0].token, result))


@pytest.mark.parametrize(
    "command",
    [AlterConfigs({}), IncrementalAlterConfigs({}), ListPartitionReassignments(), ElectLeaders(UNCLEAN, ())],
    ids=lambda command: type(command).__name__,
)
async def test_a_command_that_places_nothing_goes_in_without_dice(command):
    entries = []
    door = service(entries.append)
    waiting = asyncio.ensure_future(door.submit(command, 10_000))
    await asyncio.sleep(0)
    (entry,) = entries
    assert entry == CommandReceived(entry.token, command)
    result = CommandResult()
    door.reply(Reply(entry.token, result))
    assert await waiting is result
