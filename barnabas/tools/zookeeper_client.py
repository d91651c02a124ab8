"""The file with the settings of TLS to ZooKeeper, which tools take (``--zk-tls-config-file``).

Source: ``ZkSecurityMigrator.createZkClientConfigFromFile`` of Kafka 2.8.
"""

from __future__ import annotations

from pathlib import Path

from barnabas.cluster.model.properties import parse_properties
from barnabas.cluster.zk.client_settings import SYSTEM_PROPERTIES

SHELL_FLAG = "-zk-tls-config-file"
"""The flag of ``zookeeper-shell.sh``, which has one dash."""


class ZooKeeperClientError(Exception):
    """An error for a file that cannot be read."""


def take_tls_file(words: list[str]) -> dict[str, str]:
    """Take the shell's flag and its file out of ``words``, and return the settings of the file.

    Raises:
        ZooKeeperClientError: There is no file behind the flag, or it cannot be read.
    """
    if SHELL_FLAG not in words:
        return {}
    at = words.index(SHELL_FLAG)
    _, *file = words[at : at + 2]
    del words[at : at + 2]
    if not file:
        raise ZooKeeperClientError(f"Error: no filename provided with option {SHELL_FLAG}")
    return read_tls_file(file[0])


def read_tls_file(path: str | None) -> dict[str, str]:
    """Return the settings of TLS in a file of properties; others in it are ignored. None has no settings.

    Raises:
        ZooKeeperClientError: The file cannot be read.
    """
    if path is None:
        return {}
    try:
        properties = parse_properties(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ZooKeeperClientError(f"zk-tls-config-file {path} cannot be read: {error}") from error
    return {name: text for name, text in properties.items() if name in SYSTEM_PROPERTIES}
