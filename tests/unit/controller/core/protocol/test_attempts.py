from __future__ import annotations

import pytest

from barnabas.controller.core.protocol.attempts import Failed, attempt
from barnabas.controller.core.protocol.effects import InterruptedDecisionError, Interruption, LogInfo


def step(failure=None):
    yield LogInfo("begun")
    if failure is not None:
        raise failure
    yield LogInfo("done")
    return 7


def result_of(trying):
    """What it comes to, and what it yields on the way."""
    yielded = []
    while True:
        try:
            yielded.append(next(trying))
        except StopIteration as end:
            return end.value, yielded


def test_a_step_is_taken_to_its_end():
    assert result_of(attempt("it", step())) == (7, [LogInfo("begun"), LogInfo("done")])


def test_a_failure_is_said_and_left():
    said = LogInfo("went on without it: OSError: no such luck")
    failed = Failed("OSError: no such luck")
    assert result_of(attempt("it", step(OSError("no such luck")))) == (failed, [LogInfo("begun"), said])


def test_an_answer_that_is_an_error_fails_the_step():
    trying = attempt("it", step())
    next(trying)
    assert trying.throw(KeyError("gone")) == LogInfo("went on without it: KeyError: 'gone'")


def test_the_loss_of_the_controllership_ends_all_steps():
    with pytest.raises(InterruptedDecisionError):
        list(attempt("it", step(InterruptedDecisionError(Interruption.CONTROLLER_MOVED))))
