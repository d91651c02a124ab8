from __future__ import annotations

import pytest

from barnabas.cluster.model.steps import at_once


def test_calls_are_made_and_their_results_sent():
    def steps():
        first = yield lambda: 20
        assert (yield None) is None
        return first + (yield lambda: 22)

    assert at_once(steps()) == 42


def test_what_the_work_raises_is_raised():
    def steps():
        yield None
        raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        at_once(steps())
