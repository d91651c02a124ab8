from __future__ import annotations

from barnabas.cluster.model.commands.elections import ElectionResult, ElectionType
from barnabas.cluster.model.errors import ErrorCode


def test_the_types_have_the_numbers_of_the_wire_and_kafkas_names():
    kafkas = {kind.name: kind.value for kind in ElectionType if kind is not ElectionType.DAMAGED_LEADER}
    assert kafkas == {"PREFERRED": 0, "UNCLEAN": 1}


def test_without_an_election_there_is_no_leader():
    assert ElectionResult(ErrorCode.ELECTION_NOT_NEEDED).leader == -1
