from __future__ import annotations

import pytest

from barnabas.broker.core.replication.replica_selection import ReplicaView, rack_aware


def view(broker_id, rack="near", start=0, end=10, lag_ms=0):
    return ReplicaView(broker_id, rack, start, end, lag_ms)


@pytest.mark.parametrize(
    ("followers", "leader_rack", "client_rack", "expected"),
    [
        ([view(2)], "far", "near", 2),
        ([view(2)], None, "near", 2),
        ([view(2)], "near", "near", None),
        ([view(2)], "far", "", None),
        ([view(2, rack=None)], "far", "", None),
        ([view(2, rack="elsewhere")], "far", "near", None),
        ([], "far", "near", None),
        ([view(2, end=4)], "far", "near", None),
        ([view(2, end=5)], "far", "near", 2),
        ([view(2, start=5)], "far", "near", 2),
        ([view(2, start=6)], "far", "near", None),
        ([view(2, end=-1)], "far", "near", None),
        ([view(2, end=9), view(3, end=8, lag_ms=0), view(4, rack="far", end=99)], "far", "near", 2),
        ([view(2, lag_ms=5), view(3, lag_ms=4)], "far", "near", 3),
        ([view(2), view(3)], "far", "near", 3),
    ],
)
def test_the_follower_nearest_and_furthest_is_chosen(followers, leader_rack, client_rack, expected):
    assert rack_aware(followers, leader_rack, client_rack, 5) == expected
