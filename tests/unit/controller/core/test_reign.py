from __future__ import annotations

from cluster.model.ids import BrokerId
from controller.core import effects
from controller.core.effects import NO_CONTROLLER, Interruption
from controller.core.inputs import ControllerChange, Expire, ShutdownEventThread, Startup


def announced(world):
    return [effect.controller_id for effect in world.sent(effects.AnnounceController)]


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
    assert not world.sent(effects.ContestController, world.questions)


def test_a_lost_race_leads_to_the_winner(make_world):
    world = make_world(active=False)

    def win(question):
        world.controller = BrokerId(3)
        return effects.Lost()

    world._contest = lambda: win(None)
    world.run(Startup())
    assert world.context.active_controller_id == 3
    assert world.reasons() == ["another broker was elected controller", "broker 3 is the controller"]


def test_each_deletion_brings_exactly_one_new_reign(make_world):
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


def test_the_node_of_a_former_life_is_left_to_its_session(make_world):
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
        effects.Explain,
        effects.StopWatching,
        effects.CloseAllChannels,
        effects.AnnounceController,
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
    assert not world.sent(effects.ContestController, world.questions)


def test_a_broker_that_does_not_act_has_nothing_to_give_up_at_shutdown(make_world):
    world = make_world(active=False)
    world.run(ShutdownEventThread())
    assert world.questions == []


def test_a_session_that_expires_in_the_race_ends_the_decision(make_world):
    world = make_world(active=False)
    world.interruptions[effects.ContestController] = Interruption.SESSION_EXPIRED
    world.run(Startup())
    assert world.reasons() == ["gave up Startup, because the ZooKeeper session has expired"]
