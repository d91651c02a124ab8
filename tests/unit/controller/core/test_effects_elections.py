from __future__ import annotations

import dataclasses

import pytest

from barnabas.controller.core import effects_elections
from barnabas.controller.core.effects import Ask, Effect

KINDS = [
    kind
    for kind in vars(effects_elections).values()
    if isinstance(kind, type) and issubclass(kind, Effect) and kind not in {Ask, Effect}
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_effect_is_frozen_and_says_what_it_is(kind):
    assert kind.__dataclass_params__.frozen
    assert kind.__doc__


def test_every_write_shows_its_reign():
    writes = [kind for kind in KINDS if issubclass(kind, Ask) and not kind.__name__.startswith("Read")]
    assert [kind.__name__ for kind in writes] == ["DeletePreferredReplicaElection"]
    assert all("reign" in {f.name for f in dataclasses.fields(kind)} for kind in writes)
