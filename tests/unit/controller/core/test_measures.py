from __future__ import annotations

from cluster.model.ids import BrokerId
from controller.core.inputs import BrokerChange, TopicChange
from controller.core.measures import Measures, measure


def test_who_is_not_the_controller_counts_nothing(make_world):
    assert measure(make_world(active=False).context) == Measures()


def test_a_healthy_cluster(make_world):
    world = make_world()
    world.write_topic("t", (1, 2), (2, 1))
    world.write_topic("u", (3,))
    world.run(TopicChange())
    assert measure(world.context) == Measures(1, 0, 0, 2, 3)


def test_a_dead_broker_shows_in_both_counts(make_world):
    world = make_world()
    world.write_topic("t", (1, 2), (2, 1), (3,))
    world.run(TopicChange())
    world.remove(3, 2)
    world.run(BrokerChange())
    measures = measure(world.context)
    assert measures.offline_partitions_count == 1
    assert measures.preferred_replica_imbalance_count == 2


def test_a_topic_that_is_being_deleted_counts_as_a_topic_alone(make_world):
    world = make_world()
    world.write_topic("t", (2,))
    world.run(TopicChange())
    world.context.topics_to_delete.add("t")
    del world.context.brokers[BrokerId(2)]
    assert measure(world.context) == Measures(1, 0, 0, 1, 1)
