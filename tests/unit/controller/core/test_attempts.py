from __future__ import annotations

import pytest

from controller.core.attempts import attempt
from controller.core.effects import BREATHE, Explain, InterruptedDecisionError, Interruption
from controller.core.reasons import StepFailed


def step(failure=None):
    yield BREATHE
    if failure is not None:
        raise failure
    yield BREATHE


def test_a_step_is_taken_to_its_end():
    assert list(attempt("it", step())) == [BREATHE, BREATHE]


def test_a_failure_is_said_and_left():
    said = Explain(StepFailed("it", "OSError: no such luck"))
    assert list(attempt("it", step(OSError("no such luck")))) == [BREATHE, said]


def test_an_answer_that_is_an_error_fails_the_step():
    trying = attempt("it", step())
    next(trying)
    assert trying.throw(KeyError("gone")) == Explain(StepFailed("it", "KeyError: 'gone'"))


def test_the_end_of_a_reign_ends_all_steps():
    with pytest.raises(InterruptedDecisionError):
        list(attempt("it", step(InterruptedDecisionError(Interruption.CONTROLLER_MOVED))))
