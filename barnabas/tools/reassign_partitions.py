"""``kafka-reassign-partitions.sh``: move partitions to other brokers, through the admin API of KIP-455.

Flags and output are those of Kafka 2.8's ``kafka.admin.ReassignPartitionsCommand``. Replication is not
throttled here and replicas are not moved between log directories: the flags for that are refused. Exit code
0, or 1 on any error.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from kafka.protocol.admin import AlterPartitionReassignmentsRequest, ListPartitionReassignmentsRequest

from barnabas.tools.admin_client import DEADLINE_MS, SERVER_MS, AdminClient, AdminError, Answer
from barnabas.tools.command_config import CommandConfigError, admin_flags, for_kafka_python
from barnabas.tools.entry import run_tool
from barnabas.tools.reassignment_files import (
    Moves,
    ReassignmentFileError,
    parse_brokers,
    parse_moves,
    parse_topics,
    propose,
    render,
)
from cluster.model.errors import ErrorCode
from cluster.model.ids import BrokerId, TopicPartition

ACTIONS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "verify": (frozenset({"reassignment_json_file"}), frozenset({"preserve_throttles"})),
    "generate": (
        frozenset({"topics_to_move_json_file", "broker_list"}),
        frozenset({"disable_rack_aware"}),
    ),
    "execute": (
        frozenset({"reassignment_json_file"}),
        frozenset({"additional", "throttle", "replica_alter_log_dirs_throttle", "timeout"}),
    ),
    "cancel": (frozenset({"reassignment_json_file"}), frozenset({"preserve_throttles", "timeout"})),
    "list": (frozenset(), frozenset()),
}
"""The arguments that each action requires, and those that it permits beside them."""

EXISTING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this "
    "and create a new partition assignment in addition to the existing one. The --additional flag can also "
    "be used to change the throttle by resubmitting the current reassignment."
)


class ReassignCommandError(Exception):
    """What the tool reports before it exits with 1."""


def parser() -> argparse.ArgumentParser:
    """The flags, those of Kafka's tool."""
    flags = admin_flags(
        "kafka-reassign-partitions.sh", "This tool helps to move topic partitions between replicas."
    )
    action = flags.add_mutually_exclusive_group(required=True)
    for name, meaning in (
        ("verify", "say how far the reassignment of the file is"),
        ("generate", "propose a reassignment of whole topics, and carry nothing out"),
        ("execute", "begin the reassignment of the file"),
        ("cancel", "cancel what runs of the reassignment of the file"),
        ("list", "list all reassignments that run"),
    ):
        action.add_argument(f"--{name}", dest="action", action="store_const", const=name, help=meaning)
    flags.add_argument("--reassignment-json-file", type=Path, help="which partition goes to which brokers")
    flags.add_argument("--topics-to-move-json-file", type=Path, help="with --generate: the topics")
    flags.add_argument("--broker-list", metavar="1,2,3", help="with --generate: the brokers to use")
    for name, meaning in (
        ("disable-rack-aware", "with --generate: do not look at racks"),
        ("additional", "with --execute: also where other reassignments run, which may be replaced"),
        ("preserve-throttles", "leave throttles as they are (there are none)"),
    ):
        flags.add_argument(f"--{name}", action="store_true", default=None, help=meaning)
    flags.add_argument("--throttle", type=int, help="refused: replication is not throttled")
    flags.add_argument("--replica-alter-log-dirs-throttle", type=int, help="refused: as --throttle")
    flags.add_argument(
        "--timeout", type=int, help="for moves between log directories, of which there are none"
    )
    return flags


def check(flags: argparse.Namespace) -> None:
    """Refuse arguments that do not fit the action, and those that nothing here can honour."""
    required, permitted = ACTIONS[flags.action]
    given = {name for name, value in vars(flags).items() if value is not None}
    missing = sorted(required - given)
    if missing:
        raise ReassignCommandError(f'Missing required argument "[{_flag(missing[0])}]"')
    for name in sorted(given - required - permitted - {"action", "bootstrap_server", "command_config"}):
        raise ReassignCommandError(f'Option "[{_flag(name)}]" can\'t be used with action "[{flags.action}]"')
    for name in ("throttle", "replica_alter_log_dirs_throttle"):
        if name in given:
            raise ReassignCommandError(
                f"--{_flag(name)} {getattr(flags, name)} cannot be kept: replication is not throttled here; "
                "expected no such flag"
            )


def _flag(name: str) -> str:
    return name.replace("_", "-")


class Cluster:
    """What the tool asks of a cluster.

    Args:
        admin: A client of it.
    """

    def __init__(self, admin: AdminClient) -> None:
        self._admin = admin

    def running(self, deadline_ms: int = DEADLINE_MS) -> dict[TopicPartition, dict[str, list[int]]]:
        """The reassignments that run: ``replicas``, ``adding_replicas`` and ``removing_replicas`` of each.

        Raises:
            AdminError: No controller said so within ``deadline_ms``.
            ReassignCommandError: It refused to.
        """
        request = ListPartitionReassignmentsRequest(topics=None, timeout_ms=SERVER_MS)
        answer = self._admin.ask_controller(request, deadline_ms)
        _demand_success(answer)
        found = {
            TopicPartition(topic.name, one.partition_index): {
                "replicas": list(one.replicas),
                "adding_replicas": list(one.adding_replicas),
                "removing_replicas": list(one.removing_replicas),
            }
            for topic in answer.body.topics
            for one in topic.partitions
        }
        return dict(sorted(found.items()))

    def alter(self, targets: Mapping[TopicPartition, Sequence[int] | None]) -> dict[TopicPartition, str]:
        """Begin or cancel; the errors, by partition, in the controller's words."""
        wanted: dict[str, list[tuple[int, list[int] | None]]] = {}
        for tp, replicas in targets.items():
            wanted.setdefault(tp.topic, []).append(
                (tp.partition, None if replicas is None else list(replicas))
            )
        request = AlterPartitionReassignmentsRequest(topics=list(wanted.items()), timeout_ms=SERVER_MS)
        answer = self._admin.ask_controller(request)
        _demand_success(answer)
        failed = {
            TopicPartition(topic.name, one.partition_index): answer.told(one)
            for topic in answer.body.responses
            for one in topic.partitions
            if one.error_code != ErrorCode.NONE
        }
        return dict(sorted(failed.items()))

    def racks(self) -> dict[BrokerId, str | None]:
        """Every live broker with its rack."""
        return {BrokerId(id_): rack for id_, rack in self._admin.racks().items()}

    def replicas(self, topics: Iterable[str]) -> Moves:
        """The replicas of the partitions of those of ``topics`` that there are."""
        found = self._admin.topics()
        return {
            TopicPartition(name, partition.id): tuple(map(BrokerId, partition.replicas))
            for name in sorted(set(topics) & found.keys())
            for partition in found[name].partitions.values()
        }

    def replicas_of_each(self, topics: Iterable[str]) -> Moves:
        """As `replicas`; a topic that is not there is an error."""
        found = self.replicas(topics)
        for topic in topics:
            if all(tp.topic != topic for tp in found):
                raise ReassignCommandError(f"Error: Topic {topic} not found.")
        return found


def _demand_success(answer: Answer) -> None:
    if answer.body.error_code != ErrorCode.NONE:
        raise ReassignCommandError(f"Error: {answer.told(answer.body)}")


def verify(cluster: Cluster, flags: argparse.Namespace) -> list[str]:
    """Say of each partition whether it is where it shall be."""
    targets = parse_moves(_read(flags.reassignment_json_file))
    running = cluster.running()
    current = cluster.replicas(tp.topic for tp in targets if tp not in running)
    lines = ["Status of partition reassignment:"]
    for tp in sorted(targets):
        here = current.get(tp, ())
        if tp in running:
            lines.append(f"Reassignment of partition {tp} is still in progress.")
        elif here == targets[tp]:
            lines.append(f"Reassignment of partition {tp} is complete.")
        else:
            lines.append(
                f"There is no active reassignment of partition {tp}, but replica set is {_join(here)} rather "
                f"than {_join(targets[tp])}."
            )
    # Here Kafka says how far moves between log directories are.
    return [*lines, ""]


def generate(
    cluster: Cluster, flags: argparse.Namespace, dice: Callable[[], float] = random.random
) -> list[str]:
    """Print what is, and what could be."""
    brokers = parse_brokers(flags.broker_list)
    topics = parse_topics(_read(flags.topics_to_move_json_file))
    current = cluster.replicas_of_each(topics)
    live = cluster.racks()
    racks = {id_: None if flags.disable_rack_aware else live[id_] for id_ in brokers if id_ in live}
    return [
        "Current partition replica assignment",
        render(current),
        "",
        "Proposed partition reassignment configuration",
        render(propose(current, racks, dice)),
    ]


def execute(cluster: Cluster, flags: argparse.Namespace) -> list[str]:
    """Begin, after printing the way back."""
    targets = parse_moves(_read(flags.reassignment_json_file))
    if cluster.running() and not flags.additional:
        raise ReassignCommandError(EXISTING)
    live = cluster.racks()
    for broker in sorted({broker for replicas in targets.values() for broker in replicas}):
        if broker not in live:
            raise ReassignCommandError(f"Error: Unknown broker id {broker}")
    current = cluster.replicas_of_each({tp.topic: None for tp in targets})
    back = {tp: replicas for tp, replicas in current.items() if tp in targets}
    sys.stdout.write(
        f"Current partition replica assignment\n\n{render(back)}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback\n"
    )
    failed = cluster.alter(targets)
    if failed:
        told = "\n".join(f"{tp}: {meaning}" for tp, meaning in failed.items())
        raise ReassignCommandError(f"Error reassigning partition(s):\n{told}")
    return [f"Successfully started partition reassignment{_s(targets)} for {_join(sorted(targets))}"]


def cancel(cluster: Cluster, flags: argparse.Namespace) -> list[str]:
    """Cancel what runs of the file."""
    targets = parse_moves(_read(flags.reassignment_json_file))
    active = [tp for tp in cluster.running() if tp in targets]
    moves = "None of the specified partition moves are active."
    if not active:
        return ["None of the specified partition reassignments are active.", moves]
    failed = cluster.alter(dict.fromkeys(active))
    if failed:
        told = "\n".join(f"{tp}: {meaning}" for tp, meaning in failed.items())
        raise ReassignCommandError(f"Error cancelling partition reassignment{_s(failed)} for:\n{told}")
    return [f"Successfully cancelled partition reassignment{_s(active)} for: {_join(active)}", moves]


def list_running(cluster: Cluster, _: argparse.Namespace) -> list[str]:
    """All that runs."""
    running = cluster.running()
    if not running:
        return ["No partition reassignments found."]
    lines = ["Current partition reassignments:"]
    for tp, told in running.items():
        line = f"{tp}: replicas: {_join(told['replicas'])}."
        if told["adding_replicas"]:
            line += f" adding: {_join(told['adding_replicas'])}."
        if told["removing_replicas"]:
            line += f" removing: {_join(told['removing_replicas'])}."
        lines.append(line)
    return lines


_DEEDS: Mapping[str, Callable[[Cluster, argparse.Namespace], list[str]]] = {
    "verify": verify,
    "generate": generate,
    "execute": execute,
    "cancel": cancel,
    "list": list_running,
}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ReassignCommandError(f"Error: {path} cannot be read: {error.strerror}") from error


def _join(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


def _s(things: Iterable[object]) -> str:
    return "" if len(list(things)) == 1 else "s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    flags = parser().parse_args(arguments)
    try:
        check(flags)
        with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
            lines = _DEEDS[flags.action](Cluster(admin), flags)
    except (ReassignCommandError, CommandConfigError) as error:
        sys.stdout.write(f"{error}\n")
        return 1
    except (ReassignmentFileError, AdminError) as error:
        sys.stdout.write(f"Error: {error}\n")
        return 1
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


if __name__ == "__main__":
    sys.exit(run_tool(main))
