from __future__ import annotations

from barnabas.cluster.model.commands_shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition


def test_a_command_names_one_life_of_the_broker():
    first = ControlledShutdown(BrokerId(1), BrokerEpoch(7))
    assert first != ControlledShutdown(BrokerId(1), BrokerEpoch(8))


def test_nothing_remains_is_not_the_same_as_something_does():
    assert ControlledShutdownResult(()) != ControlledShutdownResult((TopicPartition("t", 0),))
