"""A receiver of webhooks for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as kept:
        yield kept
