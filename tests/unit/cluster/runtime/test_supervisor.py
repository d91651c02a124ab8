import asyncio

from barnabas.cluster.runtime.supervisor import Supervisor


async def fail():
    raise ValueError("broken")


async def test_the_owner_is_notified_of_a_failed_task():
    deaths = []
    supervisor = Supervisor(lambda name, error: deaths.append((name, str(error))))
    task = supervisor.spawn("fetcher", fail())
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert deaths == [("fetcher", "broken")]
    assert supervisor.names == []


async def test_a_spawner_may_answer_itself():
    deaths, own = [], []
    supervisor = Supervisor(lambda name, _error: deaths.append(name))
    task = supervisor.spawn("a", fail(), on_death=lambda name, _error: own.append(name))
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert (deaths, own) == ([], ["a"])


async def test_done_and_cancelled_is_not_dead():
    deaths = []
    supervisor = Supervisor(lambda name, _error: deaths.append(name))
    done = supervisor.spawn("done", asyncio.sleep(0))
    supervisor.spawn("endless", asyncio.Event().wait())
    await done
    await asyncio.sleep(0)
    assert supervisor.names == ["endless"]
    assert await supervisor.close(5) == []
    assert deaths == []


async def test_close_names_the_tasks_that_do_not_end():
    release = asyncio.Event()

    async def stubborn():
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    supervisor = Supervisor(lambda _name, _error: None)
    task = supervisor.spawn("stubborn", stubborn())
    await asyncio.sleep(0)
    assert await supervisor.close(0.01) == ["stubborn"]
    release.set()
    await task


async def test_a_task_may_close_its_own_supervisor():
    supervisor = Supervisor(lambda _name, _error: None)
    supervisor.spawn("endless", asyncio.Event().wait())
    assert await supervisor.spawn("closer", supervisor.close(5)) == []
