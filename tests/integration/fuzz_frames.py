"""Mutated requests by the million: no crash, no hang over 100 ms, no growth over 50 MB.

``scripts/fuzz-frames --frames 10000000`` hands them to what a broker does with a frame before a handler sees
it: the guard, the decoder, and for Produce the checks of a batch and its recompression. ``--broker`` sends
them to a broker of its own instead, handlers and all (``fuzz_broker``), and ``--authorizer`` to one with an
authorizer. A failure names the seed and, without a broker, the frame. ``--handshake`` mutates what comes
before authentication (``fuzz_handshake``).
"""

from __future__ import annotations

import argparse
import random
import sys
from functools import partial

from tests.integration.fuzz_broker import against_a_broker
from tests.integration.fuzz_decoder import in_process
from tests.integration.fuzz_handshake import handshakes
from tests.integration.hostile_requests import well_formed

TEMPLATES = 4_000
"""How many well-formed requests are made, of which each frame is a mutation."""


def main():
    """Fuzz as the command line says; 0 where nothing was found."""
    parser = argparse.ArgumentParser(prog="fuzz-frames", description=__doc__)
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--broker", action="store_true", help="over the wire, to a broker of its own")
    parser.add_argument("--authorizer", action="store_true", help="over the wire, to one with an authorizer")
    parser.add_argument(
        "--handshake", action="store_true", help="frames before authentication, without a broker"
    )
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    rng = random.Random(asked.seed)
    templates = [well_formed(rng) for _ in range(TEMPLATES)]
    run = in_process
    if asked.handshake:
        run = handshakes
    elif asked.broker or asked.authorizer:
        run = partial(against_a_broker, authorizer=asked.authorizer)
    faults = run(asked.frames, rng, templates).faults()
    print("\n".join(faults) or "nothing found", flush=True)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
