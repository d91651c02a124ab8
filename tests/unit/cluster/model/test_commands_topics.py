from __future__ import annotations

from barnabas.cluster.model.commands_topics import CreatePartitions, DeleteTopics, NewPartitions
from barnabas.cluster.model.ids import BrokerId


def test_no_assignment_is_not_an_empty_one() -> None:
    placed, by_hand = NewPartitions("t", 3), NewPartitions("t", 3, ((BrokerId(1),), ()))
    assert placed.assignments is None
    assert placed != by_hand
    assert CreatePartitions((placed,)) == CreatePartitions((placed,), validate_only=False)
    assert DeleteTopics(("t",)) != DeleteTopics(("u",))
