"""The high watermark against a model that goes through all offsets one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.replication.high_watermark import Follower, bounded, candidate

LAG = 100

followers = st.lists(
    st.builds(Follower, st.integers(-1, 12), st.booleans(), st.integers(0, 2 * LAG)), max_size=4
)


def slow_candidate(leader_end: int, replicas: list[Follower]) -> int:
    """The greatest offset below which every replica that counts has every record."""

    def counts(replica: Follower) -> bool:
        return replica.in_maximal_isr or replica.since_caught_up_ms <= LAG

    def all_have(offset: int) -> bool:
        return all(offset < replica.log_end_offset for replica in replicas if counts(replica))

    if any(replica.log_end_offset == -1 for replica in replicas if counts(replica)):
        return -1
    offset = 0
    while offset < leader_end and all_have(offset):
        offset += 1
    return offset


@given(st.integers(0, 12), followers)
def test_candidate_is_what_all_that_count_have(leader_end, replicas):
    assert candidate(leader_end, replicas, LAG) == slow_candidate(leader_end, replicas)


def test_a_leader_alone_commits_what_it_has():
    assert candidate(7, [], LAG) == 7


def test_a_replica_about_to_rejoin_holds_it_back_only_while_it_keeps_up():
    outside = Follower(3, in_maximal_isr=False, since_caught_up_ms=LAG)
    assert candidate(7, [outside], LAG) == 3
    assert candidate(7, [outside._replace(since_caught_up_ms=LAG + 1)], LAG) == 7


def test_one_that_has_not_fetched_yet_holds_it_back_from_every_offset():
    unknown = Follower(-1, in_maximal_isr=True, since_caught_up_ms=0)
    assert candidate(9, [unknown], LAG) < 0


@given(st.integers(0, 20), st.integers(0, 10), st.integers(0, 10))
def test_bounded_lies_in_the_log(offset, start, length):
    end = start + length
    found = bounded(offset, start, end)
    assert start <= found <= end
    assert found == offset or offset < start or offset > end
