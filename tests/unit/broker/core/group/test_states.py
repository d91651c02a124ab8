"""Every pair of states: what the table allows is done, all else is a bug."""

from __future__ import annotations

from itertools import product

import pytest

from barnabas.broker.core.group.group import Group
from barnabas.broker.core.group.states import GROUP_TRANSITIONS, GroupState, Transition

# The validPreviousStates of GroupMetadata.scala 2.8, without Dead to Dead: a dead group is forgotten.
VALID_PREVIOUS = {
    "PreparingRebalance": {"Stable", "CompletingRebalance", "Empty"},
    "CompletingRebalance": {"PreparingRebalance"},
    "Stable": {"CompletingRebalance"},
    "Empty": {"PreparingRebalance"},
    "Dead": {"Stable", "PreparingRebalance", "CompletingRebalance", "Empty"},
}


@pytest.mark.parametrize(("source", "target"), list(product(GroupState, GroupState)))
def test_a_group_goes_where_kafka_lets_it(source, target):
    group = Group("g", 0, now_ms=5)
    group.state = source
    if source in VALID_PREVIOUS[target]:
        group.transition_to(target, 7)
        assert (group.state, group.state_timestamp_ms) == (target, 7)
    else:
        with pytest.raises(AssertionError, match=f"g: {source} to {target}"):
            group.transition_to(target, 7)
        assert (group.state, group.state_timestamp_ms) == (source, 5)


def test_each_cause_has_its_arrow():
    assert set(GROUP_TRANSITIONS.values()) == set(Transition)
