"""The options of ``kafka-consumer-groups.sh`` and how they fit together.

Source: ``ConsumerGroupCommandOptions`` in ``kafka.admin.ConsumerGroupCommand`` of Kafka 2.8.
"""

from __future__ import annotations

from barnabas.tools.command_line.options import (
    COMMAND_CONFIG,
    Given,
    Kind,
    Option,
    Options,
    UsageError,
    bootstrap_server,
)
from barnabas.tools.command_line.usage import available_if, refuse_together, require
from barnabas.tools.consumer_groups.consumer_group_tables import STATES

PURPOSE = (
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, or "
    "reset consumer group offsets."
)
PURPOSE_OF_NOTHING = 'Missing required argument "[bootstrap-server]"'
"""The text above the help if nothing is given."""

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
SUBACTIONS = ("members", "offsets", "state")
"""The sections of ``--describe``, of which one may be chosen."""

SCENARIOS = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
"""The options that determine the new offsets of ``--reset-offsets``, of which one must be given."""

DRY_RUN_WARNING = (
    "WARN: No action will be performed as the --execute option is missing.In a future major release, the "
    "default behavior of this command will be to prompt the user before executing the reset rather than "
    "doing a dry run. You should add the --dry-run option explicitly if you are scripting this command "
    "and want to keep the current default behavior without prompting."
)

NO_SCOPE = "One of the reset scopes should be defined: --all-topics, --topic."
NO_SCENARIO = (
    f"Option '[reset-offsets]' requires one of the following scenarios: "
    f"HashSet({', '.join(f'[{each}]' for each in SCENARIOS)})"
)

_OFFSET = "the new offset, which is cut to what the log has"

OPTIONS = Options(
    bootstrap_server("the servers to connect to, separated by commas; required"),
    COMMAND_CONFIG,
    Option("list", "list all consumer groups"),
    Option("describe", "describe groups"),
    Option("delete", "delete groups without members, with their offsets"),
    Option("delete-offsets", "delete the group's offsets of the topics that --topic names"),
    Option("reset-offsets", "reset the offsets of groups without members"),
    Option("group", "the group; can be repeated", "consumer group", repeated=True),
    Option("all-groups", "all consumer groups"),
    Option(
        "topic",
        "a topic, or some of its partitions as topic:0,1,2, for --delete-offsets and --reset-offsets; can be "
        "repeated",
        "topic",
        repeated=True,
    ),
    Option("all-topics", "with --reset-offsets: all partitions for which the group has offsets"),
    Option("timeout", "how long to repeat a request", "timeout (ms)", kind=Kind.LONG, default="5000"),
    Option("members", "with --describe: the members"),
    Option("offsets", "with --describe: the offsets, as without one of --members and --state"),
    Option(
        "state",
        "with --describe: the state; with --list: the states, too, and only groups in the given ones",
        "",
        is_optional=True,
    ),
    Option("verbose", "with --members: the assigned partitions, too"),
    Option("dry-run", "with --reset-offsets: show the new offsets only, as without --execute"),
    Option("execute", "with --reset-offsets: commit the new offsets"),
    Option("export", "with --reset-offsets: show the new offsets as CSV"),
    Option("to-offset", _OFFSET, "offset", kind=Kind.LONG),
    Option("shift-by", "the committed offset, moved by this", "number-of-offsets", kind=Kind.LONG),
    Option(
        "to-datetime", "the offset at a time, as YYYY-MM-DDTHH:mm:SS.sss, in UTC without a zone", "datetime"
    ),
    Option("by-duration", "the offset at a time before now, as PnDTnHnMnS", "duration"),
    Option("to-earliest", "the start of the log"),
    Option("to-latest", "the end of the log"),
    Option("to-current", "the committed offset, or the end of the log without one"),
    Option("from-file", "the offsets in a CSV file as of --export", "path to CSV file"),
)


def check(given: Given) -> None:
    """Check that the options fit together, in Kafka's order.

    Raises:
        UsageError: They do not.
        OptionError: An option was given without the option that it requires.
    """
    for name in ("members", "verbose", "offsets"):
        available_if(given, name, "describe")
    available_if(given, "state", "describe", "list")
    require(given, "bootstrap-server")
    if given.has("describe"):
        _check_describe(given)
    if given.has("delete"):
        _require_groups(given, "delete")
        if given.has("topic"):
            raise UsageError(
                "The consumer does not support topic-specific offset deletion from a consumer group."
            )
    if given.has("delete-offsets") and not (given.has("group") and given.has("topic")):
        raise UsageError("Option [delete-offsets] takes the following options: [group], [topic]")
    if given.has("reset-offsets"):
        _check_reset(given)
    refuse_together(given, "group", ("all-groups", "list"))
    refuse_together(given, "topic", ("list", "describe"))
    if sum(map(given.has, ACTIONS)) != 1:
        actions = ", ".join(f"--{name}" for name in ACTIONS)
        raise UsageError(f"Command must include exactly one action: {actions}")


def parse_states(text: str) -> list[str]:
    """Parse the states of ``--list --state``; none for all.

    Raises:
        UsageError: There is no such state.
    """
    states = [each.strip() for each in text.split(",")] if text else []
    if not set(states) <= set(STATES):
        raise UsageError(f"Invalid state list '{text}'. Valid states are: {', '.join(STATES)}")
    return states


def _check_describe(given: Given) -> None:
    _require_groups(given, "describe")
    if sum(map(given.has, SUBACTIONS)) > 1:
        choices = ", ".join(f"[{name}]" for name in SUBACTIONS)
        raise UsageError(f"Option [describe] takes at most one of these options: {choices}")
    if given.texts("state"):
        raise UsageError("Option [describe] does not take a value for [state]")


def _check_reset(given: Given) -> None:
    if given.has("dry-run") and given.has("execute"):
        raise UsageError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
    _require_groups(given, "reset-offsets")
    for name in SCENARIOS:
        refuse_together(given, name, (each for each in SCENARIOS if each != name))


def _require_groups(given: Given, action: str) -> None:
    if not given.has("group") and not given.has("all-groups"):
        raise UsageError(f"Option [{action}] takes one of these options: [group], [all-groups]")
