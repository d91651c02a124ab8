"""Each line of a broker is of the release that we are."""

from __future__ import annotations

from barnabas.cluster.model.statechange.broker_table import BROKER_TABLE
from barnabas.cluster.model.statechange.template import Speaker


def test_only_a_broker_speaks_here_in_the_words_of_2_8() -> None:
    assert {template.speaker for template in BROKER_TABLE} == {Speaker.BROKER}
    assert all(template.is_ours for template in BROKER_TABLE)
