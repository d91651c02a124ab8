"""What a broker can write, the analysis can read: every row of the table, with values drawn at random."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.model.brokers import Broker, Endpoint
from cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionVersion
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from cluster.model.requests import LeaderAndIsrPartition, StopReplicaPartition, UpdateMetadataPartition
from cluster.model.statechange.leadership import Leadership
from cluster.model.statechange.reader import read_message
from cluster.model.statechange.table import OURS, TABLE
from cluster.model.statechange.template import Speaker, Template
from cluster.model.statechange.values import write_node

ids = st.integers(0, 99).map(BrokerId)
id_lists = st.lists(ids, max_size=4, unique=True).map(tuple)
words = st.from_regex(r"[A-Za-z]{1,12}", fullmatch=True)
texts = st.lists(words, min_size=1, max_size=3).map(" ".join)
partitions = st.builds(
    TopicPartition, st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True), st.integers(0, 999)
)
leaderships = st.builds(
    LeaderAndIsr,
    st.integers(-2, 9).map(BrokerId),
    st.integers(0, 99).map(LeaderEpoch),
    id_lists,
    st.integers(0, 99).map(PartitionVersion),
)
states = st.builds(PartitionState, leaderships, st.integers(1, 99).map(ControllerEpoch))
assignments = st.builds(Assignment, id_lists, id_lists, id_lists)
nodes = st.builds(
    Broker, ids, st.just(BrokerEpoch(1)), st.just((Endpoint("GRPC", "host-1.a", 19092),)), words
).map(write_node)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-2, 10**6),
    "word": words,
    "flag": st.booleans(),
    "text": texts,
    "uuid": st.from_regex(r"[A-Za-z0-9_-]{22}", fullmatch=True),
    "transition": st.sampled_from(["become-leader", "become-follower"]),
    "topic_partition": partitions,
    "topic_partitions": st.lists(partitions, max_size=3).map(tuple),
    "ids": id_lists,
    "id_array": id_lists,
    "id_set": id_lists,
    "optional_id": st.none() | ids,
    "optional_text": st.none() | words,
    "under_min_isr": st.booleans(),
    "node": nodes,
    "end_point": ids.map(lambda broker: f"BrokerEndPoint(id={broker}, host=a-1:9092)"),
    "assignment": assignments,
    "leader_and_isr": leaderships,
    "leader_isr_and_epoch": states,
    "leader_and_isr_state": st.builds(LeaderAndIsrPartition, partitions, states, assignments, st.booleans()),
    "update_metadata_state": st.builds(UpdateMetadataPartition, partitions, states, id_lists, id_lists),
    "stop_replica_state": st.builds(
        StopReplicaPartition, partitions, st.integers(-2, 99).map(LeaderEpoch), st.booleans()
    ),
}
PREFIXES = {
    Speaker.CONTROLLER: ("[Controller id=1 epoch=3] ", "Controller 1 epoch 3 "),
    Speaker.CONTROLLER_WITHOUT_EPOCH: ("[Controller id=1] ",),
    Speaker.BROKER: ("[Broker id=1] ", "Broker 1 "),
    Speaker.NOBODY: ("",),
}


def name(template: Template) -> str:
    return f"{template.kind.value}-{'.'.join(map(str, template.since))}"


@pytest.mark.parametrize("template", TABLE, ids=name)
@settings(max_examples=5)
@given(data=st.data())
def test_every_row_renders_and_reads_back(template: Template, data: st.DataObject) -> None:
    values = {field: data.draw(VALUES[shape.name], field) for field, shape in template.formats.items()}
    body = template.write(values)
    expected = {field: template.formats[field].write(value) for field, value in values.items()}
    for prefix in PREFIXES[template.speaker]:
        # Up to 0.11 the sentence begins with a small letter.
        small = prefix and not prefix.startswith("[")
        message = read_message(prefix + (body[0].lower() + body[1:] if small else body))
        assert message.kind == template.kind
        for field, spelled in expected.items():
            if field != "speaker_id":
                assert message.values[field] == template.formats[field].read(spelled)


def test_nothing_is_lost_between_writer_and_reader() -> None:
    for template in TABLE:
        assert template.formats.keys() <= {*template.formats, *template.constants}
        for field, shape in template.formats.items():
            assert shape.name in VALUES, f"{template.kind} has a field {field} that no test draws"


def test_a_leadership_is_read_as_one() -> None:
    message = read_message(
        "[Controller id=0 epoch=1] Changed partition t-0 from NewPartition to OnlinePartition "
        "with state LeaderAndIsr(leader=0, leaderEpoch=0, isr=List(0), zkVersion=0)"
    )
    assert message.values["leadership"] == Leadership(0, 0, (0,), 0)


def test_ours_are_rows_of_release_2_8_and_no_two_are_alike() -> None:
    assert all(template.is_ours for template in OURS.values())
    assert len({template.text for template in OURS.values()}) == len(OURS)
