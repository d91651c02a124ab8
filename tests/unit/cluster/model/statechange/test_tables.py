"""The tables of lines: each line is of release 2.8, by the right speaker, and each kind has one."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.statechange.broker_table import BROKER_TABLE
from barnabas.cluster.model.statechange.controller_table import CONTROLLER_TABLE
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.leader_and_isr_table import LEADER_AND_ISR_TABLE
from barnabas.cluster.model.statechange.table import OURS
from barnabas.cluster.model.statechange.template import Speaker


@pytest.mark.parametrize(
    ("table", "speakers"),
    [
        (BROKER_TABLE, {Speaker.BROKER}),
        (LEADER_AND_ISR_TABLE, {Speaker.BROKER}),
        (CONTROLLER_TABLE, {Speaker.CONTROLLER, Speaker.CONTROLLER_WITHOUT_EPOCH}),
    ],
    ids=["broker", "LeaderAndIsr", "controller"],
)
def test_only_these_speak_in_a_table_in_the_words_of_2_8(table, speakers) -> None:
    assert {template.speaker for template in table} == speakers
    assert all(template.is_ours for template in table)


def test_every_kind_has_a_row() -> None:
    assert {kind for kind, _ in OURS} == set(Kind)
