"""The error table against an independent one: the codes that kio generates from Kafka's sources."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from barnabas.cluster.model.errors import ErrorCode


@pytest.mark.parametrize("error", list(ErrorCode), ids=lambda error: error.name)
def test_number_name_and_retriability_are_kafkas(error: ErrorCode) -> None:
    theirs = KioErrorCode(int(error))
    assert theirs.name.upper() == error.name
    assert theirs.retriable == error.retriable
    assert error.meaning


def test_a_number_gives_its_error() -> None:
    assert ErrorCode(41) is ErrorCode.NOT_CONTROLLER
    assert ErrorCode.from_code(41) is ErrorCode.NOT_CONTROLLER


def test_an_unknown_number_of_a_later_release_is_an_unknown_server_error() -> None:
    assert ErrorCode.from_code(9999) is ErrorCode.UNKNOWN_SERVER_ERROR
