"""A broker process: ``python -m barnabas.broker server.properties [--override key=value …]``.

kio imports Hypothesis where it is installed, to offer strategies for its types, and structlog imports rich,
to print tracebacks in colour. A broker does neither, and the two are a quarter of the time in which it starts
and 12 MB of its memory: here they pass for not installed, which both libraries allow.

gRPC, too, is told something before it is imported: not to read its sockets on threads of its own event
engine. Under grpc.aio each message would be handed from thread to thread once more (docs/decisions/0004).
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from barnabas.cluster.runtime.standard_streams import open_missing

NOT_FOR_BROKERS = ("hypothesis", "rich")
"""Packages that are not imported, for no other reason than that they are there."""

GRPC_EXPERIMENTS = "-event_engine_client,-event_engine_listener"
"""What gRPC does not try, unless the environment says otherwise (gRPC's ``GRPC_EXPERIMENTS``)."""


def run_broker() -> int:
    """Run the command line of this process; returns its exit status."""
    open_missing()
    for name in NOT_FOR_BROKERS:
        # None has every import of the name raise ModuleNotFoundError (Python reference, 5.3.1).
        sys.modules[name] = None  # type: ignore[assignment]
    os.environ.setdefault("GRPC_EXPERIMENTS", GRPC_EXPERIMENTS)
    status: int = import_module("barnabas.broker.command").main(sys.argv[1:])
    return status


if __name__ == "__main__":
    sys.exit(run_broker())
