"""The TLS credentials of this process on gRPC, as a server and as a client of other brokers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import grpc
import structlog

from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.runtime.line_limit import LINES
from barnabas.cluster.tls.renewal import refusal_of
from barnabas.cluster.tls.stores import Identity, Stores

_log = structlog.get_logger("kafka.server.KafkaServer")

RELOAD_INTERVAL_S = 5.0
"""The interval in seconds between two looks at the files of the stores."""

_Stamp = tuple[tuple[int, int, int] | None, ...]


class PeerCredentials:
    """The key and the trusted certificates of this broker, read again when their files change.

    New connections use what was read last, and those that stand are kept.

    Args:
        read: Reads the stores, which have an identity and trusted certificates.

    Raises:
        ConfigError: The stores cannot be read.
    """

    def __init__(self, read: Callable[[], Stores]) -> None:
        self._read = read
        self._stamp: _Stamp = ()  # files may change during the read, so the first check reads them again
        self._take(read())

    def _take(self, stores: Stores) -> None:
        self._stores = stores
        identity, trusted = _complete(stores)
        self._channel = grpc.ssl_channel_credentials(trusted, identity.key, identity.chain)
        self._server = grpc.ssl_server_certificate_configuration([(identity.key, identity.chain)], trusted)

    def channel(self) -> grpc.ChannelCredentials:
        """Return the credentials of new channels; the same object until the stores change."""
        return self._channel

    def server(self) -> grpc.ServerCredentials:
        """Return the credentials of a server; a connection without a trusted certificate is refused."""
        served = self._server

        def changed() -> grpc.ServerCertificateConfiguration | None:
            # gRPC calls this from a thread of its own before each handshake.
            nonlocal served
            if self._server is served:
                return None
            served = self._server
            return served

        return grpc.dynamic_ssl_server_credentials(served, changed, require_client_authentication=True)

    def reload(self) -> bool:
        """Read the stores again if a file has changed; return whether new ones are used from now on.

        Stores that cannot be read are logged, and tried again at the next call: they may be half written.
        """
        stamp = _stamp_of(self._stores.files)
        if stamp == self._stamp:
            return False
        try:
            stores = self._read()
        except ConfigError as error:
            if LINES.allow("peer stores not read"):
                _log.error(f"The changed stores of the listener between brokers are not used: {error}")
            return False
        refusal = refusal_of(self._stores, stores)
        self._stamp = stamp
        if refusal is not None:
            _log.error(f"The changed stores of the listener between brokers are not used: {refusal}")
        if refusal is not None or stores == self._stores:
            return False
        self._take(stores)
        _log.info("The stores of the listener between brokers have changed; new connections use them")
        return True

    async def watch(self) -> None:
        """Read changed stores again; runs until cancelled."""
        while True:
            await asyncio.sleep(RELOAD_INTERVAL_S)
            await asyncio.to_thread(self.reload)


def _complete(stores: Stores) -> tuple[Identity, bytes]:
    if stores.identity is None or stores.trusted is None:
        raise LookupError("a broker needs both a key and trusted certificates for the other brokers")
    return stores.identity, stores.trusted


def _stamp_of(files: Iterable[Path]) -> _Stamp:
    return tuple(map(_file_stamp, files))


def _file_stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
