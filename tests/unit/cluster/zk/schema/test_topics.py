from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.zk.schema.body import ZnodeDecodeError, encode_json
from barnabas.cluster.zk.schema.topics import (
    TopicAssignment,
    decode_state,
    decode_topic,
    encode_state,
    encode_topic,
)

ONE, TWO, THREE, FOUR = (BrokerId(n) for n in range(1, 5))
TP = TopicPartition("t", 0)


def test_a_topic_is_written_as_version_2() -> None:
    partitions = {0: Assignment((ONE, TWO, THREE)), 1: Assignment((FOUR, TWO, ONE), (FOUR,), (ONE,))}
    assert json.loads(encode_topic(partitions)) == {
        "version": 2,
        "partitions": {"0": [1, 2, 3], "1": [4, 2, 1]},
        "adding_replicas": {"1": [4]},
        "removing_replicas": {"1": [1]},
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"version":1,"partitions":{"0":[1,2,3]}}', TopicAssignment({0: Assignment((ONE, TWO, THREE))})),
        (
            b'{"version":2,"partitions":{"0":[4,1]},"adding_replicas":{"0":[4]},"removing_replicas":{"0":[1]}}',
            TopicAssignment({0: Assignment((FOUR, ONE), (FOUR,), (ONE,))}),
        ),
        (
            b'{"version":3,"partitions":{},"adding_replicas":{},"removing_replicas":{},"topic_id":"x"}',
            TopicAssignment({}, "x"),
        ),
    ],
)
def test_a_topic_of_every_version_is_read(body: bytes, expected: TopicAssignment) -> None:
    assert decode_topic("t", body) == expected


def test_a_topic_id_is_not_lost() -> None:
    body = encode_topic({0: Assignment((ONE,))}, "6jTmzoXLQ3qqdmR0Nll5Pg")
    assert json.loads(body)["version"] == 3
    assert decode_topic("t", body, 5) == TopicAssignment({0: Assignment((ONE,))}, "6jTmzoXLQ3qqdmR0Nll5Pg", 5)


def test_a_malformed_topic_names_its_path() -> None:
    with pytest.raises(ZnodeDecodeError, match=r"/brokers/topics/t holds .*'partitions'"):
        decode_topic("t", b'{"version":2,"partitions":{"x":[1]}}')


def test_a_state_as_kafka_writes_it() -> None:
    body = b'{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1,2,3]}'
    state = LeaderAndIsr.initial(ONE, (ONE, TWO, THREE))
    assert json.loads(encode_state(state, ControllerEpoch(1))) == json.loads(body)
    assert decode_state(TP, body, 0) == PartitionState(state, ControllerEpoch(1))


def test_a_state_of_a_later_release_is_read() -> None:
    body = (
        b'{"version":1,"leader":-1,"leader_epoch":3,"controller_epoch":2,"isr":[2],"leader_recovery_state":1}'
    )
    state = LeaderAndIsr(NO_LEADER, LeaderEpoch(3), (TWO,), PartitionVersion(9))
    assert decode_state(TP, body, 9) == PartitionState(state, ControllerEpoch(2))


@pytest.mark.parametrize(
    "body",
    [
        b'{"controller_epoch":1, "leader":2,"version":1,"leader_epoch":3,"isr":[2,1]}',
        b'{"leader":2,"version":1,"controller_epoch":1,"leader_epoch":3,"isr":[2,1]}',
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":3,"isr":[2,1],"more":0}',
        b'{"controller_epoch":"1","leader":2,"version":1,"leader_epoch":3,"isr":[2,1]}',
    ],
)
def test_a_state_written_by_hand_is_read_as_json(body: bytes) -> None:
    state = LeaderAndIsr(TWO, LeaderEpoch(3), (TWO, ONE), PartitionVersion(4))
    assert decode_state(TP, body, 4) == PartitionState(state, ControllerEpoch(1))


@pytest.mark.parametrize(
    "body",
    [
        b'{"controller_epoch":01,"leader":2,"version":1,"leader_epoch":3,"isr":[2,1]}',
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":3,"isr":[2,1]',
        b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":3,"isr":[2,]}',
    ],
)
def test_what_only_looks_like_a_state_is_none(body: bytes) -> None:
    with pytest.raises(ZnodeDecodeError):
        decode_state(TP, body, 0)


@pytest.mark.parametrize("number", [2**31, 2**32, -3])
@pytest.mark.parametrize("field", ["controller_epoch", "leader", "leader_epoch", "isr"])
def test_a_number_that_kafka_cannot_hold_is_refused(number: int, field: str) -> None:
    text = "9" * 5000 if number > 2**31 else str(number)
    fields = {"controller_epoch": "1", "leader": "1", "version": "1", "leader_epoch": "1", "isr": "[1]"}
    fields[field] = f"[{text}]" if field == "isr" else text
    body = "{" + ",".join(f'"{key}":{value}' for key, value in fields.items()) + "}"
    with pytest.raises(ZnodeDecodeError):
        decode_state(TP, body.encode(), 0)


@pytest.mark.parametrize(
    "partitions",
    ['{"2147483648":[1]}', '{"%s":[1]}' % ("9" * 5000), '{"0":[2147483648]}', '{"0":[-1]}', '{"0":[true]}'],
)
def test_a_topic_of_numbers_that_kafka_cannot_hold_is_refused(partitions: str) -> None:
    with pytest.raises(ZnodeDecodeError, match="in field 'partitions'"):
        decode_topic("t", b'{"version":2,"partitions":%b}' % partitions.encode())


def test_a_malformed_state_names_its_path() -> None:
    with pytest.raises(ZnodeDecodeError, match=r"/brokers/topics/t/partitions/0/state holds .*'leader'"):
        decode_state(TP, b'{"version":1}', 0)


epochs = st.integers(0, 2**31 - 1)
broker_ids = st.integers(0, 2**31 - 1).map(BrokerId)
replicas = st.lists(broker_ids, max_size=5, unique=True).map(tuple)
assignments = st.builds(Assignment, replicas, replicas, replicas)


@given(st.dictionaries(st.integers(0, 2**31 - 1), assignments), st.none() | st.text(min_size=1))
def test_a_topic_survives_the_round_trip(partitions: dict[int, Assignment], topic_id: str | None) -> None:
    assert decode_topic("t", encode_topic(partitions, topic_id), 3) == TopicAssignment(
        partitions, topic_id, 3
    )


@given(st.integers(-2, 2**31 - 1), epochs, replicas, st.integers(0, 2**31), epochs)
def test_a_state_survives_the_round_trip(
    leader: int, epoch: int, isr: tuple[BrokerId, ...], version: int, controller_epoch: int
) -> None:
    state = LeaderAndIsr(BrokerId(leader), LeaderEpoch(epoch), isr, PartitionVersion(version))
    reign = ControllerEpoch(controller_epoch)
    body = encode_state(state, reign)
    assert body == encode_json(
        {
            "controller_epoch": reign,
            "leader": leader,
            "version": 1,
            "leader_epoch": epoch,
            "isr": list(isr),
        }
    )
    assert decode_state(TP, body, version) == PartitionState(state, reign)
