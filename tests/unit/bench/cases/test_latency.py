from bench.cases import latency


def test_every_record_has_its_latency(mock_bootstrap, monkeypatch):
    monkeypatch.setattr(latency, "RATE", 100)
    seen = latency.latencies_ms(mock_bootstrap, seconds=1)
    assert len(seen) == 100
    assert all(ms > 0 for ms in seen)
