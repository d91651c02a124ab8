"""A broker process: ``python -m barnabas.broker server.properties [--override key=value …]``.

If they are installed, kio imports Hypothesis, to offer strategies for its types, and structlog imports rich,
to print tracebacks in colour. A broker needs neither, and the two are a quarter of its start time and 12 MB
of its memory. Here they count as not installed, which both libraries allow.

gRPC is configured before it is imported, too: it must not read its sockets on threads of its own event
engine. With grpc.aio each message would be handed from thread to thread once more (docs/decisions/0004). Nor
may it write a line for each refused TLS handshake to standard error: strangers would fill the disk with it.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from barnabas.cluster.runtime.standard_streams import open_missing

NOT_FOR_BROKERS = ("hypothesis", "rich")
"""Packages that are not imported even if they are installed."""

GRPC_EXPERIMENTS = "-event_engine_client,-event_engine_listener"
"""gRPC's experiments that are switched off, unless ``GRPC_EXPERIMENTS`` is set already."""


def prepare() -> None:
    """Do what must be done before anything else of a broker is imported."""
    open_missing()
    for name in NOT_FOR_BROKERS:
        # With None every import of the name raises ModuleNotFoundError (Python reference, 5.3.1).
        sys.modules[name] = None  # type: ignore[assignment]
    os.environ.setdefault("GRPC_EXPERIMENTS", GRPC_EXPERIMENTS)
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")


def run_broker() -> int:
    """Run the command line of this process; return its exit status."""
    prepare()
    status: int = import_module("barnabas.broker.command").main(sys.argv[1:])
    return status


if __name__ == "__main__":
    sys.exit(run_broker())
