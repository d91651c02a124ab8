"""The report of a bench's runs: the figure, and its formats."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from barnabas.bench.harness.registry import Bench, Run, Target


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine on which a figure was measured.

    Attributes:
        cpu: The name of the CPU model.
        cores: The number of cores that this process may use.
        memory_gb: The installed memory in 10^9 bytes.
        system: The kernel and its release.
        python: The implementation and version of Python.
    """

    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str

    def __str__(self) -> str:
        return f"{self.cores} cores of {self.cpu}, {self.memory_gb:g} GB, {self.system}, {self.python}"


def this_machine() -> Machine:
    """Describe the machine of this process."""
    return Machine(
        cpu=_cpu_model(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        system=f"{platform.system()} {platform.release()}",
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@dataclass(frozen=True, slots=True)
class Result:
    """The figure of a bench: the median of its runs."""

    bench: Bench
    runs: tuple[Run, ...]
    machine: Machine

    @property
    def figure(self) -> float:
        """Return the median of the runs."""
        return statistics.median(run.figure for run in self.runs)

    @property
    def met(self) -> bool:
        """Return whether the target and all targets of details were reached."""
        found = details(self.runs)
        return self.bench.target.is_met_by(self.figure) and all(
            target.is_met_by(found[name]) for name, target in self.bench.limits.items()
        )

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "name": self.bench.name,
            "figure": self.figure,
            "unit": self.bench.unit,
            "target": self.bench.target.figure,
            "direction": self.bench.target.direction.name.lower(),
            "limits": {
                name: {"target": target.figure, "direction": target.direction.name.lower()}
                for name, target in self.bench.limits.items()
            },
            "sizes": dict(self.bench.sizes),
            "met": self.met,
            "runs": [asdict(run) for run in self.runs],
            "machine": asdict(self.machine),
        }

    def as_text(self) -> str:
        """Return the text with figure, target, spread, details and machine."""
        bench, figures = self.bench, [run.figure for run in self.runs]
        lines = [
            f"{bench.name}: {self.figure:.4g} {bench.unit}",
            f"  {bench.question}",
            *(f"  {name}: {size}" for name, size in bench.sizes.items()),
            f"  target {_judged(bench.target, self.figure, ' ' + bench.unit)}",
            f"  spread {min(figures):.4g} … {max(figures):.4g} over {len(figures)} runs",
            *(self._detail(name, figure) for name, figure in details(self.runs).items()),
            f"  machine {self.machine}",
        ]
        return "\n".join(lines)

    def _detail(self, name: str, figure: float) -> str:
        target = self.bench.limits.get(name)
        return f"  {name}: {figure:.4g}" + ("" if target is None else f", target {_judged(target, figure)}")


def _judged(target: Target, figure: float, unit: str = "") -> str:
    """Return the text of a target and whether ``figure`` meets it."""
    verdict = "met" if target.is_met_by(figure) else "MISSED"
    return f"{target.direction.value} {target.figure:g}{unit}: {verdict}"


def details(runs: Sequence[Run]) -> dict[str, float]:
    """Return the median of each detail over the runs that have it."""
    names = dict.fromkeys(name for run in runs for name in run.details)
    return {
        name: statistics.median(run.details[name] for run in runs if name in run.details) for name in names
    }
