"""``kafka-reassign-partitions.sh``: move partitions to other brokers, through the admin API of KIP-455.

Options and output are those of Kafka 2.8's ``kafka.admin.ReassignPartitionsCommand``. Exit code 0, or 1 on
any error.
"""

from __future__ import annotations

import random
import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Mapping

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.clients.config_client import ConfigClient
from barnabas.tools.command_line.files import read_text
from barnabas.tools.command_line.parser import Parser, ToolError, UsageError, has, long, require
from barnabas.tools.reassignment import throttles
from barnabas.tools.reassignment.log_dir_moves import begin_moves, describe_move, moves_back
from barnabas.tools.reassignment.reassignment_files import (
    Moves,
    parse_brokers,
    parse_log_dirs,
    parse_moves,
    parse_targets,
    parse_topics,
    propose,
    render,
)
from barnabas.tools.reassignment.reassignments import Cluster, ReassignCommandError

_FILE = "reassignment-json-file"
_THROTTLES = ("throttle", "replica-alter-log-dirs-throttle")
_NO_THROTTLE = -1
_TIMEOUT_MS = 10_000

ACTIONS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "generate": (("topics-to-move-json-file", "broker-list"), ("disable-rack-aware", "zookeeper")),
    "execute": ((_FILE,), ("additional", *_THROTTLES, "timeout", "zookeeper")),
    "verify": ((_FILE,), ("preserve-throttles", "zookeeper")),
    "cancel": ((_FILE,), ("preserve-throttles", "timeout")),
    "list": ((), ()),
}
"""The options that each action requires, and those that it permits in addition.

Every action permits the options of the client.
"""

OPTIONS = Parser("kafka-reassign-partitions.sh", "This tool helps to move topic partitions between replicas.")
OPTIONS.add_servers()
OPTIONS.add_argument("--zookeeper", help="ignored; it is deprecated in Kafka, too")
OPTIONS.add_actions(
    verify="print the state of the reassignment of the file; remove throttles once it is complete",
    generate="propose a reassignment of whole topics, without starting it",
    execute="start the reassignment of the file",
    cancel="cancel the running reassignments of the file",
    list="list all running reassignments",
)
OPTIONS.add_argument(f"--{_FILE}", help="the target replicas of each partition")
OPTIONS.add_argument("--topics-to-move-json-file", help="with --generate: the topics")
OPTIONS.add_argument("--broker-list", help='with --generate: the brokers to use, such as "1,2,3"')
for _name in _THROTTLES:
    OPTIONS.add_argument(f"--{_name}", type=long, help="with --execute: bytes per second")
OPTIONS.add_argument(
    "--timeout",
    type=long,
    help=f"ms that a broker may take to create a replica that is to be in a log directory ({_TIMEOUT_MS})",
)
OPTIONS.add_switches(
    disable_rack_aware="with --generate: ignore racks",
    additional="with --execute: allowed while other reassignments run, which it may replace",
    preserve_throttles="do not remove throttles",
)

EXISTING = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to override this "
    "and create a new partition assignment in addition to the existing one. The --additional flag can also "
    "be used to change the throttle by resubmitting the current reassignment."
)

VERIFY_PERIODICALLY = (
    "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle "
    "is removed."
)


def check(flags: Namespace) -> str:
    """Check that the options fit the action, and return the action.

    Raises:
        UsageError: They do not fit; the message names them.
    """
    action = next(name for name in ACTIONS if has(flags, name))
    required, permitted = ACTIONS[action]
    require(flags, *required)
    for name in {option for lists in ACTIONS.values() for options in lists for option in options}:
        if has(flags, name) and name not in (*required, *permitted):
            raise UsageError(f"--{name} is not for --{action}")
    return action


def verify(cluster: Cluster, settings: ConfigClient, flags: Namespace) -> None:
    """Print whether each partition has its target replicas; if nothing moves any more, remove throttles."""
    text = read_text(flags.reassignment_json_file)
    targets, log_dirs = parse_targets(text), parse_log_dirs(text)
    running = cluster.running()
    current = cluster.replicas(tp.topic for tp in targets if tp not in running)
    say("Status of partition reassignment:")
    for tp in sorted(targets):
        here = current.get(tp, ())
        if tp in running:
            say(f"Reassignment of partition {tp} is still in progress.")
        elif here == targets[tp]:
            say(f"Reassignment of partition {tp} is complete.")
        else:
            say(
                f"There is no active reassignment of partition {tp}, but replica set is {_join(here)} rather "
                f"than {_join(targets[tp])}."
            )
    placements = cluster.log_dirs.placements(log_dirs)
    say("\n".join(describe_move(each, log_dirs[each], placements[each]) for each in sorted(log_dirs)))
    is_moving = any(each.future is not None for each in placements.values())
    if not running and not is_moving and not flags.preserve_throttles:
        clear_throttles(cluster, settings, targets)


def clear_throttles(cluster: Cluster, settings: ConfigClient, targets: Moves) -> None:
    """Remove every throttle of live brokers, and of the topics of ``targets``.

    A dead broker of ``targets`` keeps its throttles, and a warning names it.
    """
    live = set(cluster.racks())
    dead = {broker for replicas in targets.values() for broker in replicas} - live
    say(f"Clearing broker-level throttles on broker{_s(live)} {_join(sorted(live))}")
    throttles.clear_brokers(settings, live)
    if dead:
        sys.stderr.write(
            f"Warning: broker-level throttles of dead broker{_s(dead)} {_join(sorted(dead))} were not "
            f"removed; live brokers: {_join(sorted(live))}. If throttles were set, run --verify again when "
            "all brokers are live\n"
        )
    topics = {tp.topic for tp in targets}
    say(f"Clearing topic-level throttles on topic{_s(topics)} {_join(sorted(topics))}")
    throttles.clear_topics(settings, topics)


def generate(
    cluster: Cluster,
    _: ConfigClient,
    flags: Namespace,
    dice: Callable[[], float] = random.random,
) -> None:
    """Print the current assignment and a proposed one."""
    brokers = parse_brokers(flags.broker_list)
    topics = parse_topics(read_text(flags.topics_to_move_json_file))
    current = cluster.replicas_of_each(topics)
    live = cluster.racks()
    racks = {id_: None if flags.disable_rack_aware else live[id_] for id_ in brokers if id_ in live}
    proposed = propose(current, racks, dice)
    say(f"Current partition replica assignment\n{render(current)}\n")
    say(f"Proposed partition reassignment configuration\n{render(proposed)}")


def execute(cluster: Cluster, settings: ConfigClient, flags: Namespace) -> None:
    """Print the current assignment, for a rollback, and start the reassignment."""
    text = read_text(flags.reassignment_json_file)
    targets, log_dirs = parse_moves(text), parse_log_dirs(text)
    running = cluster.running()
    if running and not flags.additional:
        raise ReassignCommandError(EXISTING)
    live = cluster.racks()
    for tp, replicas in sorted(targets.items()):
        for broker in replicas:
            if broker not in live:
                raise ToolError(
                    f"Unknown broker id {broker} among the replicas of {tp}: it is dead or does not "
                    f"exist; expected live brokers: {_join(sorted(live))}"
                )
    current = cluster.replicas_of_each({tp.topic: None for tp in targets})
    back = {tp: replicas for tp, replicas in current.items() if tp in targets}
    say(f"Current partition replica assignment\n\n{render(back)}\n")
    say("Save this to use as the --reassignment-json-file option during rollback")
    movers = {replica.broker for replica in log_dirs}
    set_throttles(settings, flags, lambda: throttles.moves(running, targets, back), movers)
    failed = cluster.alter(targets)
    if failed:
        errors = "\n".join(f"{tp}: {message}" for tp, message in failed.items())
        raise ReassignCommandError(f"Error reassigning partition(s):\n{errors}")
    say(f"Successfully started partition reassignment{_s(targets)} for {_join(sorted(targets))}")
    if log_dirs:
        begin_moves(cluster.log_dirs, log_dirs, _timeout_ms(flags), say)


def set_throttles(
    settings: ConfigClient,
    flags: Namespace,
    moving: Callable[[], Mapping[TopicPartition, throttles.Move]],
    movers: Collection[int],
) -> None:
    """Set the requested throttles; a negative one means none.

    Args:
        settings: Sets them.
        flags: The rates.
        moving: Returns the partitions that move between brokers.
        movers: The brokers that move replicas between their log directories.
    """
    between, within = (
        _NO_THROTTLE if rate is None else rate
        for rate in (flags.throttle, flags.replica_alter_log_dirs_throttle)
    )
    if between < 0 and within < 0:
        return
    say(VERIFY_PERIODICALLY)
    if between >= 0:
        throttles.throttle(settings, moving(), between)
        say(f"The inter-broker throttle limit was set to {between} B/s")
    if within >= 0:
        throttles.throttle_log_dirs(settings, movers, within)
        say(f"The replica-alter-dir throttle limit was set to {within} B/s")


def cancel(cluster: Cluster, settings: ConfigClient, flags: Namespace) -> None:
    """Cancel the running reassignments and moves of the file, and remove throttles."""
    text = read_text(flags.reassignment_json_file)
    targets = parse_targets(text)
    active = [tp for tp in cluster.running() if tp in targets]
    if active:
        failed = cluster.alter(dict.fromkeys(active))
        if failed:
            errors = "\n".join(f"{tp}: {message}" for tp, message in failed.items())
            raise ReassignCommandError(f"Error cancelling partition reassignment{_s(failed)} for:\n{errors}")
        say(f"Successfully cancelled partition reassignment{_s(active)} for: {_join(active)}")
    else:
        say("None of the specified partition reassignments are active.")
    back = moves_back(cluster.log_dirs.placements(parse_log_dirs(text)))
    if back:
        begin_moves(cluster.log_dirs, back, _timeout_ms(flags), say)
    else:
        say("None of the specified partition moves are active.")
    if not flags.preserve_throttles:
        clear_throttles(cluster, settings, targets)


def list_running(cluster: Cluster, _: ConfigClient, __: Namespace) -> None:
    """Print all running reassignments."""
    running = cluster.running()
    if not running:
        say("No partition reassignments found.")
        return
    say("Current partition reassignments:")
    for tp, reassignment in running.items():
        line = f"{tp}: replicas: {_join(reassignment['replicas'])}."
        if reassignment["adding_replicas"]:
            line += f" adding: {_join(reassignment['adding_replicas'])}."
        if reassignment["removing_replicas"]:
            line += f" removing: {_join(reassignment['removing_replicas'])}."
        say(line)


_ACTIONS: Mapping[str, Callable[[Cluster, ConfigClient, Namespace], None]] = {
    "generate": generate,
    "execute": execute,
    "verify": verify,
    "cancel": cancel,
    "list": list_running,
}


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def _timeout_ms(flags: Namespace) -> int:
    return _TIMEOUT_MS if flags.timeout is None else int(flags.timeout)


def _join(values: Iterable[object]) -> str:
    return ",".join(map(str, values))


def _s(things: Collection[object]) -> str:
    return "" if len(things) == 1 else "s"


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Carry out the options, and return the exit code."""
    action = check(flags)
    if flags.zookeeper is not None:
        say(
            "Warning: ignoring deprecated --zookeeper option because --bootstrap-server was specified.  The "
            "--zookeeper option will be removed in a future version of Kafka."
        )
    try:
        with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
            _ACTIONS[action](Cluster(admin), ConfigClient(admin), flags)
    except ToolError as error:
        say(str(error) if isinstance(error, ReassignCommandError) else f"Error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
