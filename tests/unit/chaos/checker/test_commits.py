import pytest

from barnabas.chaos.checker.commits import WentBack, went_back
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Committed, Fetched

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def committed(asked, time, offset, tp=TP):
    return Committed(time, "member", tp, asked, offset)


def fetched(asked, offset, tp=TP):
    return Fetched(asked + 1, "reader", tp, asked, offset)


@pytest.mark.parametrize(
    "ops",
    [
        [committed(0, 1, 5), committed(2, 3, 5), committed(4, 5, 9), fetched(6, 9)],
        [committed(0, 1, 5), committed(2, 3, 1, OTHER), fetched(4, 5), fetched(4, 1, OTHER)],
        [fetched(0, None)],
        # Both were under way at once, so the log may have them in either order.
        [committed(0, 3, 9), committed(1, 4, 5)],
    ],
)
def test_commits_that_only_grow_are_fine(ops):
    assert went_back(ops) == []


@pytest.mark.parametrize(
    ("op", "process", "offset"),
    [
        (committed(4, 5, 8), "member", 8),
        (fetched(4, 8), "reader", 8),
        (fetched(4, None), "reader", None),
    ],
)
def test_what_is_lower_than_an_acknowledged_commit_went_back(op, process, offset):
    found = went_back([committed(0, 1, 9), committed(0, 2, 5), op])
    assert found == [WentBack(TP, process, offset, 9)]
    assert "after 9 was acknowledged" in str(found[0])
