"""A receiver of webhooks: a real HTTP server that keeps what it gets and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WAIT_S = 30.0


@dataclass
class Receiver:
    """What was posted, and the statuses to answer with: the first ones, then ``status`` for all others."""

    port: int = 0
    status: int = 200
    first: list[int] = field(default_factory=list)
    posts: list[dict[str, Any]] = field(default_factory=list)
    refused: int = 0
    paths: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/alerts?key=1"

    @property
    def told(self) -> list[tuple[str, str]]:
        """The statuses that were accepted, by the subject in the id."""
        return [(each["id"].split(":")[1], each["status"]) for post in self.posts for each in post["alerts"]]

    def wait_for(self, number: int, deadline_s: float = WAIT_S) -> None:
        """Wait until this many alerts were accepted."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.told) >= number, deadline_s), self.told

    def wait_for_refusals(self, number: int, deadline_s: float = WAIT_S) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.refused >= number, deadline_s), self.refused


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver for the block."""
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            with kept.changed:
                status = kept.first.pop(0) if kept.first else kept.status
                if status == 200:
                    assert self.headers["Content-Type"] == "application/json; charset=utf-8"
                    kept.posts.append(json.loads(content))
                    kept.paths.append(self.path)
                else:
                    kept.refused += 1
                kept.changed.notify_all()
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    kept.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield kept
    server.shutdown()
    server.server_close()
    thread.join()
