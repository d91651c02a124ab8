"""The tables of kafka-consumer-groups.sh; the lines are those of Kafka 2.8.2's tool."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.groups import Group, GroupMember
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.consumer_groups.consumer_group_tables import (
    assignment_text,
    deleted_offsets_table,
    deletion_lines,
    listing,
    members_table,
    notice,
    offset_rows,
    offsets_table,
    reset_table,
    state_table,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
ID = "inst-bbe07dd2-1cf6-438b-a6d5-1aeb81f34dc9"
MEMBER = GroupMember(ID, "inst", "/127.0.0.1", "consumer-live-inst", (T1, T0))
LIVE = Group("live", "127.0.0.1:25247 (3)", "Stable", "range", (MEMBER,))
EMPTY = Group("g", "127.0.0.1:25241 (1)", "Empty", "", ())


def test_a_members_offsets() -> None:
    rows = offset_rows(LIVE, {T0: 1, T1: 2}, {T0: 1, T1: 2})
    assert offsets_table(rows) == [
        "",
        (
            "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
            "CONSUMER-ID                               HOST            CLIENT-ID"
        ),
        (
            f"live            t               0          1               1               0               {ID}"
            " /127.0.0.1      consumer-live-inst"
        ),
        (
            f"live            t               1          2               2               0               {ID}"
            " /127.0.0.1      consumer-live-inst"
        ),
    ]


def test_offsets_that_nobody_reads() -> None:
    assert offsets_table(offset_rows(EMPTY, {U0: 2, T0: 1}, {T0: 4, U0: 2})) == [
        "",
        (
            "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
            "CONSUMER-ID     HOST            CLIENT-ID"
        ),
        (
            "g               t               0          1               4               3               "
            "-               -               -"
        ),
        (
            "g               u               0          2               2               0               "
            "-               -               -"
        ),
    ]
    assert offsets_table([]) == []


def test_what_is_not_known_has_no_lag() -> None:
    rows = offset_rows(LIVE, {T1: -1}, {T0: 3, T1: 4})
    assert [(row.partition, row.offset, row.end, row.lag) for row in rows] == [
        ("0", "-", "3", "-"),
        ("1", "-1", "4", "-"),
    ]


def test_members_with_more_partitions_come_first() -> None:
    few = GroupMember("few", "", "/h", "c", (U0,))
    none = GroupMember("none", "", "/h", "c", ())
    rows = offset_rows(Group("g", "", "Stable", "range", (none, few, MEMBER)), {}, {})
    assert [row.member_id for row in rows] == [ID, ID, "few"]


def test_members_of_a_group() -> None:
    assert members_table(LIVE, verbose=True) == [
        "",
        (
            "GROUP           CONSUMER-ID                               GROUP-INSTANCE-ID HOST            "
            "CLIENT-ID          #PARTITIONS     ASSIGNMENT"
        ),
        f"live            {ID} inst              /127.0.0.1      consumer-live-inst 2               t(0,1)",
    ]
    plain = Group("g", "", "Stable", "range", (GroupMember("m", "", "/h", "c", ()),))
    assert members_table(plain, verbose=False) == [
        "",
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ",
        "g               m               /h              c               0               ",
    ]
    assert members_table(plain, verbose=True)[-1].endswith(" 0               -")
    assert members_table(EMPTY, verbose=True) == []


def test_assignments_are_ordered_by_topic() -> None:
    assert assignment_text([U0, T1, T0]) == "t(0,1), u(0)"


def test_the_state_of_a_group() -> None:
    assert state_table(LIVE) == [
        "",
        "GROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS",
        "live                      127.0.0.1:25247 (3)       range                Stable          1",
    ]
    far = Group("g", "a-host-with-a-long-name:9092 (1)", "Empty", "", ())
    assert state_table(far)[1].startswith("GROUP                            COORDINATOR (ID)          ASSIG")


@pytest.mark.parametrize(
    ("state", "text", "is_stderr"),
    [
        ("Dead", "\nError: Consumer group 'g' does not exist.", False),
        ("Empty", "\nConsumer group 'g' has no active members.", True),
        ("PreparingRebalance", "\nWarning: Consumer group 'g' is rebalancing.", True),
        ("CompletingRebalance", "\nWarning: Consumer group 'g' is rebalancing.", True),
    ],
)
def test_the_message_before_the_table(state: str, text: str, is_stderr: bool) -> None:
    assert notice(Group("g", "", state, "", ())) == (text, is_stderr)


def test_a_stable_group_has_none_and_an_unknown_state_is_an_error() -> None:
    assert notice(LIVE) is None
    with pytest.raises(ToolError, match="but found 'Odd'"):
        notice(Group("g", "", "Odd", "", ()))


def test_groups_and_their_states() -> None:
    assert listing({"g": "Empty", "console-consumer-60380": "Stable"}) == [
        "GROUP                  STATE",
        "g                      Empty",
        "console-consumer-60380 Stable",
    ]
    assert listing({}) == ["GROUP           STATE"]


def test_new_offsets() -> None:
    assert reset_table({"g": {T0: 0, T1: 12}}) == [
        "",
        "GROUP                          TOPIC                          PARTITION  NEW-OFFSET     ",
        "g                              t                              0          0              ",
        "g                              t                              1          12             ",
    ]
    assert len(reset_table({"g": {}})) == 2
    assert reset_table({}) == []


def test_deleted_groups() -> None:
    assert deletion_lines({"g": None, "h": None}) == [
        "Deletion of requested consumer groups ('g', 'h') was successful."
    ]
    assert deletion_lines({"live": "Not.Empty: no", "g": None}) == [
        "\nError: Deletion of some consumer groups failed:",
        "* Group 'live' could not be deleted due to: Not.Empty: no",
        "\nThese consumer groups were deleted successfully: 'g'",
    ]
    assert len(deletion_lines({"live": "no"})) == 2


def test_deleted_offsets() -> None:
    assert deleted_offsets_table({U0: None, T0: "no", TopicPartition("nix", -1): "what"}) == [
        "",
        "TOPIC                          PARTITION       STATUS         ",
        "nix                            Not Provided    Error: what    ",
        "t                              0               Error: no      ",
        "u                              0               Successful     ",
    ]
