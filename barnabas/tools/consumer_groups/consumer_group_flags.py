"""The options of ``kafka-consumer-groups.sh`` and how they fit together.

Source: ``ConsumerGroupCommandOptions`` in ``kafka.admin.ConsumerGroupCommand`` of Kafka 2.8.
"""

from __future__ import annotations

from argparse import Namespace

from barnabas.tools.command_line.parser import Parser, UsageError, has, long, refuse_together
from barnabas.tools.consumer_groups.consumer_group_tables import STATES

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
