import signal
import socket

import pytest

from barnabas import up


@pytest.mark.parametrize(
    ("status", "said"), [(-9, "killed by SIGKILL"), (1, "exit status 1"), (0, "exit status 0")]
)
def test_how_a_broker_ended(status, said):
    assert up._how(status) == said


def test_a_taken_port_is_one_line_and_an_exit_status(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        if port + 3001 > 65535:
            pytest.skip("the system gave a port too high to count from")
        taken.listen()
        assert up.run(tmp_path, 1, port) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        f"barnabas: --port {port}: 127.0.0.1:{port}, where broker 1 would listen, is taken"
    )


def test_signals_ask_to_stop_and_are_given_back():
    before = signal.getsignal(signal.SIGTERM)
    with up._asked_to_stop() as asked:
        signal.raise_signal(signal.SIGTERM)
        assert asked.is_set()
    assert signal.getsignal(signal.SIGTERM) is before
