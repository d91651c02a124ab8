import pytest

from barnabas.bench.cases import latency


@pytest.mark.parametrize("settings", [{}, {"linger.ms": 0}])
def test_every_record_has_its_latency(mock_bootstrap, monkeypatch, settings):
    monkeypatch.setattr(latency, "RATE", 100)
    seen = latency.latencies_ms(mock_bootstrap, 1, settings)
    assert len(seen) == 100
    assert all(ms > 0 for ms in seen)
