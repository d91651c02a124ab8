from __future__ import annotations

from cluster.model.epochs import ControllerEpoch, EpochVersion
from cluster.model.ids import BrokerId
from cluster.zk.errors import ControllerMoved
from cluster.zk.fence import Fence
from cluster.zk.schema.body import ZnodeDecodeError
from cluster.zk.store_controller import ActiveController
from controller.candidacy import Candidacy
from controller.core.effects import NO_CONTROLLER, Lost, Reign


class Store:
    """``/controller`` as one session sees it."""

    def __init__(self, active=None, outcome=None):
        self._active = active
        self._outcome = outcome
        self.elected = []
        self.given_up = 0

    async def active(self, *, watch):
        assert watch
        return raised_or(self._active)

    async def elect(self, broker, now_ms):
        self.elected.append((broker, now_ms))
        return raised_or(self._outcome)

    async def give_up(self):
        self.given_up += 1


def raised_or(value):
    if isinstance(value, Exception):
        raise value
    return value


def candidacy(store):
    return Candidacy(store, BrokerId(1), clock=lambda: 1.5)


async def test_who_is_named():
    assert await candidacy(Store()).read() == NO_CONTROLLER
    assert await candidacy(Store(ActiveController(BrokerId(3), is_this_session=False))).read() == 3


async def test_what_cannot_be_read_names_nobody():
    assert await candidacy(Store(ZnodeDecodeError("/controller", b"?", "JSON"))).read() == NO_CONTROLLER


async def test_a_won_race_is_a_reign():
    store = Store(outcome=Fence(ControllerEpoch(3), EpochVersion(5)))
    assert await candidacy(store).contest() == Reign(ControllerEpoch(3), EpochVersion(5))
    assert store.elected == [(1, 1500)]


async def test_a_lost_race_is_lost():
    assert await candidacy(Store(outcome=ControllerMoved("3 won"))).contest() == Lost()
    unreadable = ZnodeDecodeError("/controller", b"?", "JSON")
    assert await candidacy(Store(outcome=unreadable)).contest() == Lost()


async def test_giving_up():
    store = Store()
    await candidacy(store).give_up()
    assert store.given_up == 1
