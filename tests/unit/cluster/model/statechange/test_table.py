"""What a broker can write can be read: every row of the table, with values drawn at random."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.statechange.broker_table import BROKER_TABLE
from barnabas.cluster.model.statechange.controller_table import CONTROLLER_TABLE
from barnabas.cluster.model.statechange.leader_and_isr_table import LEADER_AND_ISR_TABLE
from barnabas.cluster.model.statechange.leadership import Leadership
from barnabas.cluster.model.statechange.reader import read_message
from barnabas.cluster.model.statechange.table import OURS
from barnabas.cluster.model.statechange.template import Speaker, Template

PREFIXES = {
    Speaker.CONTROLLER: "[Controller id=1 epoch=3] ",
    Speaker.CONTROLLER_WITHOUT_EPOCH: "[Controller id=1] ",
    Speaker.BROKER: "[Broker id=1] ",
}


def name(template: Template) -> str:
    return f"{template.kind.value}-{'.'.join(map(str, template.since))}"


@pytest.mark.parametrize("template", OURS.values(), ids=name)
@settings(max_examples=5)
@given(data=st.data())
def test_every_row_renders_and_reads_back(
    template: Template, line_values: dict[str, st.SearchStrategy[Any]], data: st.DataObject
) -> None:
    values = {field: data.draw(line_values[shape.name], field) for field, shape in template.formats.items()}
    message = read_message(PREFIXES[template.speaker] + template.write(values))
    assert message.kind == template.kind
    for field, value in values.items():
        shape = template.formats[field]
        assert message.values[field] == shape.read(shape.write(value))


def test_a_leadership_is_read_as_one() -> None:
    message = read_message(
        "[Controller id=0 epoch=1] Changed partition t-0 from NewPartition to OnlinePartition "
        "with state LeaderAndIsr(leader=0, leaderEpoch=0, isr=List(0), zkVersion=0)"
    )
    assert message.values["leadership"] == Leadership(0, 0, (0,), 0)


def test_all_are_rows_of_release_2_8_and_no_two_have_the_same_kind_and_fields() -> None:
    rows = (*CONTROLLER_TABLE, *LEADER_AND_ISR_TABLE, *BROKER_TABLE)
    assert all(template.is_ours and template.speaker in PREFIXES for template in rows)
    assert len(OURS) == len(rows) == len({template.text for template in rows})
