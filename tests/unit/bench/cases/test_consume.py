"""Clients of the benches of consumers and of latency, against librdkafka's mock cluster."""

import pytest

from barnabas.bench.cases import consume, latency
from barnabas.bench.cases.consume import read
from barnabas.bench.clients.producers import write


def test_all_records_are_read(mock_bootstrap):
    write(mock_bootstrap, records=300, size=100)
    assert read(mock_bootstrap, records=300) > 0


def test_records_that_do_not_come_are_no_figure(mock_bootstrap, monkeypatch):
    monkeypatch.setattr(consume, "DEADLINE_S", 0.1)
    with pytest.raises(TimeoutError, match="of 999999 records were read"):
        read(mock_bootstrap, records=999_999)


@pytest.mark.parametrize("settings", [{}, {"linger.ms": 0}])
def test_every_record_has_its_latency(mock_bootstrap, settings):
    seen = latency.latencies_ms(mock_bootstrap, 1, settings, rate=100)
    assert len(seen) == 100
    assert all(ms > 0 for ms in seen)
