from __future__ import annotations

from controller.core import inputs
from controller.core.inputs import EVENTS, CommandReceived, ControllerState, Input


def test_every_input_has_its_row():
    kinds = {kind for kind in vars(inputs).values() if isinstance(kind, type) and issubclass(kind, Input)}
    assert set(EVENTS) == kinds - {Input, CommandReceived}


def test_the_states_have_kafkas_numbers():
    numbers = {state.name: state.value for state in ControllerState}
    assert numbers == {
        "IDLE": 0,
        "CONTROLLER_CHANGE": 1,
        "BROKER_CHANGE": 2,
        "TOPIC_CHANGE": 3,
        "ISR_CHANGE": 9,
        "LEADER_AND_ISR_RESPONSE_RECEIVED": 10,
        "CONTROLLER_SHUTDOWN": 12,
        "UPDATE_METADATA_RESPONSE_RECEIVED": 16,
    }
