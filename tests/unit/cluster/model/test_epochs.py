"""The sentinels of the epochs are formats: they stand on the wire."""

from __future__ import annotations

from barnabas.cluster.model import epochs


def test_the_sentinels_are_those_of_kafka() -> None:
    assert epochs.NO_CONTROLLER_EPOCH == 0
    assert epochs.UNKNOWN_BROKER_EPOCH == -1
    assert epochs.UNKNOWN_LEADER_EPOCH == -1
    assert epochs.EPOCH_DURING_DELETE == -2
    assert epochs.INITIAL_LEADER_EPOCH == 0
