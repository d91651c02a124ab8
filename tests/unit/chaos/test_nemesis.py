import itertools

import pytest

from barnabas.chaos.history import Fault, History
from barnabas.chaos.nemesis import Nemesis
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.observe import ClusterView, PartitionView


class Recorder:
    """Victims that only note what is done to them."""

    def __init__(self):
        self.deeds = []

    def __getattr__(self, deed):
        return lambda broker_id: self.deeds.append((deed, broker_id))


def led_by(*leaders, controller=None):
    partitions = {
        TopicPartition("t", n): PartitionView(leader, isr=(1, 2, 3), replicas=(1, 2, 3))
        for n, leader in enumerate(leaders)
    }
    return ClusterView(controller=controller, partitions=partitions)


def nemesis(view):
    victims, history = Recorder(), History(itertools.count().__next__)
    return Nemesis(victims, lambda: view, history), victims, history


def test_the_broker_that_leads_most_partitions_is_killed_and_named():
    acting, victims, history = nemesis(led_by(1, 3, 3, None))
    assert acting.kill_leader_of_most() == 3
    assert victims.deeds == [("kill", 3)]
    (fault,) = history.ops()
    assert fault.what == "SIGKILL broker 3, which leads most partitions"


def test_of_several_that_lead_as_many_the_lowest_id_is_chosen():
    acting, victims, _ = nemesis(led_by(3, 2, 1))
    acting.kill_leader_of_most()
    assert victims.deeds == [("kill", 1)]


def test_the_controller_is_killed_and_named():
    acting, victims, history = nemesis(led_by(1, controller=2))
    assert acting.kill_controller() == 2
    assert victims.deeds == [("kill", 2)]
    assert isinstance(history.ops()[0], Fault)


def test_nobody_is_killed_where_nobody_holds_the_office():
    acting, victims, history = nemesis(led_by(None, None))
    with pytest.raises(LookupError, match="none of 2 partitions has a leader"):
        acting.kill_leader_of_most()
    with pytest.raises(LookupError, match="no broker is the controller"):
        acting.kill_controller()
    assert victims.deeds == []
    assert history.ops() == ()


@pytest.mark.parametrize("deed", ["kill", "pause", "resume", "restart"])
def test_each_deed_is_noted_before_it_is_done(deed):
    acting, victims, history = nemesis(led_by())
    getattr(acting, deed)(2)
    assert victims.deeds == [(deed, 2)]
    assert "broker 2" in history.ops()[0].what
