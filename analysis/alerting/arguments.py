"""The flags of the command line that are about alerts."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from barnabas.analysis.alerting.webhook import Webhook

_HOST = "127.0.0.1"
_PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class Alerting:
    """The options for sending and showing alerts.

    Attributes:
        webhook: The receiver; None for none.
        host: The address on which the metrics are served.
        port: The TCP port of the metrics, 0 for a free one; None to serve none.
        cluster: The name of the cluster in the alerts; None to take its id from the logs.
    """

    webhook: Webhook | None = None
    host: str = _HOST
    port: int | None = None
    cluster: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags to a parser."""
    group = parser.add_argument_group("alerts, with --follow")
    group.add_argument("--alert-webhook", type=_webhook, metavar="URL", help="POST alerts as JSON to it")
    group.add_argument(
        "--alert-port",
        type=_port,
        metavar="PORT",
        help="serve alerts to Prometheus at /metrics; 0: a free port",
    )
    group.add_argument(
        "--alert-host", metavar="ADDRESS", help=f"the address to serve them on ({_HOST}: this machine alone)"
    )
    group.add_argument(
        "--alert-cluster", metavar="NAME", help="the cluster's name in alerts (the cluster id in the logs)"
    )


def alerting_of(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Alerting | None:
    """Return what the parsed flags ask for, None for no alerts; end the program if they do not fit."""
    is_wanted = given.alert_webhook is not None or given.alert_port is not None
    flags = ("alert_webhook", "alert_port", "alert_host", "alert_cluster")
    named = [f"--{name.replace('_', '-')}" for name in flags if getattr(given, name) is not None]
    if named and not given.follow:
        parser.error(f"{named[0]} alone does nothing: expected --follow with it")
    if given.alert_host is not None and given.alert_port is None:
        parser.error("--alert-host alone does nothing: expected --alert-port with it")
    if named and not is_wanted:
        parser.error(f"{named[0]} alone does nothing: expected --alert-webhook or --alert-port with it")
    if not is_wanted:
        return None
    return Alerting(given.alert_webhook, given.alert_host or _HOST, given.alert_port, given.alert_cluster)


def _webhook(url: str) -> Webhook:
    try:
        return Webhook.of(url)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= len(str(_PORT_MAX)) and int(text) <= _PORT_MAX:
        return int(text)
    raise argparse.ArgumentTypeError(f"no port {text!r}: expected 0 to {_PORT_MAX}, 0 for a free one")
