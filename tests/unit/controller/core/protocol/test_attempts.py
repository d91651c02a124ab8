from __future__ import annotations

import pytest

from barnabas.controller.core.protocol.attempts import TOGETHER, Failed, attempt, attempt_together
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


def test_many_items_are_one_step_and_very_many_are_a_few():
    seen = []

    def take(some):
        seen.append(some)
        yield LogInfo("begun")
        return len(some)

    items = range(TOGETHER + 3)
    outcomes, _ = result_of(attempt_together("the item", items, take))
    assert outcomes == [(some, len(some)) for some in seen]
    assert [item for some in seen for item in some] == list(items)
    assert len(seen) == 2


def test_an_item_that_fails_costs_itself_alone():
    def take(some):
        yield from ()
        if 2 in some:
            raise OSError("no such luck")
        return "done"

    outcomes, said = result_of(attempt_together("the item", (1, 2, 3), take))
    failed = Failed("OSError: no such luck")
    assert outcomes == [((1,), "done"), ((2,), failed), ((3,), "done")]
    assert [line.line for line in said] == [
        "went on without the item 1, 2, 3: OSError: no such luck",
        "went on without the item 2: OSError: no such luck",
    ]


def test_one_item_is_tried_once():
    tried = []

    def take(some):
        yield from ()
        tried.append(some)
        raise OSError("no such luck")

    outcomes, _ = result_of(attempt_together("the item", (1,), take))
    assert outcomes == [((1,), Failed("OSError: no such luck"))]
    assert tried == [(1,)]
