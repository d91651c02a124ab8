"""A ZooKeeper in memory: enough of one to test what the stores decide, lost answers included."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import pytest

from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode, NotEmpty, RequestFailed
from barnabas.cluster.zk.client.operations import Answer, Check, Create, Delete, Node, Operation, Set, Stat


class Tree:
    """The znodes, shared by all sessions."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {"/": Node(b"", Stat(0, 0, 0))}
        self.zxids = itertools.count(1)
        self.counters = itertools.count()

    def session(self, number: int) -> FakeSession:
        return FakeSession(self, number)

    def carry_out(self, operations: Sequence[Operation], owner: int) -> list[Answer]:
        before = dict(self.nodes)
        zxid = next(self.zxids)
        try:
            return [self._apply(op, index, owner, zxid) for index, op in enumerate(operations)]
        except RequestFailed:
            self.nodes = before
            raise

    def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        return [
            p[len(prefix) :] for p in self.nodes if p.startswith(prefix) and "/" not in p[len(prefix) :] != ""
        ]

    def _apply(self, operation: Operation, index: int, owner: int, zxid: int) -> Answer:
        path = operation.path
        if isinstance(operation, Create):
            path += f"{next(self.counters):010d}" if operation.sequential else ""
            if path in self.nodes:
                raise NodeExists(path, index)
            if (path.rpartition("/")[0] or "/") not in self.nodes:
                raise NoNode(path, index)
            self.nodes[path] = Node(operation.data, Stat(0, zxid, zxid, owner if operation.ephemeral else 0))
            return path
        node = self.nodes.get(path)
        if node is None:
            raise NoNode(path, index)
        if operation.version not in (-1, node.stat.version):
            raise BadVersion(path, index)
        if isinstance(operation, Delete):
            if self.children(path):
                raise NotEmpty(path, index)
            del self.nodes[path]
        elif isinstance(operation, Set):
            stat = Stat(node.stat.version + 1, node.stat.czxid, zxid, node.stat.ephemeral_owner)
            self.nodes[path] = Node(operation.data, stat)
            return stat
        else:
            assert isinstance(operation, Check)
        return None


class FakeSession:
    """What a store needs of a ``ZooKeeperSession``.

    Attributes:
        lost_answers: That many coming transactions that succeed lose their answer and are sent again.
        before_write: Called once before the next transaction: what another client does in between.
    """

    def __init__(self, tree: Tree, number: int) -> None:
        self.tree = tree
        self.id = number
        self.session_timeout_ms = 100
        self.lost_answers = 0
        self.before_write: Callable[[], None] | None = None
        self.watched: list[str] = []

    def end(self) -> None:
        owned = [path for path, node in self.tree.nodes.items() if node.stat.ephemeral_owner == self.id]
        for path in owned:
            del self.tree.nodes[path]

    async def get(self, path: str, *, watch: bool = False) -> Node:
        self._watch(path, watch=watch)
        if path not in self.tree.nodes:
            raise NoNode(path)
        return self.tree.nodes[path]

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        self._watch(path, watch=watch)
        node = self.tree.nodes.get(path)
        return None if node is None else node.stat

    async def get_children(self, path: str, *, watch: bool = False) -> list[str]:
        self._watch(path, watch=watch)
        if path not in self.tree.nodes:
            raise NoNode(path)
        return self.tree.children(path)

    async def get_many(
        self, paths: Sequence[str], *, watch: bool = False, expected_bytes: int = 256
    ) -> list[Node | None]:
        assert expected_bytes > 0
        for path in paths:
            self._watch(path, watch=watch)
        return [self.tree.nodes.get(path) for path in paths]

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        return str((await self.multi(Create(path, data, ephemeral, sequential)))[0])

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        (stat,) = await self.multi(Set(path, data, version))
        assert isinstance(stat, Stat)
        return stat

    async def delete(self, path: str, version: int = -1) -> None:
        await self.multi(Delete(path, version))

    async def multi(self, *operations: Operation) -> list[Answer]:
        interfere, self.before_write = self.before_write, None
        if interfere is not None:
            interfere()
        if self.lost_answers:
            self.tree.carry_out(operations, self.id)
            self.lost_answers -= 1
            try:
                return self.tree.carry_out(operations, self.id)
            except RequestFailed as error:
                error.resent = True
                raise
        return self.tree.carry_out(operations, self.id)

    async def multi_many(
        self, transactions: Iterable[Sequence[Operation]]
    ) -> list[list[Answer] | RequestFailed]:
        outcomes: list[list[Answer] | RequestFailed] = []
        for operations in transactions:
            try:
                outcomes.append(await self.multi(*operations))
            except RequestFailed as error:
                outcomes.append(error)
        return outcomes

    def _watch(self, path: str, *, watch: bool) -> None:
        if watch:
            self.watched.append(path)


@pytest.fixture
def tree() -> Tree:
    return Tree()


@pytest.fixture
def zk(tree: Tree) -> FakeSession:
    """The session of the client under test."""
    return tree.session(1)


@pytest.fixture
def rival(tree: Tree) -> FakeSession:
    """The session of somebody else."""
    return tree.session(2)
