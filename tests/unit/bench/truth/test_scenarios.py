from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.bench.truth.scenarios import BROKERS, CONTROLLER, SILENT, Action, Step, draw, resolved

SESSION_S = 2.5


@given(st.integers(0, 10_000))
def test_a_seed_gives_one_to_four_steps_that_the_cluster_can_take(seed: int) -> None:
    scenario = draw(seed, SESSION_S)
    assert scenario == draw(seed, SESSION_S)
    assert 1 <= len(scenario.steps) <= 4
    for step in scenario.steps:
        assert step.victims
        assert set(step.victims) <= {CONTROLLER, *BROKERS}
        assert step.away_s > SESSION_S or step.action not in SILENT
        assert not (step.stays_away and step.is_rolling)


def test_a_hundred_seeds_have_every_action_and_every_form() -> None:
    steps = [step for seed in range(1, 101) for step in draw(seed, SESSION_S).steps]
    assert {step.action for step in steps} == set(Action)
    assert {len(step.victims) for step in steps} == {1, 2, 3}
    assert {step.action for step in steps if len(step.victims) > 1} == set(Action)
    assert any(step.is_rolling for step in steps)
    assert any(step.stays_away for step in steps)
    assert any(CONTROLLER in step.victims for step in steps)


def test_only_the_given_actions_are_drawn() -> None:
    assert {step.action for seed in range(20) for step in draw(seed, 1.0, [Action.STOP]).steps} == {
        Action.STOP
    }


def test_victims_are_those_that_run_and_the_controller_is_one_of_them() -> None:
    assert resolved(Step(Action.KILL, (CONTROLLER, 2, 3)), 2, (1, 2)) == (2,)
    assert resolved(Step(Action.KILL, (CONTROLLER,)), None, BROKERS) == ()
