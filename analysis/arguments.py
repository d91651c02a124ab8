"""The arguments of ``barnabas analyze``."""

from __future__ import annotations

import argparse
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from barnabas.analysis.alerting.arguments import add_arguments
from barnabas.analysis.report.files import Format

DEFAULT_OUT = "barnabas-report"
"""The default of ``--out``: a folder below the working directory."""

_FORMS = "html, json, markdown or text"

_INT_MAX = 2**31 - 1


def command_line() -> argparse.ArgumentParser:
    """Return a parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="barnabas analyze",
        description="Report what happened in a cluster, from its logs.",
        epilog="exit code: 0 if any line was understood, 1 if none was, 2 if there was nothing to read or "
        "nowhere to write, 3 if Spark failed",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders or globs; - for stdin")
    parser.add_argument(
        "--out", default=DEFAULT_OUT, metavar="DIR", help="a folder, or a URI that Spark knows (%(default)s)"
    )
    parser.add_argument(
        "--format",
        type=_form,
        default=Format.HTML,
        metavar="FORM",
        help=f"what is printed: {_FORMS} (%(default)s)",
    )
    parser.add_argument(
        "--broker",
        type=_broker,
        metavar="ID",
        help="the broker id of lines if neither the line nor the path names one",
    )
    parser.add_argument(
        "--time-zone",
        type=_zone,
        default="UTC",
        metavar="ZONE",
        help="the time zone of times without one, so of none in JSON; the report is in UTC (%(default)s)",
    )
    parser.add_argument(
        "--min-insync-replicas",
        type=_replicas,
        metavar="N",
        help="the brokers' min.insync.replicas, where no line shows that the topic or its leader had another",
    )
    parser.add_argument("--follow", action="store_true", help="keep reading what is added to the logs")
    add_arguments(parser)
    return parser


def _form(name: str) -> Format:
    try:
        return Format(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"no format {name!r}: expected {_FORMS}") from error


def _broker(name: str) -> int:
    if _is_int(name):
        return int(name)
    raise argparse.ArgumentTypeError(f"no broker {name!r}: expected its id, 0 to {_INT_MAX}")


def _replicas(name: str) -> int:
    if _is_int(name) and int(name) > 0:
        return int(name)
    raise argparse.ArgumentTypeError(f"no number of replicas {name!r}: expected 1 to {_INT_MAX}")


def _is_int(name: str) -> bool:
    """Return whether a text is a number from 0 to the largest of Kafka's type INT32."""
    is_short = len(name) <= len(str(_INT_MAX))
    return name.isascii() and name.isdigit() and is_short and int(name) <= _INT_MAX


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        # zoneinfo raises OSError for a name such as Europe, which is a folder of zones.
        raise argparse.ArgumentTypeError(
            f"no time zone {name!r}: expected a name such as Europe/Berlin"
        ) from error
