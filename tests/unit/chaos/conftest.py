"""A record batch as a broker writes it, and a machine that notes commands."""

import struct

import pytest
from crc32c import crc32c

from barnabas.chaos.targets.links import NetworkError


@pytest.fixture
def batch():
    """A function: a record batch as a broker writes it, which claims ``count`` records."""

    def batch(base, count=1, epoch=0, value=b"v" * 40):
        rest = struct.pack(">hiqqqhii", 0, count - 1, 0, 0, -1, -1, -1, count) + value
        return struct.pack(">qiibI", base, 9 + len(rest), epoch, 2, crc32c(rest)) + rest

    return batch


class Machine:
    """Takes every command; those with a word of ``refused`` fail."""

    def __init__(self, says):
        self.commands = []
        self.refused = set()
        self._says = says

    def run(self, *command, may_fail=False):
        self.commands.append(" ".join(command))
        if self.refused & set(command) and not may_fail:
            raise NetworkError(f"{command[0]}: refused")
        return self._says(command)


@pytest.fixture
def machine_that(monkeypatch):
    """A function: a machine in whose place of commands ``modules`` run theirs, and what it says to each."""

    def machine_that(says, *modules):
        machine = Machine(says)
        for module in modules:
            monkeypatch.setattr(module, "_run", machine.run)
        return machine

    return machine_that
