import os

from barnabas.bench.harness import processes
from barnabas.bench.harness.processes import CpuMeter, plain_write_s_per_gb, resident_mb


def test_cpu_time_spent_shows_per_gigabyte():
    meter = CpuMeter({"me": os.getpid()})
    before = os.times()
    while os.times().user + os.times().system - before.user - before.system < 0.05:
        sum(range(10_000))
    (spent,) = meter.spent().values()
    assert spent >= 0.03
    ((name, seconds),) = meter.per_gb(500_000_000).items()
    assert name == "cpu_s_per_gb me"
    assert seconds >= 2 * 0.03


def test_a_running_python_is_resident():
    assert 5 < resident_mb(os.getpid()) < 10_000


def test_writing_a_plain_file_costs_something(monkeypatch):
    monkeypatch.setattr(processes, "PLAIN_BYTES", 20_000_000)
    assert plain_write_s_per_gb() > 0
