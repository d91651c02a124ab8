"""Random scenarios: faults of a cluster of three brokers, drawn from a seed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

CONTROLLER = 0
"""The victim that stands for the controller of that moment; brokers are numbered from 1."""

BROKERS = (1, 2, 3)


class Action(StrEnum):
    """The faults; the value is the name in recordings."""

    KILL = "kill"
    """The process gets SIGKILL, and is started later."""
    STOP = "stop"
    """The process gets SIGTERM, and is started later."""
    PAUSE = "pause"
    """The process gets SIGSTOP, and SIGCONT after its ZooKeeper session or KRaft registration has ended."""
    EXPIRE = "expire"
    """The ZooKeeper session ends while the process keeps running."""
    CUT = "cut"
    """ZooKeeper and the other brokers do not hear of it until after its session has ended; clients do."""
    DISK = "disk"
    """One of its log directories is gone; it comes back while the broker is restarted by SIGTERM."""


SILENT = (Action.PAUSE, Action.CUT)
"""The actions that last until a session has ended, while the process lives on."""


@dataclass(frozen=True, slots=True)
class Step:
    """A fault and its end.

    Attributes:
        action: What is done.
        victims: The brokers, which may be ``CONTROLLER``.
        is_rolling: Whether each victim is back before the next one is taken; otherwise all at once.
        away_s: Seconds from the fault to the start, SIGCONT, the end of the cut or the repair.
        stays_away: Whether the victims return only at the end of the next step, or not at all after the last.
        rest_s: Seconds from the return to the next step.
    """

    action: Action
    victims: tuple[int, ...]
    is_rolling: bool = False
    away_s: float = 0.0
    stays_away: bool = False
    rest_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps, one after the other.

    Attributes:
        seed: The seed from which it was drawn.
        steps: One to four steps.
    """

    seed: int
    steps: tuple[Step, ...]


_MOST_STEPS = 4
_ONE, _SEVERAL, _ALL, _ROLLING = "one", "several", "all", "rolling"
_FORMS = (_ONE,) * 6 + (_SEVERAL,) * 2 + (_ALL, _ROLLING)


def draw(seed: int, session_s: float, actions: Sequence[Action] = tuple(Action)) -> Scenario:
    """Draw a scenario; equal arguments give equal scenarios.

    Args:
        seed: The seed.
        session_s: Seconds after which a silent broker is taken for gone.
        actions: The possible actions.
    """
    dice = Random(seed)
    steps = [_step(dice, session_s, actions) for _ in range(dice.randint(1, _MOST_STEPS))]
    return Scenario(seed, tuple(steps))


def _step(dice: Random, session_s: float, actions: Sequence[Action]) -> Step:
    action, form = dice.choice(actions), dice.choice(_FORMS)
    victims: tuple[int, ...] = (dice.choice((CONTROLLER, *BROKERS)),)
    if form == _SEVERAL:
        victims = tuple(dice.sample(BROKERS, 2))
    elif form in (_ALL, _ROLLING):
        victims = tuple(dice.sample(BROKERS, len(BROKERS)))
    away = session_s * dice.choice((0.1, 0.5, 1.5, 2.5))
    if action in SILENT:
        away = session_s * dice.uniform(1.6, 2.5)
    elif action is Action.EXPIRE:
        away = 0.0
    return Step(
        action,
        victims,
        is_rolling=form == _ROLLING and len(victims) > 1,
        away_s=round(away, 2),
        stays_away=action is not Action.EXPIRE and form == _ONE and dice.random() < 0.25,
        rest_s=round(dice.uniform(0.2, 2 * session_s), 2),
    )


def resolved(step: Step, controller: int | None, alive: Collection[int]) -> tuple[int, ...]:
    """Return the brokers that are a step's victims: only live ones, and each once.

    Args:
        step: The step.
        controller: The present controller; None if there is none.
        alive: The brokers whose processes run.
    """
    named = (controller if victim == CONTROLLER else victim for victim in step.victims)
    return tuple(dict.fromkeys(victim for victim in named if victim is not None and victim in alive))
