from hypothesis import given
from hypothesis import strategies as st

from barnabas.checker.stale import StaleRead, stale_reads
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import Acked, Disturbed, Looked, Phase, Read

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def ack(time, offset, tp=TP):
    return Acked(time, "p", tp, f"v{offset}", offset)


def look(asked, end, tp=TP):
    return Looked(asked + 0.5, "r", tp, asked, end)


def test_an_end_below_what_was_acknowledged_before_the_question_is_stale():
    assert stale_reads([ack(1.0, 4), look(2.0, 4)]) == [StaleRead(TP, "r", 2.0, 4, 5, disturbed=False)]


def test_what_was_read_counts_too():
    assert stale_reads([Read(1.0, "r", TP, 7, "v"), look(2.0, 7)])[0].known == 8


def test_what_became_known_after_the_question_proves_nothing():
    assert stale_reads([ack(1.0, 4), ack(2.2, 9), look(2.0, 5)]) == []


def test_other_partitions_and_unknown_offsets_prove_nothing():
    assert stale_reads([ack(1.0, 4, OTHER), Acked(1.0, "p", TP, "v", None), look(2.0, 0)]) == []


def test_a_stale_read_during_a_nemesis_is_distinguished():
    cut = [Disturbed(1.5, "cut-off", Phase.INJECT, ""), Disturbed(2.2, "cut-off", Phase.RECOVERED, "")]
    assert [read.disturbed for read in stale_reads([ack(1.0, 4), *cut, look(2.0, 4), look(3.0, 4)])] == [
        True,
        False,
    ]


@given(
    known=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 9)), max_size=12),
    asked=st.integers(0, 20),
    end=st.integers(0, 10),
)
def test_as_the_slow_obvious_search_says(known, asked, end):
    ops = [ack(float(time), offset) for time, offset in sorted(known)]
    found = bool(stale_reads([*ops, look(float(asked), end)]))
    assert found == any(time < asked and offset + 1 > end for time, offset in known)
