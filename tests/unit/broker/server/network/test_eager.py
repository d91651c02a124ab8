from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.server.network.eager import start


@pytest.fixture
def work():
    """A coroutine that waits for these futures, one after the other, and notes what it gets."""
    done = []

    async def run(*futures):
        done.append("begun")
        try:
            done.extend([await each for each in futures])
        except asyncio.CancelledError:
            done.append("cancelled")
            raise
        except ValueError as error:
            done.append(str(error))

    run.done = done
    return run


def future():
    return asyncio.get_running_loop().create_future()


async def test_what_does_not_wait_has_no_task(work):
    ready = future()
    ready.set_result(1)
    assert start(work(ready)) is None
    assert work.done == ["begun", 1]


async def test_what_waits_goes_on_in_a_task(work):
    first, second = future(), future()
    task = start(work(first, second))
    assert work.done == ["begun"]
    first.set_result(1)
    second.set_exception(ValueError("2"))
    await task
    assert work.done == ["begun", "2"]


@pytest.mark.parametrize("has_run", [False, True], ids=["before the task runs", "while it waits"])
async def test_a_cancellation_reaches_what_is_waited_for(work, has_run):
    waited_for = future()
    task = start(work(waited_for))
    if has_run:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert work.done == ["begun", "cancelled"]
    assert waited_for.cancelled()


async def test_a_pause_is_no_end(work):
    task = start(work(asyncio.sleep(0, 1)))
    await task
    assert work.done == ["begun", 1]
