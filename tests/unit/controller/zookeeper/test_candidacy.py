from __future__ import annotations

from barnabas.cluster.model.controllership import Claim, Controllership, Owner
from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import ControllerMoved
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.controller.core.election.effects import Lost
from barnabas.controller.core.protocol.effects import ControllerFence
from barnabas.controller.zookeeper.candidacy import Candidacy

STRAY = Claim(None, Owner.NOBODY, 4)
TWO = ControllerEpoch(2)


class Store:
    """``/controller`` as one session sees it."""

    def __init__(self, found=None, outcome=None):
        self._found = found
        self._outcome = outcome
        self.elected = []
        self.given_up = 0

    async def look(self, *, watch):
        assert watch
        return self._found

    async def elect(self, broker, now_ms, seen, above):
        self.elected.append((broker, now_ms, seen, above))
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    async def give_up(self):
        self.given_up += 1


def candidacy(store):
    return Candidacy(store, BrokerId(1), clock=lambda: 1.5)


async def test_who_claims_to_be_controller():
    found = Controllership(Claim(BrokerId(3), Owner.NAMED_BROKER, 0), TWO)
    assert await candidacy(Store(found)).read() == found


async def test_a_won_election_makes_the_active_controller():
    store = Store(outcome=Fence(ControllerEpoch(3), EpochVersion(5)))
    assert await candidacy(store).contest(STRAY, TWO) == ControllerFence(ControllerEpoch(3), EpochVersion(5))
    assert store.elected == [(1, 1500, STRAY, 2)]


async def test_a_lost_race_is_lost():
    assert await candidacy(Store(outcome=ControllerMoved("3 won"))).contest(None, TWO) == Lost()
    unreadable = ZnodeDecodeError("/controller_epoch", b"?", "a decimal number")
    assert await candidacy(Store(outcome=unreadable)).contest(None, TWO) == Lost()


async def test_giving_up():
    store = Store()
    await candidacy(store).give_up()
    assert store.given_up == 1
