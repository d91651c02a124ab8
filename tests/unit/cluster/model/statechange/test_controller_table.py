"""Each line of a controller is of the release that we are."""

from __future__ import annotations

from barnabas.cluster.model.statechange.controller_table import CONTROLLER_TABLE
from barnabas.cluster.model.statechange.template import Speaker


def test_only_a_controller_speaks_here_in_the_words_of_2_8() -> None:
    assert {template.speaker for template in CONTROLLER_TABLE} == {
        Speaker.CONTROLLER,
        Speaker.CONTROLLER_WITHOUT_EPOCH,
    }
    assert all(template.is_ours for template in CONTROLLER_TABLE)
