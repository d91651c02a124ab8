from __future__ import annotations

from barnabas.controller.core.protocol.inputs import ControllerState

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
