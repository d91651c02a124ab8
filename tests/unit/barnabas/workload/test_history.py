import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.history import (
    Acked,
    Created,
    Deleted,
    Disturbed,
    Failed,
    Fault,
    History,
    Joined,
    Looked,
    Phase,
    Read,
    Sent,
    Tail,
    Unknown,
    decode,
    encode,
    load,
    save,
)

TP = TopicPartition("story", 3)
ONE_OF_EACH = (
    Sent(0.5, "p-1", TP, "v1"),
    Acked(0.75, "p-1", TP, "v1", 41),
    Acked(0.75, "p-1", TP, "v2", None),
    Failed(1.0, "p-1", TP, "v3", "MSG_SIZE_TOO_LARGE"),
    Unknown(1.0, "p-1", TP, "v4", "no answer in 30 s"),
    Fault(1.5, "SIGKILL broker 2"),
    Read(2.0, "reader", TP, 41, "v1"),
    Tail(2.5, "reader", TP, 42, 42),
    Tail(2.5, "reader", TP, 42, None),
    Disturbed(3.0, "kill-leader", Phase.INJECT, "2"),
    Joined(0.0, "p-2", idempotent=False),
    Deleted(4.0, "churn-1"),
    Created(4.5, "churn-1"),
    Looked(5.0, "reader", TP, 4.5, 42),
)


@pytest.mark.parametrize("op", ONE_OF_EACH, ids=lambda op: type(op).__name__)
def test_an_op_survives_its_line(op):
    line = encode(op)
    assert "\n" not in line
    back = decode(line)
    assert back == op
    assert type(back) is type(op)


def test_a_decoded_partition_is_a_partition_again():
    assert str(decode(encode(ONE_OF_EACH[0])).partition) == "story-3"


def test_a_file_gives_back_what_was_saved(tmp_path):
    path = tmp_path / "history.jsonl"
    save(path, ONE_OF_EACH)
    assert tuple(load(path)) == ONE_OF_EACH
    assert len(path.read_text().splitlines()) == len(ONE_OF_EACH)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"op":"eaten","time":1}', "op is 'eaten', expected one of sent"),
        ('{"op":"fault","time":1}', "fault has the keys"),
        ("not json", "Expecting value"),
    ],
)
def test_a_broken_line_is_named_with_its_file_and_number(tmp_path, line, said):
    path = tmp_path / "history.jsonl"
    path.write_text(encode(ONE_OF_EACH[0]) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=said) as error:
        list(load(path))
    assert str(error.value).startswith(f"{path}:2: ")


def test_a_history_counts_time_from_its_own_start():
    ticks = iter([100.0, 100.25, 103.5])
    history = History(lambda: next(ticks))
    assert history.now() == 0.25
    history.fault("SIGSTOP broker 1")
    assert history.ops() == (Fault(3.5, "SIGSTOP broker 1"),)
