from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from barnabas.broker.lifecycle.descriptors import (
    ENOUGH,
    first_kept_back,
    first_kept_from_logs,
    guaranteed_to_clients,
    most_peer_connections,
)

SCRIPT = """
import resource
from barnabas.broker.lifecycle.descriptors import raise_limit
print(raise_limit(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize("soft", [64, 256])
def test_the_soft_limit_becomes_the_hard_one(soft):
    hard = min(ENOUGH, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    done = subprocess.run(
        ["sh", "-c", f'ulimit -Sn {soft}; exec {sys.executable} -c "$0"', SCRIPT],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == [str(hard), str(hard)]


def test_a_quarter_is_kept_back():
    assert [first_kept_back(limit) for limit in (4, 1024, ENOUGH)] == [3, 768, 75_000]
    assert [most_peer_connections(limit) for limit in (1024, ENOUGH)] == [128, 12_500]


def test_clients_are_guaranteed_some_of_what_is_kept_back():
    assert [guaranteed_to_clients(limit) for limit in (256, 1024, ENOUGH)] == [32, 64, 6250]


def test_logs_leave_some_to_all_others():
    assert [first_kept_from_logs(limit) for limit in (100, 256, 400, 1024, ENOUGH)] == [
        75,
        192,
        336,
        896,
        87_500,
    ]
