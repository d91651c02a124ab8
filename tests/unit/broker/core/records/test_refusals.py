from __future__ import annotations

import pytest

from barnabas.broker.core.records.refusals import Reason, Refusal
from barnabas.cluster.model.errors import ErrorCode


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_an_error_and_a_meaning_of_its_own(reason):
    assert reason.error is not ErrorCode.NONE
    assert [other for other in Reason if other.meaning == reason.meaning] == [reason]


def test_a_refusal_says_what_was_found():
    refusal = Refusal(Reason.TOO_LARGE, "90 bytes, expected 80 or less")
    assert refusal.error is ErrorCode.MESSAGE_TOO_LARGE
    assert str(refusal) == "the batch is larger than max.message.bytes: 90 bytes, expected 80 or less"
