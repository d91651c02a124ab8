"""The check of epochs: no epoch has two actors, in ZooKeeper's history and in the brokers' logs. Pure.

Rules for the transactions, which only ZooKeeper writes:

* ``/controller_epoch`` rises by one in the transaction that creates ``/controller``, so each epoch has one
  winner;
* a partition's controller epoch and leader epoch never fall, and one leader epoch has one leader;
* a leader epoch is raised, and a partition's state deleted, only in the session that won the current
  controller epoch, and the state names that epoch: no write of an older controller succeeds;
* within a leader epoch only its leader writes the state, in a session of the leader's broker.

Rules for the state-change logs:

* a broker that logs as the controller of an epoch is the one that won it;
* a broker that starts to lead a partition in a leader epoch is the leader in ZooKeeper in that epoch.

A history without an election, or logs without an action, are a problem too, because they prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from barnabas.chaos.checker.txn_log import Change, Txn, ZnodeChange
from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import PartitionState
from barnabas.cluster.model.statechange import Kind, read_message
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.schema.brokers import decode_controller, decode_controller_epoch
from barnabas.cluster.zk.schema.topics import decode_state


@dataclass(frozen=True, slots=True)
class ActedAsController:
    """A line of state-change.log by a controller.

    Attributes:
        log: The broker whose log holds the line.
        controller: The controller that the line names.
        epoch: The controller epoch that the line names.
    """

    log: BrokerId
    controller: BrokerId
    epoch: ControllerEpoch


@dataclass(frozen=True, slots=True)
class StartedToLead:
    """A line of state-change.log by a broker that became leader."""

    log: BrokerId
    partition: TopicPartition
    epoch: LeaderEpoch


Act = ActedAsController | StartedToLead

_CONTROLLER = re.compile(r"\[Controller id=(\d+) epoch=(\d+)\]")
_MESSAGE = re.compile(r".*\[[^\]]+\] [A-Z]+ (.*) \([\w.]+\)$")
_REGISTRATION = re.compile(rf"{re.escape(paths.BROKER_IDS)}/(\d+)")
_STARTS = " starts at leader epoch "


def acts_of(log: BrokerId, lines: Iterable[str]) -> set[Act]:
    """Return the distinct acts in a broker's state-change.log."""
    found: set[Act] = set()
    for line in lines:
        # A killed broker leaves half a line, to which the next process appends.
        spoke = _CONTROLLER.findall(line)
        found |= {
            ActedAsController(log, BrokerId(int(who)), ControllerEpoch(int(epoch))) for who, epoch in spoke
        }
        if _STARTS in line and (whole := _MESSAGE.match(line.rstrip("\n"))) is not None:
            message = read_message(whole[1])
            if message.kind is Kind.LEADER_STARTS:
                epoch = LeaderEpoch(message.values["leader_epoch"])
                found.add(StartedToLead(log, message.values["tp"], epoch))
    return found


@dataclass(frozen=True, slots=True)
class Epochs:
    """The result of the check.

    Attributes:
        controllers: The number of controllers elected.
        elections: The number of leader epochs, over all partitions.
        acts: The number of distinct acts in the logs.
        problems: A line for each broken rule.
    """

    controllers: int
    elections: int
    acts: int
    problems: tuple[str, ...]


@dataclass(slots=True)
class _Tree:
    """The content of ZooKeeper after the transactions so far."""

    epoch: int = 0
    session: int = 0
    brokers: dict[int, BrokerId] = field(default_factory=dict)  # by the session that registered the broker
    winners: dict[ControllerEpoch, BrokerId] = field(default_factory=dict)
    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    leaders: dict[tuple[TopicPartition, LeaderEpoch], set[BrokerId]] = field(default_factory=dict)


def check_epochs(txns: Iterable[Txn], acts: Iterable[Act]) -> Epochs:
    """Check a whole history: all transactions since the first one, and the acts of all brokers."""
    tree = _Tree()
    problems = [problem for txn in txns for problem in _judge(tree, txn)]
    acts = sorted(set(acts), key=str)
    problems += [problem for act in acts for problem in _check_act(tree, act)]
    if not tree.winners:
        problems.append("ZooKeeper's history has no election of a controller, which proves nothing")
    for kind, deed in ((ActedAsController, "acted as controller"), (StartedToLead, "started to lead")):
        if not any(isinstance(act, kind) for act in acts):
            problems.append(f"the state-change logs have no broker that {deed}, which proves nothing")
    return Epochs(len(tree.winners), len(tree.leaders), len(acts), tuple(problems))


def _judge(tree: _Tree, txn: Txn) -> Iterator[str]:
    try:
        yield from _apply(tree, txn)
    except ZnodeDecodeError as error:
        yield f"{_at(txn)}: {error}"


def _apply(tree: _Tree, txn: Txn) -> Iterator[str]:
    # Apply the epoch first: what a controller writes in its election's transaction belongs to its own epoch.
    yield from _apply_election(tree, txn)
    for change in txn.changes:
        if change.change is Change.CREATE and (mine := _REGISTRATION.fullmatch(change.path)) is not None:
            tree.brokers[txn.session] = BrokerId(int(mine[1]))
        tp = paths.partition_of_state(change.path)
        if tp is None:
            continue
        if change.change is Change.DELETE:
            if txn.session != tree.session:
                yield f"{_at(txn)}: the state of {tp} was deleted in session {_session(tree, txn.session)}"
            # The leaders of a deleted topic are kept, because log lines do not distinguish topics of one
            # name.
            tree.states.pop(tp, None)
        else:
            yield from _apply_state(tree, txn, tp, decode_state(tp, change.data, 0))


def _apply_election(tree: _Tree, txn: Txn) -> Iterator[str]:
    raised = _last(txn, paths.CONTROLLER_EPOCH)
    won = [c for c in txn.changes if c.path == paths.CONTROLLER and c.change is Change.CREATE]
    if raised is not None:
        epoch = decode_controller_epoch(raised.data)
        is_first = raised.change is Change.CREATE and tree.epoch == epoch == 0
        if not is_first and epoch != tree.epoch + 1:
            yield f"{_at(txn)}: controller epoch {tree.epoch} was followed by {epoch}"
        if epoch > tree.epoch and not won:
            yield f"{_at(txn)}: controller epoch {epoch} was begun without an election"
        tree.epoch = epoch
    if won:
        broker = decode_controller(won[0].data).broker
        if raised is None:
            yield f"{_at(txn)}: broker {broker} was elected controller in epoch {tree.epoch}, which had begun"
        tree.winners[ControllerEpoch(tree.epoch)] = broker
        tree.session = txn.session


def _last(txn: Txn, path: str) -> ZnodeChange | None:
    mine = [c for c in txn.changes if c.path == path and c.change is not Change.DELETE]
    return mine[-1] if mine else None


def _apply_state(tree: _Tree, txn: Txn, tp: TopicPartition, state: PartitionState) -> Iterator[str]:
    now, before = state.leader_and_isr, tree.states.get(tp)
    tree.states[tp] = state
    if state.controller_epoch > tree.epoch:
        yield f"{_at(txn)}: {tp} has controller epoch {state.controller_epoch}, the last is {tree.epoch}"
    if before is not None:
        was = before.leader_and_isr
        if now.leader_epoch < was.leader_epoch:
            yield f"{_at(txn)}: {tp} fell from leader epoch {was.leader_epoch} to {now.leader_epoch}"
        if state.controller_epoch < before.controller_epoch:
            yield (
                f"{_at(txn)}: {tp} fell from controller epoch {before.controller_epoch} "
                f"to {state.controller_epoch}"
            )
        if now.leader_epoch == was.leader_epoch and now.leader != was.leader:
            yield (
                f"{_at(txn)}: {tp} changed its leader from {was.leader} to {now.leader} "
                f"within leader epoch {now.leader_epoch}"
            )
        if now.leader_epoch == was.leader_epoch:
            # The same leadership, with another ISR: written by its leader or the controller.
            if txn.session != tree.session and tree.brokers.get(txn.session) != now.leader:
                yield (
                    f"{_at(txn)}: {tp}, led by {now.leader} in leader epoch {now.leader_epoch}, was written "
                    f"in session {_session(tree, txn.session)}"
                )
            return
    # A new leadership: written by the controller of the current epoch alone.
    if txn.session != tree.session or state.controller_epoch != tree.epoch:
        yield (
            f"{_at(txn)}: {tp} got leader epoch {now.leader_epoch} in session {txn.session:#x} "
            f"with controller epoch {state.controller_epoch}; epoch {tree.epoch} was won in session "
            f"{tree.session:#x}"
        )
    tree.leaders.setdefault((tp, now.leader_epoch), set()).add(now.leader)


def _check_act(tree: _Tree, act: Act) -> Iterator[str]:
    match act:
        case ActedAsController(log, controller, epoch):
            winner = tree.winners.get(epoch)
            if winner != controller or log != controller:
                yield (
                    f"in broker {log}'s log controller {controller} acts in epoch {epoch}, "
                    f"which {'no broker' if winner is None else f'broker {winner}'} won"
                )
        case StartedToLead(log, tp, epoch):
            leaders = tree.leaders.get((tp, epoch))
            if leaders is not None and log not in leaders:
                yield (
                    f"broker {log} started to lead {tp} in leader epoch {epoch}, "
                    f"whose leader in ZooKeeper is {', '.join(map(str, sorted(leaders)))}"
                )
            if leaders is None:
                yield f"broker {log} started to lead {tp} in leader epoch {epoch}, which ZooKeeper never had"


def _session(tree: _Tree, session: int) -> str:
    broker = tree.brokers.get(session)
    whose = "nobody registered" if broker is None else f"broker {broker}"
    return f"{session:#x} of {whose}; epoch {tree.epoch} was won in session {tree.session:#x}"


def _at(txn: Txn) -> str:
    return f"zxid {txn.zxid:#x}"
