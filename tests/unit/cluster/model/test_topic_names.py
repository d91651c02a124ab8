from __future__ import annotations

import pytest

from cluster.model.topic_names import INTERNAL_TOPICS, MAX_NAME_CHARACTERS, fault


@pytest.mark.parametrize(
    "name", ["orders", "a", "A.b_c-9", "...", "x" * MAX_NAME_CHARACTERS, *INTERNAL_TOPICS]
)
def test_a_legal_name_has_no_fault(name):
    assert fault(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "a\n", "x" * (MAX_NAME_CHARACTERS + 1)])
def test_a_fault_is_said(name):
    assert fault(name)
