from __future__ import annotations

import socket
import struct
import threading

from barnabas.bench.truth.probe import Probe


def answered(errors: list[int]) -> bytes:
    partitions = b"".join(struct.pack(">ihqq", number, error, -1, 0) for number, error in enumerate(errors))
    body = (
        struct.pack(">ii", 0, 1) + struct.pack(">h", 1) + b"a" + struct.pack(">i", len(errors)) + partitions
    )
    return struct.pack(">i", len(body)) + body


def test_of_equal_answers_to_what_is_led_the_first_two_and_the_last_are_kept() -> None:
    script = [[0, 6]] * 5 + [[6, 0]] * 5
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for errors in script:
                    connection.recv(4096)
                    connection.sendall(answered(errors))
                connection.recv(4096)
                done.set()

        thread = threading.Thread(target=serve)
        thread.start()
        with Probe({1: f"127.0.0.1:{server.getsockname()[1]}"}, {"a": 2}) as probe:
            assert done.wait(30)
        thread.join()
    answers = probe.answers[1, "a-0"]
    assert [each.led for each in answers] == [True] * 3 + [False] * 3
    # The connection ends with the script, and then the broker leads nothing.
    assert [each.led for each in probe.answers[1, "a-1"]][:6] == [False] * 3 + [True] * 3
    assert all(each.sent <= each.received for each in answers)
    assert answers[0].received < answers[1].sent
    assert answers[1].received < answers[2].sent
