"""A bench: its question, its target and its runs; ``bench.cases`` has all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum


class Direction(Enum):
    """The good side of a target; the value is the sign printed before it."""

    AT_MOST = "≤"
    AT_LEAST = "≥"


@dataclass(frozen=True, slots=True)
class Target:
    """The figure to reach."""

    direction: Direction
    figure: float

    def is_met_by(self, figure: float) -> bool:
        """Return whether ``figure`` meets the target."""
        if self.direction is Direction.AT_MOST:
            return figure <= self.figure
        return figure >= self.figure


def at_most(figure: float) -> Target:
    """Return a target of which lower figures are better."""
    return Target(Direction.AT_MOST, figure)


def at_least(figure: float) -> Target:
    """Return a target of which higher figures are better."""
    return Target(Direction.AT_LEAST, figure)


@dataclass(frozen=True, slots=True)
class Run:
    """A measurement.

    Attributes:
        figure: The figure in the bench's unit.
        details: Other figures by name, such as CPU-seconds per GB of each process; the name has the unit.
    """

    figure: float
    details: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench: a question with a figure as its answer.

    Attributes:
        name: The argument of ``python -m barnabas.bench``.
        question: The question as a sentence.
        unit: The unit of figure and target.
        target: The target.
        measure: Makes one run including set-up and clean-up; called with ``sizes`` by name.
        runs: The number of runs, whose median is the figure.
        sizes: The sizes that the command line may set, such as ``--partitions 10000``, with their defaults.
        scales_with: The size to which the target is proportional; None if it is fixed.
        limits: The targets of details, by their names; the bench meets its target if all are met.
    """

    name: str
    question: str
    unit: str
    target: Target
    measure: Callable[..., Run]
    runs: int = 3
    sizes: Mapping[str, int] = field(default_factory=dict)
    scales_with: str | None = None
    limits: Mapping[str, Target] = field(default_factory=dict)

    def sized(self, sizes: Mapping[str, int]) -> Bench:
        """Return this bench with other sizes and the target for them.

        Raises:
            ValueError: A size is unknown or not above 0.
        """
        for name, size in sizes.items():
            if name not in self.sizes:
                raise ValueError(f"bench {self.name!r} has no --{name}; it has: {_flags(self.sizes)}")
            if size <= 0:
                raise ValueError(f"--{name} is {size}, expected a number above 0")
        target = self.target
        scale = self.scales_with
        if scale is not None and scale in sizes:
            target = replace(target, figure=target.figure * sizes[scale] / self.sizes[scale])
        return replace(self, sizes={**self.sizes, **sizes}, target=target)


def _flags(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"--{name}" for name in sizes) or "none"
