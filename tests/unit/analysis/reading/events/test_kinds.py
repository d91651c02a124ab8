"""Each kind of line has one name, whichever table lists it."""

from __future__ import annotations

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import CompanionKind, OtherKind
from barnabas.cluster.model.statechange import Kind


def test_no_two_kinds_of_line_have_one_name() -> None:
    names = [kind.value for kinds in (Kind, OtherKind, CompanionKind, BrokerKind) for kind in kinds]
    assert len(set(names)) == len(names)
