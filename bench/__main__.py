"""``python -m barnabas.bench NAME [--json]`` runs one bench; ``--list`` names them all."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from barnabas.bench.cases import load
from barnabas.bench.harness.registry import Bench
from barnabas.bench.harness.report import Result, this_machine
from barnabas.tools.command_line.entry import run_tool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the bench that the command line names, or list all.

    Returns:
        0 if the bench ran, even if it missed its target; 2 if there is no such bench or size.
    """
    parser = argparse.ArgumentParser(prog="python -m barnabas.bench", description=__doc__)
    parser.add_argument("name", nargs="?", help="the bench to run")
    parser.add_argument("--list", action="store_true", help="name all benches and end")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--runs", type=int, help="how many runs, instead of the bench's own number")
    benches = load()
    sizes = dict.fromkeys(name for bench in benches.values() for name in bench.sizes)
    for name in sizes:
        owners = [bench.name for bench in benches.values() if name in bench.sizes]
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"how many, in {', '.join(owners)}")
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(_entry(bench) for bench in benches.values()))
        return 0
    if options.name not in benches:
        print(f"no bench {options.name!r}; there are: {', '.join(benches)}", file=sys.stderr)
        return 2
    given = {name: size for name in sizes if (size := getattr(options, name)) is not None}
    try:
        bench = benches[options.name].sized(given)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    result = run(bench, options.runs)
    print(json.dumps(result.as_json()) if options.json else result.as_text())
    return 0


def _entry(bench: Bench) -> str:
    target = f"{bench.target.direction.value} {bench.target.figure:g} {bench.unit}"
    return f"{bench.name:24} {target:18} {bench.question}"


def run(bench: Bench, runs: int | None = None) -> Result:
    """Measure ``bench`` as often as it says, or ``runs`` times; progress goes to stderr."""
    done = []
    for number in range(1, (runs or bench.runs) + 1):
        done.append(bench.measure(**bench.sizes))
        print(
            f"{bench.name}: run {number}: {done[-1].figure:.4g} {bench.unit}",
            file=sys.stderr,
            flush=True,
        )
    return Result(bench, tuple(done), this_machine())


if __name__ == "__main__":
    sys.exit(run_tool(main))
