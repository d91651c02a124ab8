import socket
import subprocess
import sys

import pytest

from barnabas.local import ports
from barnabas.local.ports import BrokerPorts, PortError, any_free, derived, free_ports


def test_ports_are_counted_from_the_first():
    base = any_free(1).brokers[0].kafka
    try:
        found = derived(base, 2)
    except PortError:
        pytest.skip("somebody uses a port above the one found")
    assert found.zookeeper == base + 3000
    assert found.brokers == (
        BrokerPorts(base, base + 1000, base + 2000),
        BrokerPorts(base + 1, base + 1001, base + 2001),
    )


@pytest.mark.parametrize(
    ("offset", "role"),
    [
        (0, "broker 1"),
        (1, "broker 2"),
        (1001, "broker 2's gRPC"),
        (2000, "broker 1's metrics page"),
        (3000, "ZooKeeper"),
    ],
)
def test_a_taken_port_is_named_by_the_one_given_and_by_who_would_use_it(monkeypatch, offset, role):
    monkeypatch.setattr(ports, "_is_free", lambda number: number != 9092 + offset)
    with pytest.raises(PortError) as refusal:
        derived(9092, 3)
    told = str(refusal.value)
    assert told.startswith(f"--port 9092: 127.0.0.1:{9092 + offset}, where {role} would listen, is taken (")
    assert "(gRPC is 1000 above, metrics 2000, ZooKeeper 3000)" in told


def test_a_port_somebody_listens_on_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert not ports._is_free(taken.getsockname()[1])


@pytest.mark.parametrize("port", [-1, 62533, 70000])
def test_ports_must_have_room(port):
    said = f"--port {port} does not leave room for 3 brokers .*: expected 1 to 62532, or 0 for any free ports"
    with pytest.raises(PortError, match=said):
        derived(port, 3)


def test_any_free_ports_are_free_and_apart():
    free = any_free(3)
    numbers = [free.zookeeper, *(n for b in free.brokers for n in (b.kafka, b.grpc, b.metrics))]
    assert len(set(numbers)) == 10
    assert max(numbers) < 32768


def test_a_later_call_returns_other_ports_though_nobody_listens_yet(monkeypatch):
    """A test chose ports for a broker, and its cluster chose one of them for another before it listened."""
    monkeypatch.setattr(ports, "_FIRST", 20000)
    monkeypatch.setattr(ports, "_LAST", 20010)
    monkeypatch.setattr(ports, "_is_free", lambda number: True)
    monkeypatch.setattr(ports, "_claim", lambda number: True)
    assert sorted(free_ports(4) + free_ports(4) + free_ports(2)) == list(range(20000, 20010))


CLAIM = """
import sys
from barnabas.local import ports
ports._FIRST, ports._LAST = map(int, sys.argv[1:])
print(*ports.free_ports(3), flush=True)
sys.stdin.read()
"""


def test_a_port_that_another_process_was_given_is_not_given_again(monkeypatch, tmp_path):
    """Two test runs chose ports at the same moment, and nobody listened on them yet."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a file of claims of its own
    first = free_ports(1)[0]
    command = [sys.executable, "-c", CLAIM, str(first), str(first + 20)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as one:
        ours = set(map(int, one.stdout.readline().split()))
        for _ in range(4):  # the start is random
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
            )
            assert not ours & set(map(int, done.stdout.split()))
        one.stdin.close()
        one.wait()


def test_too_few_free_ports_are_reported(monkeypatch):
    assert len(set(free_ports(5))) == 5
    # A worker of many has a part of the range to itself (tests/conftest.py).
    monkeypatch.setattr(ports, "_FIRST", 20000)
    monkeypatch.setattr(ports, "_LAST", 32000)
    monkeypatch.setattr(ports, "_is_free", lambda number: number < 20003)
    monkeypatch.setattr(ports, "_claim", lambda number: True)
    assert sorted(free_ports(3)) == [20000, 20001, 20002]
    with pytest.raises(PortError, match="fewer than 4 free ports from 20000 to 32000"):
        free_ports(4)
