from __future__ import annotations

import pytest

from barnabas.cluster.model.topic_names import INTERNAL_TOPICS, MAX_NAME_LENGTH, fault


@pytest.mark.parametrize(
    "name", ["orders", "a", "A.b_c-9", "...", "x" * MAX_NAME_LENGTH, *sorted(INTERNAL_TOPICS)]
)
def test_a_legal_name_has_no_fault(name):
    assert fault(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "a\n", "x" * (MAX_NAME_LENGTH + 1)])
def test_a_fault_is_said(name):
    assert fault(name)
