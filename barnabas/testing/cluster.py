"""A cluster of real brokers for a test, whose methods block.

>>> with Cluster(brokers=3) as cluster:
...     cluster.create_topic("orders", partitions=6)
...     with cluster.killed(cluster.leader_of("orders", 0)):
...         ...  # the application under test writes to cluster.bootstrap_servers

Each method is made from that of ``AsyncCluster``, which documents it. Type checkers and editors derive its
signature from there.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import cached_property, wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from barnabas.testing.aio import AsyncCluster
from barnabas.testing.handle import READY_TIMEOUT_S, AnyCluster

__tracebackhide__ = True
"""pytest shows the line of the test that called, and no frames of this module."""

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[AsyncCluster, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Cluster, P], T]:
    """Return the method that runs a coroutine to its end."""

    @wraps(method)
    def run(self: Cluster, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(method(self.aio, *args, **kwargs))

    return run


def _blocking_context(
    method: Callable[Concatenate[AsyncCluster, P], AbstractAsyncContextManager[T]],
) -> Callable[Concatenate[Cluster, P], AbstractContextManager[T]]:
    """Return the method for ``with`` that enters and leaves an async context manager.

    The manager does not learn of an exception in the block, because all of those here undo their fault alike.
    """

    @wraps(method)
    @contextmanager
    def enter(self: Cluster, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        manager = method(self.aio, *args, **kwargs)
        value = self._run(manager.__aenter__())
        try:
            yield value
        finally:
            self._run(manager.__aexit__(None, None, None))

    return enter


class Cluster(AnyCluster):
    """A cluster whose methods block; any thread may call them. ``AnyCluster`` describes the arguments."""

    @cached_property
    def aio(self) -> AsyncCluster:
        """The same cluster for async code."""
        return AsyncCluster(handle=self._handle)

    def __enter__(self) -> Self:
        try:
            self._run(self._running.start(READY_TIMEOUT_S))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop everything; what does not stop in time is killed."""
        self._run(self._handle.stop())
        self._handle.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._handle.thread.run(work)

    controller_id = _blocking(AsyncCluster.controller_id)
    leader_of = _blocking(AsyncCluster.leader_of)
    isr_of = _blocking(AsyncCluster.isr_of)
    replicas_of = _blocking(AsyncCluster.replicas_of)
    state = _blocking(AsyncCluster.state)
    create_topic = _blocking(AsyncCluster.create_topic)
    delete_topic = _blocking(AsyncCluster.delete_topic)
    kill = _blocking(AsyncCluster.kill)
    terminate = _blocking(AsyncCluster.terminate)
    start = _blocking(AsyncCluster.start)
    pause = _blocking(AsyncCluster.pause)
    resume = _blocking(AsyncCluster.resume)
    expire_session = _blocking(AsyncCluster.expire_session)
    partition = _blocking(AsyncCluster.partition)
    slow = _blocking(AsyncCluster.slow)
    heal = _blocking(AsyncCluster.heal)
    fill_disk = _blocking(AsyncCluster.fill_disk)
    free_disk = _blocking(AsyncCluster.free_disk)
    wait_until_isr = _blocking(AsyncCluster.wait_until_isr)
    wait_until_led = _blocking(AsyncCluster.wait_until_led)
    checkpoint = _blocking(AsyncCluster.checkpoint)
    restore = _blocking(AsyncCluster.restore)

    killed = _blocking_context(AsyncCluster.killed)
    terminated = _blocking_context(AsyncCluster.terminated)
    paused = _blocking_context(AsyncCluster.paused)
    partitioned = _blocking_context(AsyncCluster.partitioned)
    disk_filled = _blocking_context(AsyncCluster.disk_filled)
