"""The watch over followed logs: it keeps the alerts, sends them, and serves them.

The follower calls ``look`` after each batch; that decides and returns at once. A thread sends. What waits to
be sent is the part of the alerts that the receiver does not know yet, so it is bounded by the number of
alerts, nothing that still holds is dropped, and it survives a restart in the file of the alerts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from datetime import UTC, datetime
from pathlib import Path

from barnabas.analysis.alerting import store
from barnabas.analysis.alerting.arguments import Alerting
from barnabas.analysis.alerting.decide import (
    Alert,
    Alerts,
    Status,
    acknowledge,
    begin,
    decide,
    due,
    expire,
    forget_unsent,
)
from barnabas.analysis.alerting.metrics import Figures, MetricsServer
from barnabas.analysis.alerting.webhook import AT_ONCE, DEADLINE_S, NotDeliveredError, Webhook, body, pause_s
from barnabas.analysis.story.episodes import Episode

Complain = Callable[[str], None]
"""A function that receives a sentence for the operator, from any thread."""

Now = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time in UTC, without a zone, as all times of the analysis."""
    return datetime.now(UTC).replace(tzinfo=None)


class AddressError(Exception):
    """An error for an address on which no metrics can be served; its message says what was expected."""


def watching(folder: Path, alerting: Alerting, complain: Complain) -> Watch:
    """Start the watch that the command line asks for.

    Raises:
        AddressError: The metrics cannot be served at the given address.
        AlertsFileError: The file of the alerts holds something else.
        OSError: The file cannot be read.
    """
    watch = Watch(folder, alerting.webhook, alerting.cluster, complain)
    if alerting.port is not None:
        host = f"[{alerting.host}]" if ":" in alerting.host else alerting.host
        try:
            port = watch.serve(alerting.host, alerting.port)
        except OSError as error:
            watch.close()
            raise AddressError(
                f"cannot serve alerts on {host}:{alerting.port}: {error.strerror}; expected an address of "
                "this machine (--alert-host) and a free port (--alert-port)"
            ) from error
        complain(f"alerts for Prometheus are on http://{host}:{port}/metrics")
    return watch


class Watch:
    """The alerts of one follower.

    Args:
        folder: The folder of the tables, which keeps the alerts too.
        webhook: The receiver; None for none.
        cluster: The name of the cluster as the operator gives it; None to take its id from the logs.
        complain: Receives a sentence when the webhook begins to fail, and when it recovers.
        now: The follower's clock.

    Raises:
        AlertsFileError: The file of the alerts holds something else.
        OSError: The file cannot be read.
    """

    def __init__(
        self,
        folder: Path,
        webhook: Webhook | None,
        cluster: str | None,
        complain: Complain,
        now: Now = utc_now,
    ) -> None:
        stored = store.load(folder)
        self._folder = folder
        self._webhook = webhook
        self._given = cluster
        self._complain = complain
        self._now = now
        self._is_new = stored is None
        self._figures = Figures(stored or Alerts(), cluster, has_webhook=webhook is not None)
        self._changed = threading.Condition()
        self._is_closed = False
        self._server: MetricsServer | None = None
        self._sender: threading.Thread | None = None
        if webhook is not None:
            self._sender = threading.Thread(
                target=self._send_all, args=(webhook,), name="alert-webhook", daemon=True
            )
            self._sender.start()

    @property
    def is_new(self) -> bool:
        """Return whether no look was ever taken, by this follower or an earlier one."""
        return self._is_new

    def serve(self, host: str, port: int) -> int:
        """Serve the metrics, and return the port.

        Raises:
            OSError: The address cannot be bound.
        """
        self._server = MetricsServer(host, port, self._read)
        return self._server.port

    def look(self, episodes: Sequence[Episode], cluster: str | None) -> None:
        """Decide which alerts fire after the logs were analyzed.

        Args:
            episodes: All that the lines prove.
            cluster: The cluster's id in the logs; None if no line has it, or they have several.
        """
        with self._changed:
            before, now = self._figures.alerts, self._now()
            after = begin(episodes, now) if self._is_new else decide(before, episodes, now)
            known = {alert.id for alert in before.all}
            self._figures.raised.update(
                alert.kind for alert in after.all if alert.id not in known and not alert.is_past
            )
            self._figures.looks += 1
            self._figures.looked = now
            if self._given is None:
                self._figures.cluster = cluster
            self._keep(after, is_first=self._is_new)
            self._is_new = False

    def wait(self) -> None:
        """Resolve the alerts of events that are over; call it when nothing was added to the logs."""
        with self._changed:
            self._keep(expire(self._figures.alerts, self._now()))

    def close(self) -> None:
        """Stop serving and sending; what was not sent is sent by the next follower."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._sender is not None:
            # Only the lookup of the host's name has no deadline.
            self._sender.join(2 * DEADLINE_S)
        if self._server is not None:
            self._server.close()

    def _keep(self, alerts: Alerts, *, is_first: bool = False) -> None:
        alerts = alerts if self._webhook is not None else forget_unsent(alerts)
        if alerts != self._figures.alerts or is_first:
            store.save(self._folder, alerts)
            self._figures.alerts = alerts
            self._changed.notify_all()

    def _read(self) -> Figures:
        with self._changed:
            figures = copy(self._figures)
            figures.raised = copy(figures.raised)
            return figures

    def _send_all(self, webhook: Webhook) -> None:
        failures = 0
        while (messages := self._next(failures)) is not None:
            try:
                webhook.post(body(messages, self._read().cluster, self._now()))
            except NotDeliveredError as error:
                failures += 1
                if failures == 1:
                    self._complain(f"the webhook {webhook} failed, and is tried again: {error}")
                with self._changed:
                    self._figures.failures += 1
                continue
            if failures:
                self._complain(f"the webhook {webhook} answers again")
            failures = 0
            self._acknowledge({alert.id: status for alert, status in messages})

    def _acknowledge(self, received: Mapping[str, Status]) -> None:
        with self._changed:
            alerts = acknowledge(self._figures.alerts, received.items())
            self._figures.alerts = alerts
            try:
                store.save(self._folder, alerts)
            except OSError as error:
                # The alerts in memory are right; the next change is another attempt to write them.
                self._complain(f"cannot write {str(self._folder / store.ALERTS)!r}: {error.strerror}")

    def _next(self, failures: int) -> list[tuple[Alert, Status]] | None:
        """Wait for something to send, after failures for the pause too; return None once closed."""
        with self._changed:
            if failures:
                self._changed.wait_for(lambda: self._is_closed, pause_s(failures))
            self._changed.wait_for(lambda: self._is_closed or due(self._figures.alerts))
            return None if self._is_closed else due(self._figures.alerts)[:AT_ONCE]
