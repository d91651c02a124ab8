"""The benches; each module answers a question or several, and declares them as ``BENCHES``."""

from __future__ import annotations

import importlib
import pkgutil

from barnabas.bench.harness.registry import Bench


def load() -> dict[str, Bench]:
    """Load all benches by name, in the order of names.

    Raises:
        ValueError: Two modules define benches of one name.
    """
    benches: dict[str, Bench] = {}
    for module in pkgutil.iter_modules(__path__):
        case = importlib.import_module(f"{__name__}.{module.name}")
        for found in getattr(case, "BENCHES", ()):
            if found.name in benches:
                raise ValueError(f"bench {found.name!r} is defined twice, the second time in {case.__name__}")
            benches[found.name] = found
    return dict(sorted(benches.items()))
