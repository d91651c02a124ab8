"""A row's text is both what is written and what is read."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.model.statechange.template import Speaker, row

ROW = row(
    Kind.PARTITION_NEW,
    Speaker.CONTROLLER,
    "TRACE, INFO from 2.6",
    "1.0+",
    "Changed partition <tp> state from <from> to <to=NewPartition> with assigned replicas <replicas:ids>",
)


def test_fields_are_filled_in_and_constants_stay() -> None:
    text = ROW.write({"tp": TopicPartition("a-b", 0), "from": "NonExistentPartition", "replicas": (1, 2)})
    assert text == (
        "Changed partition a-b-0 state from NonExistentPartition to NewPartition with assigned replicas 1,2"
    )
    assert ROW.read(text) == {
        "tp": TopicPartition("a-b", 0),
        "from": "NonExistentPartition",
        "to": "NewPartition",
        "replicas": (1, 2),
    }


def test_another_text_is_not_read() -> None:
    assert ROW.read("Changed partition a-0 state from OnlinePartition to OfflinePartition") is None


def test_a_missing_and_a_needless_field_are_named() -> None:
    with pytest.raises(ValueError, match=r"has the fields \['from', 'replicas', 'tp'\], not \['leader'\]"):
        ROW.write({"leader": 1})


def test_the_level_changes_with_the_release() -> None:
    assert [ROW.level_in(moment) for moment in ((1, 0), (2, 5, 1), (2, 6), (3, 9))] == [
        Level.TRACE,
        Level.TRACE,
        Level.INFO,
        Level.INFO,
    ]


@pytest.mark.parametrize(
    ("releases", "ours"),
    [("2.6+", True), ("2.8", True), ("2.6 to 3.7", True), ("1.0 to 2.7", False), ("3.0+", False)],
)
def test_a_row_is_ours_where_its_releases_take_in_2_8(releases: str, ours: bool) -> None:
    assert row(Kind.METADATA_DELETED, Speaker.BROKER, "INFO", releases, "Elected <leader>").is_ours is ours
