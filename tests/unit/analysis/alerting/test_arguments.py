"""The flags of alerts: what they mean together, and errors that say what was expected."""

from __future__ import annotations

import argparse

import pytest

from barnabas.analysis.alerting.arguments import Alerting, add_arguments, alerting_of
from barnabas.analysis.alerting.webhook import Webhook


def parsed(*arguments: str) -> Alerting | None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--follow", action="store_true")
    add_arguments(parser)
    return alerting_of(parser.parse_args(arguments), parser)


def test_no_flag_asks_for_no_alerts() -> None:
    assert parsed() is None
    assert parsed("--follow") is None


def test_metrics_are_served_to_this_machine_alone_unless_told() -> None:
    assert parsed("--follow", "--alert-port=0") == Alerting(host="127.0.0.1", port=0)
    told = parsed("--follow", "--alert-port=9095", "--alert-host=0.0.0.0", "--alert-cluster=prod")
    assert told == Alerting(host="0.0.0.0", port=9095, cluster="prod")


def test_a_webhook_is_enough() -> None:
    assert parsed("--follow", "--alert-webhook=http://a/b") == Alerting(Webhook("http", "a", None, "/b"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--alert-port=1"], "--alert-port alone does nothing: expected --follow with it"),
        (["--alert-webhook=http://a/"], "--alert-webhook alone does nothing: expected --follow with it"),
        (["--follow", "--alert-host=::1"], "--alert-host alone does nothing: expected --alert-port with it"),
        (
            ["--follow", "--alert-webhook=http://a/", "--alert-host=::1"],
            "--alert-host alone does nothing: expected --alert-port with it",
        ),
        (["--follow", "--alert-cluster=x"], "expected --alert-webhook or --alert-port with it"),
        (["--follow", "--alert-webhook=a"], "no webhook 'a': expected http://HOST[:PORT]/PATH"),
        (["--follow", "--alert-port=65536"], "no port '65536': expected 0 to 65535, 0 for a free one"),
        (["--follow", "--alert-port=-1"], "no port '-1': expected 0 to 65535"),
        (["--follow", "--alert-port=http"], "no port 'http': expected 0 to 65535"),
    ],
)
def test_flags_that_do_not_fit_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed(*arguments)
    assert said in capsys.readouterr().err
