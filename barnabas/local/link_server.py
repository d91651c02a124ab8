"""The links between containers: switches in a process that is part of their network.

    python -P -m barnabas.local.link_server 9000 '[["1", "zookeeper", "zookeeper:2181", 9001], …]'

Each entry is a link: the node that connects, the node that serves, the server's address, and the port on
which the switch listens. The first port is for control: a client sends one line, a JSON list of ways with
their new conditions (``[["1", "2", {"is_cut": true}], …]``), and gets the answer ``ok`` once they are so.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from barnabas.local.links import Condition, Links

_EVERYWHERE = "0.0.0.0"  # in a container only published ports are reachable from outside
_TIMEOUT_S = 5.0
_OK = b"ok\n"


@dataclass(frozen=True, slots=True)
class Link:
    """A link.

    Attributes:
        source: The node that connects.
        server: The node that serves.
        target: ``host:port`` of the server.
        port: The port on which the switch listens.
    """

    source: str
    server: str
    target: str
    port: int


def arguments(control_port: int, links: Iterable[Link]) -> list[str]:
    """Return the arguments that start this module's process."""
    listed = [[link.source, link.server, link.target, link.port] for link in links]
    return [str(control_port), json.dumps(listed)]


async def serve(control_port: int, links: Iterable[Link]) -> None:
    """Serve the links until cancelled."""
    joined = Links()
    try:
        for link in links:
            await joined.join(link.source, link.server, link.target, listen=(_EVERYWHERE, link.port))

        async def control(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                for source, target, condition in json.loads(await reader.readline()):
                    joined.change(source, target, Condition(**condition))
                writer.write(_OK)
                await writer.drain()
            finally:
                writer.close()

        async with await asyncio.start_server(control, _EVERYWHERE, control_port) as server:
            await server.serve_forever()
    finally:
        await joined.stop()


async def change(address: str, conditions: Mapping[tuple[str, str], Condition]) -> None:
    """Change the conditions of ways.

    Args:
        address: ``host:port`` of the control port.
        conditions: The new condition of each way.

    Raises:
        OSError: The process does not answer.
    """
    host, _, port = address.rpartition(":")
    async with asyncio.timeout(_TIMEOUT_S):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            listed = [[*ends, asdict(condition)] for ends, condition in conditions.items()]
            writer.write(json.dumps(listed).encode() + b"\n")
            await writer.drain()
            if await reader.readline() != _OK:
                raise ConnectionError(f"the links at {address} do not answer")
        finally:
            writer.close()


def main(argv: Sequence[str]) -> None:
    """Serve the links of the command line."""
    control_port, links = argv
    asyncio.run(serve(int(control_port), [Link(*link) for link in json.loads(links)]))


if __name__ == "__main__":
    main(sys.argv[1:])
