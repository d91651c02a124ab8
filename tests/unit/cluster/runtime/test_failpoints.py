import asyncio
import subprocess
import sys

import pytest

from barnabas.cluster.runtime.failpoints import (
    FOLLOWER_FETCH,
    Action,
    Failpoint,
    FailpointError,
    UnknownFailpointError,
    arm_all,
    find,
)


async def test_an_unarmed_failpoint_does_nothing():
    point = Failpoint("a", "")
    assert not point.armed
    await point.hit()


async def test_pause_holds_until_it_is_turned_off():
    point = Failpoint("a", "")
    point.arm(Action.PAUSE)
    assert point.armed
    held = asyncio.create_task(point.hit())
    await asyncio.sleep(0)
    assert not held.done()
    point.arm(Action.OFF)
    await held
    assert not point.armed


async def test_error_raises_also_in_those_that_were_held():
    point = Failpoint("a", "")
    point.arm(Action.PAUSE)
    held = asyncio.create_task(point.hit())
    await asyncio.sleep(0)
    point.arm(Action.ERROR)
    with pytest.raises(FailpointError, match="the failpoint a is armed"):
        await held


def test_exit_kills_the_process():
    code = (
        "import asyncio; from barnabas.cluster.runtime.failpoints import *; p = Failpoint('a', ''); "
        "p.arm(Action.EXIT); asyncio.run(p.hit())"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9


def test_settings_arm_by_name():
    try:
        arm_all(["follower.fetch=pause"])
        assert FOLLOWER_FETCH.action is Action.PAUSE
    finally:
        FOLLOWER_FETCH.arm(Action.OFF)


@pytest.mark.parametrize("setting", ["nothing=pause", "follower.fetch=dance", "follower.fetch"])
def test_what_does_not_exist_is_named(setting):
    with pytest.raises(UnknownFailpointError, match=r"there are: .*(follower\.fetch|pause)"):
        arm_all([setting])
    assert not FOLLOWER_FETCH.armed


def test_find():
    assert find("follower.fetch", "off") == (FOLLOWER_FETCH, Action.OFF)
