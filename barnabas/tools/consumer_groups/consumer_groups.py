"""``kafka-consumer-groups.sh``: list, describe, delete and reset consumer groups.

Options and output are those of Kafka 2.8's ``kafka.admin.ConsumerGroupCommand``. An error at run time is
printed and the exit code is 0 all the same; it is 1 for options that do not fit together.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.command_config import for_kafka_python
from barnabas.tools.clients.groups import Group
from barnabas.tools.clients.refusals import Refusal
from barnabas.tools.clients.requests import EARLIEST, LATEST, UNKNOWN_OFFSET, Requests
from barnabas.tools.command_line.files import read_text
from barnabas.tools.command_line.parser import Parser, ToolError, UsageError, has, long, refuse_together
from barnabas.tools.consumer_groups.consumer_group_tables import (
    STATES,
    deleted_offsets_table,
    deletion_lines,
    error_line,
    listing,
    members_table,
    notice,
    offset_rows,
    offsets_table,
    reset_table,
    state_table,
)
from barnabas.tools.consumer_groups.offset_resets import (
    Plan,
    cut_to_range,
    format_plan,
    parse_date_time,
    parse_duration,
    parse_plan,
    parse_topic,
    shifted,
)

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
SUBACTIONS = ("members", "offsets", "state")
"""The sections of ``--describe``, of which one may be chosen."""

DRY_RUN_WARNING = (
    "WARN: No action will be performed as the --execute option is missing.In a future major release, the "
    "default behavior of this command will be to prompt the user before executing the reset rather than "
    "doing a dry run. You should add the --dry-run option explicitly if you are scripting this command "
    "and want to keep the current default behavior without prompting."
)

OPTIONS = Parser(
    "kafka-consumer-groups.sh",
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or "
    "reset consumer group offsets.",
)
OPTIONS.add_servers()
OPTIONS.add_actions(
    list="list all consumer groups",
    describe="describe groups",
    delete="delete groups without members, with their offsets",
    reset_offsets="reset the offsets of groups without members",
    delete_offsets="delete the group's offsets of the topics that --topic names",
)
OPTIONS.add_lists(
    group="the group",
    topic="a topic, or some of its partitions as topic:0,1,2, for --delete-offsets and --reset-offsets",
)
OPTIONS.add_argument(
    "--timeout", type=long, default=5000, metavar="MS", help="how long to repeat a request (%(default)s)"
)
OPTIONS.add_argument(
    "--state",
    nargs="?",
    const="",
    help="with --describe: the state; with --list: the states, too, and only groups in the given ones",
)
OPTIONS.add_switches(
    all_groups="all consumer groups",
    all_topics="with --reset-offsets: all partitions for which the group has offsets",
    members="with --describe: the members",
    offsets="with --describe: the offsets, as without one of --members and --state",
    verbose="with --members: the assigned partitions, too",
    dry_run="with --reset-offsets: show the new offsets only, as without --execute",
    execute="with --reset-offsets: commit the new offsets",
    export="with --reset-offsets: show the new offsets as CSV",
)
_scenario = OPTIONS.add_mutually_exclusive_group()
_scenario.add_argument("--to-offset", type=long, help="the new offset, which is cut to what the log has")
_scenario.add_argument("--shift-by", type=long, help="the committed offset, moved by this")
_scenario.add_argument("--to-datetime", help="the offset at YYYY-MM-DDTHH:mm:SS.sss, in UTC without a zone")
_scenario.add_argument("--by-duration", help="the offset at a time before now, as PnDTnHnMnS")
_scenario.add_argument("--to-earliest", action="store_true", help="the start of the log")
_scenario.add_argument("--to-latest", action="store_true", help="the end of the log")
_scenario.add_argument(
    "--to-current", action="store_true", help="the committed offset, or the end of the log without one"
)
_scenario.add_argument("--from-file", help="the offsets in a CSV file as of --export")


def check(flags: Namespace) -> None:
    """Check that the options fit together.

    Raises:
        UsageError: They do not.
    """
    action = next(name for name in ACTIONS if has(flags, name))
    for name in ("members", "verbose", "offsets", "state"):
        if has(flags, name) and action != "describe" and (name, action) != ("state", "list"):
            raise UsageError(f"--{name} is not for --{action}")
    if action in ("describe", "delete", "reset-offsets") and not flags.group and not flags.all_groups:
        raise UsageError(f"--{action} needs one of --group, --all-groups")
    if action == "delete-offsets" and not (flags.group and flags.topic):
        raise UsageError("--delete-offsets needs --group and --topic")
    if sum(has(flags, name) for name in SUBACTIONS) > 1:
        raise UsageError(f"--describe takes one of {', '.join(f'--{name}' for name in SUBACTIONS)}")
    if flags.describe and flags.state:
        raise UsageError("--state takes no value with --describe")
    refuse_together(flags, "dry-run", ("execute",))
    refuse_together(flags, "group", ("all-groups", "list"))
    refuse_together(flags, "topic", ("list", "describe", "delete"))


def parse_states(text: str) -> list[str]:
    """Parse the states of ``--list --state``; none for all.

    Raises:
        UsageError: There is no such state.
    """
    states = [each.strip() for each in text.split(",")] if text else []
    if not set(states) <= set(STATES):
        raise UsageError(f"Invalid state list '{text}'. Valid states are: {', '.join(STATES)}")
    return states


Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Command:
    """A command line and the client to carry it out.

    Attributes:
        requests: The client.
        flags: The options.
    """

    requests: Requests
    flags: Namespace

    @property
    def groups(self) -> list[str]:
        """Return the groups that the options name, each once."""
        return list(self.requests.list_groups() if self.flags.all_groups else dict.fromkeys(self.flags.group))

    @property
    def only_group(self) -> str | None:
        """Return the group of ``--group`` if there is one only."""
        return self.flags.group[0] if len(self.flags.group) == 1 else None


def list_groups(command: Command) -> None:
    """Print the names of all groups, and their states with ``--state``."""
    if command.flags.state is None:
        _print(command.requests.list_groups())
        return
    _print(listing(command.requests.list_groups(parse_states(command.flags.state))))


def describe(command: Command) -> None:
    """Print the offsets, the members or the state of each group."""
    requests, flags = command.requests, command.flags
    groups = [requests.describe_group(name) for name in sorted(command.groups)]
    table: Callable[[Group], list[str]]
    if flags.members:
        table = lambda group: members_table(group, verbose=flags.verbose)  # noqa: E731
    elif flags.state is not None:
        table = state_table
    else:
        # All offsets are requested before anything is printed, so that an error is printed alone.
        tables = {group.name: _offsets_table(requests, group) for group in groups}
        table = lambda group: tables[group.name]  # noqa: E731
    for group in groups:
        message = notice(group)
        if message is not None:
            (sys.stderr if message.is_stderr else sys.stdout).write(f"{message.text}\n")
        sys.stderr.flush()
        if group.state != "Dead":
            _print(table(group))


def delete(command: Command) -> None:
    """Delete groups."""
    errors = {name: _error_text(command.requests.delete_group(name)) for name in command.groups}
    _print(deletion_lines(errors))


def delete_offsets(command: Command) -> None:
    """Delete the group's offsets of some topics or partitions."""
    (group,) = command.flags.group[-1:]
    results: dict[TopicPartition, str | None] = {}
    partitions: list[TopicPartition] = []
    for topic, numbers in map(parse_topic, command.flags.topic):
        try:
            partitions += _partitions(command.requests, topic, numbers)
        except Refusal as error:
            results[TopicPartition(topic, -1)] = str(error)
    whole, each = command.requests.delete_offsets(group, partitions)
    for tp in partitions:
        code = whole or each[tp]
        results[tp] = _error_text(code)
    overall = next((code for code in (whole, *each.values()) if code), ErrorCode.NONE)
    _print([_deletion_result(overall, group, command.flags.topic), *deleted_offsets_table(results)])


def _deletion_result(error: ErrorCode, group: str, topics: Iterable[str]) -> str:
    match error:
        case ErrorCode.NONE:
            return f"Request succeed for deleting offsets with topic {', '.join(topics)} group {group}"
        case ErrorCode.INVALID_GROUP_ID:
            return error_line(f"'{group}' is not valid.")
        case ErrorCode.GROUP_ID_NOT_FOUND:
            return error_line(f"'{group}' does not exist.")
        case ErrorCode.GROUP_AUTHORIZATION_FAILED:
            return error_line(f"Access to '{group}' is not authorized.")
        case ErrorCode.NON_EMPTY_GROUP:
            return error_line(
                f"Deleting offsets of a consumer group '{group}' is forbidden if the group is not empty."
            )
        case (
            ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
            | ErrorCode.TOPIC_AUTHORIZATION_FAILED
            | ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ):
            return error_line("Encounter some partition level error, see the follow-up details:")
        case other:
            return error_line(f"Encounter some unknown error: {other.name}")


def reset_offsets(command: Command) -> None:
    """Reset the offsets of the groups that have no members, or show the new ones."""
    plan: Plan = {}
    for group in map(command.requests.describe_group, command.groups):
        if group.state not in ("Empty", "Dead"):
            reason = f"is inactive, but the current state is {group.state}."
            _print([error_line(f"Assignments can only be reset if the group '{group.name}' {reason}")])
            plan[group.name] = {}
            continue
        plan[group.name] = new_offsets(command, group.name)
        if command.flags.execute:
            command.requests.commit(group.name, plan[group.name])
    if command.flags.export:
        _print([format_plan(plan, with_group=command.only_group is None)])
    else:
        _print(reset_table(plan))


def new_offsets(command: Command, group: str) -> dict[TopicPartition, int]:
    """Return the offsets to which the options reset ``group``."""
    requests, flags = command.requests, command.flags
    partitions = _scope(command, group)
    if flags.to_offset is not None:
        return _cut(requests, dict.fromkeys(partitions, flags.to_offset))
    if flags.to_earliest:
        return requests.offsets_at(partitions, EARLIEST)
    if flags.to_latest:
        return requests.offsets_at(partitions, LATEST)
    if flags.shift_by is not None:
        return _cut(requests, shifted(partitions, requests.committed(group), flags.shift_by))
    if flags.to_datetime is not None:
        return _at_time(requests, partitions, parse_date_time(flags.to_datetime))
    if flags.by_duration is not None:
        then_ns = time.time_ns() - parse_duration(flags.by_duration)
        return _at_time(requests, partitions, then_ns // 1_000_000)
    if flags.from_file is not None:
        plan = parse_plan(read_text(flags.from_file), command.only_group)
        if group not in plan:
            _print([error_line(f"No reset plan for group {group} found")])
        return _cut(requests, plan.get(group, {}))
    if flags.to_current:
        committed = requests.committed(group)
        ends = requests.offsets_at([tp for tp in partitions if tp not in committed], LATEST)
        return {tp: committed[tp] if tp in committed else ends[tp] for tp in partitions}
    raise UsageError("--reset-offsets needs one of the options that say the new offsets")


def _scope(command: Command, group: str) -> list[TopicPartition]:
    if command.flags.all_topics:
        return list(command.requests.committed(group))
    if command.flags.topic:
        named = map(parse_topic, command.flags.topic)
        return [tp for topic, numbers in named for tp in _partitions(command.requests, topic, numbers)]
    if command.flags.from_file is not None:
        return []
    raise UsageError("--reset-offsets needs one of --all-topics, --topic")


def _partitions(requests: Requests, topic: str, numbers: list[int] | None) -> list[TopicPartition]:
    if numbers is None:
        return requests.partitions_of(topic)
    return [TopicPartition(topic, number) for number in numbers]


def _cut(requests: Requests, wanted: Offsets) -> dict[TopicPartition, int]:
    starts, ends = requests.offsets_at(wanted, EARLIEST), requests.offsets_at(wanted, LATEST)
    offsets, warnings = cut_to_range(wanted, starts, ends)
    for warning in warnings:
        sys.stderr.write(f"WARN: {warning}\n")
    return offsets


def _at_time(
    requests: Requests, partitions: Iterable[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    """Return the first offset with a record of that time or later, or the end of the log."""
    found = requests.offsets_at(partitions, timestamp)
    ends = requests.offsets_at([tp for tp, offset in found.items() if offset == UNKNOWN_OFFSET], LATEST)
    return {**found, **ends}


def _offsets_table(requests: Requests, group: Group) -> list[str]:
    committed = requests.committed(group.name)
    wanted = {*committed, *(tp for member in group.members for tp in member.assigned)}
    return offsets_table(offset_rows(group, committed, requests.offsets_at(sorted(wanted), LATEST)))


def _error_text(error: ErrorCode) -> str | None:
    if error is ErrorCode.NONE:
        return None
    return str(Refusal(error))


def _print(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


_RUN: Mapping[str, Callable[[Command], None]] = {
    "list": list_groups,
    "describe": describe,
    "delete": delete,
    "reset-offsets": reset_offsets,
    "delete-offsets": delete_offsets,
}


@OPTIONS.main
def main(flags: Namespace) -> int:
    """Run the action that the options name, and return the exit code."""
    check(flags)
    if flags.reset_offsets and not flags.dry_run and not flags.execute:
        sys.stderr.write(f"{DRY_RUN_WARNING}\n")
    action = next(name for name in ACTIONS if has(flags, name))
    try:
        with AdminClient(flags.bootstrap_server, for_kafka_python(flags.command_config)) as admin:
            _RUN[action](Command(Requests(admin, flags.timeout), flags))
    except ToolError as error:
        _print([error_line(f"Executing consumer group command failed due to {error}")])
    return 0


if __name__ == "__main__":
    sys.exit(main())
