"""The judge judged: clean histories pass, and each fault that is planted is found and named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.checker.checker import (
    Duplicate,
    Inconsistency,
    Inversion,
    Misplaced,
    Write,
    check,
)
from barnabas.checker.readings import Jump
from barnabas.checker.stale import StaleRead
from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import (
    Acked,
    Created,
    Deleted,
    Disturbed,
    Failed,
    Joined,
    Looked,
    Phase,
    Read,
    Sent,
    Tail,
    Unknown,
)

TP = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)


def sent(*values, tp=TP, process="p", time=0.0):
    return [Sent(time, process, tp, value) for value in values]


def acked(placed, tp=TP, process="p", time=1.0):
    return [Acked(time, process, tp, value, offset) for value, offset in placed.items()]


def read(placed, tp=TP, process="r"):
    return [Read(2.0, process, tp, offset, value) for offset, value in placed.items()]


def tail(position, end, tp=TP, process="r"):
    return [Tail(3.0, process, tp, position, end)]


CLEAN = [
    *sent("a", "b", "c"),
    *acked({"a": 0, "b": 1, "c": 2}),
    *read({0: "a", 1: "b", 2: "c"}),
    *tail(3, 3),
]


def test_a_history_in_which_every_promise_was_kept_is_valid():
    verdict = check(CLEAN)
    assert verdict.valid
    assert verdict.problems() == []
    assert (verdict.sent, verdict.acknowledged, verdict.read, verdict.unknown) == (3, 3, 3, 0)


@pytest.mark.parametrize(
    "history",
    [[], sent("a"), tail(0, 0), [*sent("a"), *read({0: "a"}), *tail(1, 1)]],
    ids=["nothing", "sent alone", "read alone", "never acknowledged"],
)
def test_where_nothing_was_acknowledged_nothing_is_proven(history):
    verdict = check(history)
    assert not verdict.valid
    assert verdict.problems() == ["nothing was acknowledged, which proves nothing"]


def test_a_record_that_readers_passed_over_is_lost():
    verdict = check([op for op in CLEAN if op != Read(2.0, "r", TP, 1, "b")])
    assert verdict.lost == (Write(TP, 1, "b"),)
    assert verdict.missing == 1
    assert not verdict.valid
    assert verdict.problems()[0].startswith("lost: 1, first Write(")


def test_a_record_that_was_cut_off_with_the_end_of_the_log_is_lost():
    history = [*sent("a", "b"), *acked({"a": 0, "b": 1}), *read({0: "a"}), *tail(1, 1)]
    assert check(history).lost == (Write(TP, 1, "b"),)


def test_a_record_overwritten_by_another_is_lost_and_its_offset_inconsistent():
    history = [*sent("a", "b", "x"), *acked({"a": 0, "b": 1}), *read({0: "a", 1: "x"}), *tail(2, 2)]
    verdict = check(history)
    assert verdict.lost == (Write(TP, 1, "b"),)
    assert verdict.inconsistent == (Inconsistency(TP, 1, ("b", "x")),)


def test_a_record_behind_the_place_where_the_reader_gave_up_is_unread_and_not_called_lost():
    history = [*sent("a", "b"), *acked({"a": 0, "b": 1}), *read({0: "a"}), *tail(1, 2)]
    verdict = check(history)
    assert verdict.lost == ()
    assert verdict.unread == (Write(TP, 1, "b"),)
    assert verdict.missing == 1
    assert not verdict.valid


def test_a_partition_that_nobody_could_read_is_unread():
    assert check([*sent("a"), *acked({"a": 0}), *tail(0, None)]).unread == (Write(TP, 0, "a"),)
    assert check([*sent("a"), *acked({"a": 0})]).unread == (Write(TP, 0, "a"),)


def test_an_acknowledgement_without_offset_is_lost_once_the_whole_log_was_read():
    history = [*sent("a", "b"), *acked({"a": 0, "b": None}), *read({0: "a"})]
    assert check([*history, *tail(1, 1)]).lost == (Write(TP, None, "b"),)
    assert check([*history, *tail(1, 2)]).unread == (Write(TP, None, "b"),)


def test_a_value_at_two_offsets_is_duplicated_and_not_also_reordered():
    history = [
        *sent("a", "b"),
        *acked({"a": 0, "b": 1}),
        *read({0: "a", 1: "b", 2: "a"}),
        *tail(3, 3),
    ]
    verdict = check(history)
    assert verdict.duplicated == (Duplicate(TP, "a", (0, 2)),)
    assert verdict.reordered == ()


def test_the_same_offset_read_by_two_readers_is_no_duplicate():
    assert check([*CLEAN, *read({0: "a", 1: "b", 2: "c"}, process="s"), *tail(3, 3, process="s")]).valid


# What one reader was given does not stand for what another was


ALONG = read({0: "a", 1: "b", 2: "c"}, process="tail")


def test_a_record_that_was_read_along_and_is_gone_in_the_end_is_lost():
    without = [op for op in CLEAN if op != Read(2.0, "r", TP, 1, "b")]
    verdict = check([*ALONG, *without])
    assert verdict.lost == (Write(TP, 1, "b"),)
    assert verdict.lost[0].reader == "r"
    cut = [*CLEAN[:-2], *tail(2, 2)]
    assert check([*ALONG, *cut]).lost == (Write(TP, 2, "c"),)
    assert len(check([*ALONG, *CLEAN[:6], *tail(0, 0)]).lost) == 3


def test_a_record_that_one_reader_of_everything_was_not_given_is_lost():
    other = [*read({0: "a", 2: "c"}, process="s"), *tail(3, 3, process="s")]
    (write,) = check([*CLEAN, *other]).lost
    assert (write, write.reader) == (Write(TP, 1, "b"), "s")
    assert check([*CLEAN, *tail(0, None, process="s")]).unread[0].reader == "s"


def test_records_that_were_only_read_along_are_unread():
    assert len(check([*CLEAN[:6], *ALONG]).unread) == 3


def test_a_record_of_unknown_outcome_that_was_read_may_not_vanish():
    history = [*CLEAN, *sent("d"), Unknown(1.0, "p", TP, "d", "timed out")]
    assert check(history).valid
    verdict = check([*history, *read({3: "d"}, process="tail")])
    assert verdict.vanished == (Write(TP, 3, "d"),)
    assert verdict.problems()[0].startswith("vanished: 1, first Write(")


def test_a_record_found_elsewhere_than_where_it_was_acknowledged_is_misplaced():
    for offset in (7, 1):
        history = [*sent("a"), *acked({"a": offset}), *read({0: "a"}), *tail(1, 1)]
        assert check(history).misplaced == (Misplaced(TP, "a", offset, (0,)),)


def test_a_log_with_a_hole_is_a_jump_though_nothing_acknowledged_is_missing():
    skipped = [*sent("a", "b"), *acked({"a": 0, "b": 5}), *read({0: "a", 5: "b"}), *tail(6, 6)]
    assert check(skipped).jumps == (Jump(TP, "r", expected=1, found=5),)
    began_late = [*sent("b"), *acked({"b": 5}), *read({5: "b"}), *tail(6, 6)]
    assert check(began_late).jumps == (Jump(TP, "r", expected=0, found=5),)


def test_offsets_that_go_backward_are_a_jump():
    again = [*CLEAN[:-1], *read({1: "b", 2: "c"}), *tail(3, 3)]
    verdict = check(again)
    assert verdict.jumps == (Jump(TP, "r", expected=3, found=1),)
    assert verdict.problems() == [f"jumps: 1, first {verdict.jumps[0]}"]


def test_a_reader_that_stopped_before_the_end_could_not_tell_what_stands_behind():
    for end in (4, None):
        verdict = check([*CLEAN[:-1], *tail(3, end)])
        assert verdict.unfinished == tuple(tail(3, end))
        assert verdict.problems() == [f"not read to the end: 1, first {verdict.unfinished[0]}"]


def test_a_record_in_another_partition_or_topic_is_lost_here_and_a_phantom_there():
    for elsewhere in (OTHER, TopicPartition("u", 0)):
        astray = [*read({0: "b"}, tp=elsewhere), *tail(1, 1, tp=elsewhere)]
        here = [*sent("a", "b"), *acked({"a": 0, "b": 1}), *read({0: "a"}), *tail(1, 1)]
        verdict = check([*here, *astray])
        assert verdict.lost == (Write(TP, 1, "b"),)
        assert verdict.phantoms == (Write(elsewhere, 0, "b"),)


def test_a_corrupt_value_is_a_phantom_and_what_it_was_is_lost():
    verdict = check([op if op != Read(2.0, "r", TP, 1, "b") else Read(2.0, "r", TP, 1, "B") for op in CLEAN])
    assert verdict.lost == (Write(TP, 1, "b"),)
    assert verdict.phantoms == (Write(TP, 1, "B"),)


def test_a_retry_that_landed_behind_its_successor_is_reordered():
    history = [
        *sent("a", "b", "c"),
        *acked({"b": 0, "c": 1, "a": 2}),
        *read({0: "b", 1: "c", 2: "a"}),
        *tail(3, 3),
    ]
    assert check(history).reordered == (Inversion(TP, "p", earlier="a", later="c", offsets=(1, 2)),)


def test_two_producers_may_interleave_as_they_like():
    history = [
        *sent("a1", process="p"),
        *sent("b1", process="q"),
        *sent("a2", process="p"),
        *sent("b2", process="q"),
        *read({0: "b1", 1: "b2", 2: "a1", 3: "a2"}),
    ]
    assert check(history).reordered == ()


def test_two_readers_that_saw_different_values_at_one_offset_are_inconsistent():
    history = [*CLEAN, *sent("d"), *read({2: "d"})]
    assert check(history).inconsistent == (Inconsistency(TP, 2, ("c", "d")),)


def test_two_acknowledgements_of_one_offset_are_inconsistent():
    history = [*sent("a", "b"), *acked({"a": 0, "b": 0}), *read({0: "a"}), *tail(1, 1)]
    assert check(history).inconsistent == (Inconsistency(TP, 0, ("a", "b")),)


def test_a_write_that_certainly_failed_may_not_be_read():
    history = [*sent("a"), Failed(1.0, "p", TP, "a", "refused"), *read({0: "a"}), *tail(1, 1)]
    verdict = check(history)
    assert verdict.aborted_reads == (Write(TP, 0, "a"),)
    assert (verdict.failed, verdict.unknown) == (1, 0)


def test_a_write_of_unknown_outcome_may_be_read_or_not():
    unknown = [*sent("d", "e"), Unknown(1.0, "p", TP, "d", "timed out")]
    verdict = check([*CLEAN[:-1], *unknown, *read({3: "d"}), *tail(4, 4)])
    assert verdict.valid
    assert verdict.unknown == 2  # one said so, one never heard of


def test_a_value_that_nobody_sent_is_a_phantom():
    assert check([*CLEAN, *read({3: "ghost"})]).phantoms == (Write(TP, 3, "ghost"),)


def test_a_fault_in_one_partition_is_not_laid_at_the_door_of_another():
    clean_other = [
        *sent("z", tp=OTHER),
        *acked({"z": 0}, tp=OTHER),
        *read({0: "z"}, tp=OTHER),
        *tail(1, 1, tp=OTHER),
    ]
    verdict = check([*clean_other, *sent("a"), *acked({"a": 0}), *tail(0, 0)])
    assert [write.partition for write in verdict.lost] == [TP]


def test_a_producer_that_is_not_idempotent_may_have_a_value_twice():
    twice = [*CLEAN[:-1], *read({3: "b"}), *tail(4, 4)]
    assert check(twice).duplicated == (Duplicate(TP, "b", (1, 3)),)
    lenient = check([Joined(0.0, "p", idempotent=False), *twice])
    assert lenient.valid
    assert lenient.tolerated["duplicated"] == 1


def test_what_a_deleted_topic_held_is_not_missed():
    unread = [*sent("a"), *acked({"a": 0})]
    assert check(unread).missing == 1
    assert check([*unread, Deleted(2.0, "another")]).missing == 1
    verdict = check([*unread, Deleted(2.0, "t")])
    assert verdict.valid
    assert (verdict.acknowledged, verdict.excused) == (1, 1)
    assert check([*CLEAN, Deleted(9.0, "t")]).excused == 0  # it was read back before


def test_what_was_sent_to_a_topic_that_came_again_is_missed():
    before = [*sent("a"), *acked({"a": 0}), Deleted(2.0, "t")]
    assert check([*before, *sent("b"), *acked({"b": 0}), *tail(0, 0)]).lost == (Write(TP, 0, "b"),)
    assert check([*before, *sent("b"), *acked({"b": 1})]).unread == (Write(TP, 1, "b"),)


def test_what_a_deleted_topic_held_must_not_return_with_a_later_one_of_its_name():
    before = [*sent("a"), *acked({"a": 0}), Deleted(2.0, "t"), Created(3.0, "t")]
    after = [*sent("b"), *acked({"b": 0})]
    assert check([*before, *after, *read({0: "b"}), *tail(1, 1)]).valid
    verdict = check([*before, *after, *read({0: "a", 1: "b"}), *tail(2, 2)])
    assert verdict.resurrected == (Write(TP, 0, "a"),)
    assert not verdict.valid


def test_a_stale_read_counts_unless_a_nemesis_is_about():
    looked = Looked(6.0, "r", TP, 5.5, 2)
    assert check([*CLEAN, looked]).stale == (StaleRead(TP, "r", 5.5, 2, 3, disturbed=False),)
    cut = [Disturbed(4.0, "cut-off", Phase.INJECT, "1"), Disturbed(5.0, "cut-off", Phase.HEAL, "")]
    during = check([*CLEAN, *cut, looked, Disturbed(7.0, "cut-off", Phase.RECOVERED, "")])
    assert during.valid
    assert during.tolerated["stale reads"] == 1


# Clean histories at random, and one fault planted in each


@st.composite
def clean_histories(draw):
    """Producers over partitions; each acked value stands once, in order; unknown ones may be missing."""
    ops, reads = [], []
    for number in range(draw(st.integers(1, 3))):
        tp = TopicPartition("t", number)
        log = draw(
            st.lists(st.tuples(st.sampled_from("pqr"), st.booleans(), st.booleans()), min_size=1, max_size=12)
        )
        log.append(("p", True, True))  # or nothing might be promised at all
        offset = 0
        for place, (process, is_acked, is_written) in enumerate(log):
            value = f"{process}{number}.{place}"
            ops.append(Sent(float(place), process, tp, value))
            if is_acked:
                ops.append(Acked(place + 0.5, process, tp, value, offset))
            if is_acked or is_written:
                reads.append(Read(100.0, "reader", tp, offset, value))
                offset += 1
        reads.append(Tail(101.0, "reader", tp, offset, offset))
    return [*ops, *reads]


@given(clean_histories())
def test_clean_histories_are_valid(history):
    verdict = check(history)
    assert verdict.problems() == []
    assert verdict.acknowledged <= verdict.read <= verdict.sent
    assert verdict.acknowledged + verdict.unknown == verdict.sent


PLANTS = ["loss", "loss for one reader", "duplicate", "reorder", "inconsistent offset"]


@given(clean_histories(), st.sampled_from(PLANTS), st.data())
def test_each_planted_fault_is_caught_and_nothing_else_is_made_of_it(history, plant, data):
    acks = [op for op in history if isinstance(op, Acked)]
    reads = {(op.partition, op.offset): op for op in history if isinstance(op, Read)}
    victim = data.draw(st.sampled_from(acks))
    tp, offset = victim.partition, victim.offset
    process = next(op.process for op in history if isinstance(op, Sent) and op.value == victim.value)
    if plant == "loss":
        verdict = check([op for op in history if op != reads[tp, offset]])
        assert verdict.lost == (Write(tp, offset, victim.value),)
        assert verdict.jumps == (Jump(tp, "reader", offset, offset + 1),)
        assert len(verdict.problems()) == 2
    elif plant == "loss for one reader":
        along = [Read(op.time, "tail", op.partition, op.offset, op.value) for op in reads.values()]
        assert check([*along, *history]).valid
        verdict = check([*along, *(op for op in history if op != reads[tp, offset])])
        assert verdict.lost == (Write(tp, offset, victim.value),)
    elif plant == "duplicate":
        end = max(o for p, o in reads if p == tp) + 1
        verdict = check([*history, Read(102.0, "reader", tp, end, victim.value)])
        assert verdict.duplicated == (Duplicate(tp, victim.value, (offset, end)),)
        assert len(verdict.problems()) == 1
    elif plant == "reorder":
        mine = [o for p, o in sorted(reads) if p == tp and reads[p, o].value.startswith(process)]
        if len(mine) < 2:
            return
        first, last = reads[tp, mine[0]], reads[tp, mine[-1]]
        swap = {
            first: Read(first.time, first.process, tp, first.offset, last.value),
            last: Read(last.time, last.process, tp, last.offset, first.value),
        }
        without_offsets = [
            Acked(op.time, op.process, op.partition, op.value, None) if isinstance(op, Acked) else op
            for op in history
        ]
        verdict = check([swap.get(op, op) for op in without_offsets])
        assert verdict.reordered
        assert {inversion.partition for inversion in verdict.reordered} == {tp}
        assert len(verdict.problems()) == 1
    else:
        verdict = check([*history, *sent("intruder", tp=tp), Read(102.0, "q", tp, offset, "intruder")])
        assert verdict.inconsistent == (Inconsistency(tp, offset, tuple(sorted((victim.value, "intruder")))),)


@pytest.mark.parametrize("fault", ["lost", "unread"])
def test_missing_counts_both_ways_of_not_being_read_back(fault):
    end = 1 if fault == "lost" else 2
    verdict = check([*sent("a", "b"), *acked({"a": 0, "b": 1}), *read({0: "a"}), *tail(1, end)])
    assert verdict.missing == len(getattr(verdict, fault)) == 1
