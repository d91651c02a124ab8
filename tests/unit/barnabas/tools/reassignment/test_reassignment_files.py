"""The files of kafka-reassign-partitions.sh: read, refused and written."""

from __future__ import annotations

import json

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.reassignment import reassignment_files as files

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def moves(*partitions: dict[str, object], **more: object) -> str:
    return json.dumps({"partitions": partitions, **more})


def move(partition: int = 0, replicas: object = (1, 2), **more: object) -> dict[str, object]:
    return {"topic": "t", "partition": partition, "replicas": replicas, **more}


def test_moves_are_read_with_and_without_a_version_and_log_dirs() -> None:
    text = moves(move(), move(1, [3], log_dirs=["any"]), version=1)
    assert files.parse_moves(text) == {T0: (1, 2), T1: (3,)}
    assert files.parse_moves(moves(move())) == {T0: (1, 2)}


def test_targets_of_old_may_be_none_or_named_twice() -> None:
    assert files.parse_targets("{}") == {}
    assert files.parse_targets(moves(move(), move(replicas=[1, 1]), move(1, []))) == {T0: (1, 1), T1: ()}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{}", "Partition reassignment list cannot be empty"),
        (moves(move(replicas=[])), "Partition replica list cannot be empty"),
        (moves(move(replicas=["1"])), "'replicas' of t-0 holds ['1']; expected a list of numbers"),
        (moves(move(), move()), "Partition reassignment contains duplicate topic partitions: t-0"),
        (
            moves(move(replicas=[1, 2, 1])),
            "Partition replica lists may not contain duplicate entries: t-0 contains multiple entries for 1",
        ),
        (
            moves(move(log_dirs=["any"])),
            r"Size of replicas list [1, 2] is different from size of log dirs list ['any'] for partition t-0",
        ),
        (
            moves(move(log_dirs=["any", 7])),
            "The log dirs ['any', 7] of partition t-0 are no paths",
        ),
    ],
)
def test_moves_that_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(ToolError) as refused:
        files.parse_moves(text)
    assert complaint in str(refused.value)


def test_log_directories_are_read_for_replicas_that_must_lie_there() -> None:
    text = moves(move(log_dirs=["any", "/d"]), move(1, [3], log_dirs=["/e"]), move(2, [3]))
    found = files.parse_log_dirs(text)
    assert found == {files.Replica("t", 0, 2): "/d", files.Replica("t", 1, 3): "/e"}
    assert sorted(map(str, found)) == ["t-0-2", "t-1-3"]


def test_topics_and_brokers() -> None:
    assert files.parse_topics('{"topics": [{"topic": "b"}, {"topic": "a"}], "version": 1}') == ["b", "a"]
    with pytest.raises(ToolError, match="duplicate entries: a"):
        files.parse_topics('{"topics": [{"topic": "a"}, {"topic": "a"}]}')
    with pytest.raises(ToolError, match="expected a 'topic'"):
        files.parse_topics('{"topics": [{"name": "a"}]}')
    assert files.parse_brokers("3,1") == [3, 1]
    with pytest.raises(ToolError, match="Broker list contains duplicate entries: 1"):
        files.parse_brokers("1,2,1")
    with pytest.raises(ToolError, match=r"'1,x' is not of the form 1,2,3"):
        files.parse_brokers("1,x")


def test_what_is_written_can_be_read_again() -> None:
    text = files.render({T1: (3,), T0: (1, 2)})
    assert text == (
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2],"log_dirs":["any","any"]},'
        '{"topic":"t","partition":1,"replicas":[3],"log_dirs":["any"]}]}'
    )
    assert files.parse_moves(text) == {T0: (1, 2), T1: (3,)}


def test_a_proposal_places_each_topic_as_a_new_one_would_be() -> None:
    current = {T0: (1, 2), T1: (2, 1), TopicPartition("u", 0): (1,)}
    proposed = files.propose(current, dict.fromkeys((5, 4, 3)), lambda: 0.0)
    assert proposed == {T0: (3, 4), T1: (4, 5), TopicPartition("u", 0): (3,)}
    by_rack = files.propose(current, {3: "a", 4: "a", 5: "b"}, lambda: 0.0)
    assert {tp: {"ab"[r == 5] for r in replicas} for tp, replicas in by_rack.items()} == {
        T0: {"a", "b"},
        T1: {"a", "b"},
        TopicPartition("u", 0): {"a"},
    }


def test_proposals_that_cannot_be_made() -> None:
    with pytest.raises(ToolError, match="Replication factor: 2 larger than available brok"):
        files.propose({T0: (1, 2)}, {3: None}, lambda: 0.0)
    with pytest.raises(ToolError, match="Not all brokers have rack information"):
        files.propose({T0: (1, 2)}, {3: None, 4: "a"}, lambda: 0.0)
