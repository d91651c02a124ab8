from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.controller.core.protocol.broker_znodes import ReadBrokers
from barnabas.controller.core.protocol.effects import (
    InterruptedDecisionError,
    Interruption,
    LogElection,
    ask,
    listed,
)
from barnabas.controller.core.protocol.inputs import ControllerState


def test_an_answer_returns_to_the_decision_that_asked():
    question = ReadBrokers()
    decision = ask(question)
    assert next(decision) is question
    with pytest.raises(StopIteration) as end:
        decision.send({})
    assert end.value.value == {}


@pytest.mark.parametrize("interruption", Interruption)
def test_an_interruption_is_raised_inside_the_decision(interruption):
    decision = ask(ReadBrokers())
    next(decision)
    with pytest.raises(InterruptedDecisionError) as raised:
        decision.send(interruption)
    assert raised.value.interruption is interruption
    assert str(raised.value) == interruption.value


def test_brokers_in_a_line_are_listed_and_nobody_is_called_none():
    assert listed((1, 4)) == "1, 4"
    assert listed(()) == "none"


def test_an_unclean_election_says_so():
    elected = LeaderAndIsr.initial(BrokerId(2), (BrokerId(2),))
    assert str(LogElection(TopicPartition("t", 0), "S", elected, unclean=True)) == (
        "t-0: broker 2 elected uncleanly, from outside the ISR, by S in leader epoch 0, ISR 2"
    )


KAFKAS_NUMBERS = {
    "IDLE": 0,
    "CONTROLLER_CHANGE": 1,
    "BROKER_CHANGE": 2,
    "TOPIC_CHANGE": 3,
    "TOPIC_DELETION": 4,
    "ALTER_PARTITION_REASSIGNMENT": 5,
    "AUTO_LEADER_BALANCE": 6,
    "MANUAL_LEADER_BALANCE": 7,
    "CONTROLLED_SHUTDOWN": 8,
    "ISR_CHANGE": 9,
    "LEADER_AND_ISR_RESPONSE_RECEIVED": 10,
    "LOG_DIR_CHANGE": 11,
    "CONTROLLER_SHUTDOWN": 12,
    "UNCLEAN_LEADER_ELECTION_ENABLE": 13,
    "TOPIC_UNCLEAN_LEADER_ELECTION_ENABLE": 14,
    "LIST_PARTITION_REASSIGNMENT": 15,
    "UPDATE_METADATA_RESPONSE_RECEIVED": 16,
}


def test_the_states_have_kafkas_numbers():
    numbers = {state.name: state.value for state in ControllerState}
    assert numbers.items() <= KAFKAS_NUMBERS.items()
