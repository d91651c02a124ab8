from __future__ import annotations

import itertools

import pytest

from barnabas.cluster.model.controllership import Claim, Owner
from barnabas.cluster.model.ids import BrokerId
from barnabas.controller.core.decide import recover
from barnabas.controller.core.election.controller_election import CONTESTS, REELECTION_PAUSE_S, Verdict, judge
from barnabas.controller.core.election.effects import (
    AnnounceController,
    ContestController,
    GiveUpController,
    Lost,
    ReadController,
    ScheduleReelection,
)
from barnabas.controller.core.leader_elections.effects import CancelLeaderRebalance
from barnabas.controller.core.protocol.broker_znodes import ReadBrokers
from barnabas.controller.core.protocol.effects import (
    NO_CONTROLLER,
    CloseAllChannels,
    Interruption,
    LogInfo,
    StopWatching,
)
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    ControllerChange,
    Expire,
    Reelect,
    ShutdownEventThread,
    Startup,
)

ONE, TWO = BrokerId(1), BrokerId(2)
THIS, NAMED, OTHER, NOBODY = Owner.THIS_SESSION, Owner.NAMED_BROKER, Owner.OTHER_BROKER, Owner.NOBODY


def announced(world):
    return [effect.controller_id for effect in world.sent(AnnounceController)]


def test_the_first_controller_of_a_cluster_has_epoch_1(make_world):
    world = make_world(active=False)
    world.run(Startup())
    assert world.context.is_active
    assert world.context.epoch == 1
    assert announced(world) == [1]


def test_a_broker_that_finds_another_controller_stands_down(make_world):
    world = make_world(active=False)
    world.controller = BrokerId(2)
    world.run(Startup())
    assert not world.context.is_active
    assert world.context.active_controller_id == 2
    assert announced(world) == [2]
    assert not world.sent(ContestController, world.questions)


def test_a_lost_race_leads_to_the_winner(make_world):
    world = make_world(active=False)

    def win(_seen, _above):
        world.controller = BrokerId(3)
        return Lost()

    world._contest = win
    world.run(Startup())
    assert world.context.active_controller_id == 3
    assert world.reasons() == ["another broker was elected controller", "broker 3 is the controller"]


def test_each_deletion_leads_to_exactly_one_election(make_world):
    world = make_world()
    world.controller, world.owns_controller = NO_CONTROLLER, False
    world.run(ControllerChange())
    assert world.context.is_active
    assert world.context.epoch == 2
    assert any("resigned as the controller with epoch 1" in reason for reason in world.reasons())


def test_a_hand_written_id_makes_the_old_owner_give_the_node_up_and_contest(make_world):
    world = make_world()
    world.controller = BrokerId(2)
    world.run(ControllerChange())
    assert world.context.is_active
    assert world.context.epoch == 2


def test_an_owner_that_does_not_act_gives_the_node_up(make_world):
    world = make_world(active=False)
    world.controller, world.owns_controller = BrokerId(1), True
    world.run(Startup())
    assert world.context.epoch == 1
    assert world.context.is_active


def test_the_node_of_a_previous_incarnation_is_left_to_its_session(make_world):
    """KAFKA-1029: an ephemeral node that an old session left made the election try for ever."""
    world = make_world(active=False)
    world.controller = BrokerId(1)
    world.run(Startup())
    assert not world.context.is_active
    assert world.context.active_controller_id == NO_CONTROLLER
    world.controller = NO_CONTROLLER
    world.run(ControllerChange())
    assert world.context.is_active


def test_news_that_this_broker_is_the_controller_changes_nothing(make_world):
    world = make_world()
    assert world.run(ControllerChange()) == []
    assert world.context.epoch == 1


def test_expiry_resigns_without_asking_zookeeper(make_world):
    world = make_world()
    world.run(Expire())
    assert world.questions == []
    assert not world.context.is_active
    assert world.context.brokers == {}
    assert [type(effect) for effect in world.effects] == [
        LogInfo,
        AnnounceController,
        CancelLeaderRebalance,
        StopWatching,
        CloseAllChannels,
    ]


def test_a_new_session_contests_again_with_a_new_epoch(make_world):
    world = make_world()
    world.run(Expire())
    world.controller, world.owns_controller = NO_CONTROLLER, False
    world.run(Startup())
    assert world.context.epoch == 2


def test_shutting_down_opens_the_race_at_once_and_takes_no_part(make_world):
    world = make_world()
    world.run(ShutdownEventThread())
    assert world.controller == NO_CONTROLLER
    assert not world.sent(ContestController, world.questions)


def test_a_broker_that_does_not_act_has_nothing_to_give_up_at_shutdown(make_world):
    world = make_world(active=False)
    world.run(ShutdownEventThread())
    assert world.questions == []


def test_a_session_that_expires_in_the_race_ends_the_decision(make_world):
    world = make_world(active=False)
    world.interruptions[ContestController] = Interruption.SESSION_EXPIRED
    world.run(Startup())
    assert world.reasons() == ["gave up Startup, because the ZooKeeper session has expired"]


def expected(named, owner, *, acts):
    """The issue's sentences, one after the other, for broker 1."""
    if named is None:
        return Verdict.CONTEST  # missing, unreadable, or naming nobody
    if owner is THIS:
        return Verdict.STAY if acts and named == ONE else Verdict.GIVE_UP
    if owner is NOBODY:
        return Verdict.CONTEST  # names a broker that does not act as controller, and no session ends it
    return Verdict.FOLLOW if owner is NAMED and named == TWO else Verdict.WAIT


@pytest.mark.parametrize(
    ("named", "owner", "acts"), list(itertools.product((None, ONE, TWO), Owner, (False, True))), ids=str
)
def test_every_claim_has_its_verdict(named, owner, acts):
    assert judge(Claim(named, owner, 3), ONE, acts=acts) is expected(named, owner, acts=acts)


@pytest.mark.parametrize("acts", [False, True])
def test_no_claim_is_contested(acts):
    assert judge(None, ONE, acts=acts) is Verdict.CONTEST


@pytest.mark.parametrize(
    "stray",
    [Claim(None, OTHER, 2), Claim(None, NOBODY, 2), Claim(TWO, NOBODY, 2), Claim(ONE, NOBODY, 2)],
    ids=str,
)
@pytest.mark.parametrize("active", [False, True])
def test_nobodys_node_is_replaced_in_the_transaction_of_the_election(make_world, stray, active):
    world = make_world(active=active)
    world.stray = stray
    world.run(ControllerChange())
    (contest,) = world.sent(ContestController, world.questions)
    assert contest.seen == stray
    assert not world.sent(GiveUpController, world.questions)
    assert world.context.is_active
    assert world.context.epoch == (2 if active else 1)


def test_a_rewritten_node_is_left_to_the_broker_whose_session_keeps_it(make_world):
    """Also by the broker that it names: it has no privilege."""
    world = make_world(active=False)
    for named in (ONE, TWO, BrokerId(77)):
        world.stray = Claim(named, OTHER, 1)
        world.run(ControllerChange())
        assert not world.context.is_active
        assert world.context.active_controller_id == NO_CONTROLLER
    assert not world.sent(ContestController, world.questions)


def test_a_claim_that_nobody_can_replace_is_left_to_its_next_change(make_world):
    """The epoch cannot be read, say: no election can raise it, and the race must not spin."""
    world = make_world(active=False)
    world._contest = lambda _seen, _above: Lost()
    world.run(Startup())
    assert len(world.sent(ContestController, world.questions)) == CONTESTS
    assert world.context.active_controller_id == NO_CONTROLLER
    assert world.reasons()[-1] == "there is no controller now"


def test_a_broker_refuses_epochs_before_its_controllers(make_world):
    world = make_world(active=False)
    world.controller, world.epoch = TWO, 7
    world.run(Startup())
    (announcement,) = world.sent(AnnounceController)
    assert (announcement.controller_id, announcement.epoch) == (2, 7)


def test_an_epoch_lowered_by_hand_does_not_lower_the_controller_epoch(make_world):
    world = make_world(active=False)
    world.controller, world.epoch = TWO, 7
    world.run(Startup())
    world.controller, world.epoch = NO_CONTROLLER, 0
    world.run(ControllerChange())
    assert world.context.epoch == 8


def test_a_controller_that_zookeeper_leaves_without_an_answer_resigns_and_contests_when_it_is_back(
    make_world,
):
    """What it was deciding is half done; it forgets it all, and keeps nobody out of the race."""
    world = make_world()
    world.write_topic("t", (1, 2))
    world.interruptions[ReadBrokers] = Interruption.ZOOKEEPER_SILENT
    world.run(BrokerChange())
    assert not world.context.is_active
    assert world.owns_controller, "it cannot delete its node now"
    assert world.sent(ScheduleReelection), "the session may live on, and no watch report anything"
    world.run(Reelect())
    assert world.context.is_active
    assert world.context.epoch == 2


def test_a_race_is_looked_at_again_until_zookeeper_answers(make_world):
    world = make_world(active=False)
    for _ in range(3):
        world.effects.clear()
        world.interruptions[ReadController] = Interruption.ZOOKEEPER_SILENT
        world.run(Reelect())
        assert world.effects[-1] == ScheduleReelection(REELECTION_PAUSE_S)
    world.effects.clear()
    world.run(Reelect())
    assert world.context.is_active
    world.effects.clear()
    world.run(Reelect())
    assert not world.sent(ScheduleReelection), "the contest is forgotten"


def test_a_node_that_is_taken_away_again_and_again_is_contested_ever_more_seldom(make_world):
    """Two brokers whose registrations are gone: each takes the other's node for nobody's."""
    world = make_world(active=False)
    world.run(Startup())
    pauses = []
    for _ in range(40):
        world.controller, world.owns_controller = NO_CONTROLLER, False
        world.stray = Claim(TWO, Owner.NOBODY, 1)
        world.effects.clear()
        world.run(ControllerChange())
        if not world.context.is_active:
            pauses += [effect.delay_s for effect in world.sent(ScheduleReelection)][-1:]
            world.run(Reelect())
    contests = len(world.sent(ContestController, world.questions))
    assert pauses[:6] == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert contests <= CONTESTS + len(pauses)


def test_who_pauses_is_kept_from_its_next_look_by_no_change(make_world):
    world = make_world(active=False)
    world._contest = lambda _seen, _above: Lost()
    world.run(Startup(), *[ControllerChange()] * 3)
    assert len(world.sent(ScheduleReelection)) == 1


def test_an_election_after_a_calm_period_has_no_pause(make_world):
    world = make_world(active=False)
    world.run(Startup())
    for _ in range(CONTESTS):
        world.controller, world.owns_controller = NO_CONTROLLER, False
        world.run(ControllerChange())
    assert not world.context.is_active
    world.run(*[Reelect()] * (CONTESTS + 1))
    assert world.context.is_active
    assert (world.context.contests, world.context.pauses) == (0, 0)


def test_an_epoch_that_is_put_right_heals_the_cluster(make_world):
    """Nobody watches ``/controller_epoch``; while it cannot be read nobody can be elected."""
    world = make_world(active=False)
    elect, world._contest = world._contest, lambda _seen, _above: Lost()
    world.run(Startup(), Reelect())
    assert len(world.sent(ScheduleReelection)) == 2
    world._contest = elect
    world.run(Reelect())
    assert world.context.is_active


def test_who_failed_to_take_over_leaves_the_race_to_others_for_a_pause(make_world):
    """The deletion of its own node, of which it hears at once, would have it fail again and again."""
    world = make_world()
    world.drive(recover(world.context, ControllerChange(), "a bug"))
    world.questions.clear()
    world.run(ControllerChange(), ControllerChange())
    assert not world.sent(ContestController, world.questions)
    assert len(world.sent(ScheduleReelection)) == 1, "another would put it off"
    world.controller = TWO
    world.run(ControllerChange())
    assert world.context.active_controller_id == TWO
    world.controller = NO_CONTROLLER
    world.run(Reelect())
    assert world.context.is_active
    world.controller, world.owns_controller = NO_CONTROLLER, False
    world.run(ControllerChange())
    assert world.context.is_active, "it failed once, long ago"


def test_a_new_session_contests_at_once(make_world):
    world = make_world()
    world.drive(recover(world.context, ControllerChange(), "a bug"))
    world.run(Expire(), Startup())
    assert world.context.is_active
