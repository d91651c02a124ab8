"""The SCRAM credentials of users, as ``kafka-configs.sh`` describes and alters them.

The tool salts the password, so that it never leaves the machine. Source:
``ConfigCommand.alterUserScramCredentialConfigs`` and ``iterationsAndPasswordBytes`` of Kafka 2.8; KIP-554.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence

from kafka.protocol.admin import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.scram import BY_NAME, MIN_ITERATIONS, ScramMechanism
from barnabas.tools.clients.admin_client import AdminClient
from barnabas.tools.clients.refusals import Refusal, demand_success
from barnabas.tools.configs.config_flags import DEFAULT_ENTITY, InvalidArgument

_CREDENTIAL = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)
_BY_DEFAULT = "-1"
_SALT_BYTES = 24


def are_scram(names: Iterable[str]) -> bool:
    """Return whether settings of a user are SCRAM credentials.

    Raises:
        InvalidArgument: Both kinds are to be altered at once.
    """
    scram = [name in BY_NAME for name in names]
    if any(scram) and not all(scram):
        raise InvalidArgument(
            "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using "
            "--bootstrap-server."
        )
    return any(scram)


def describe_credentials(admin: AdminClient, user: str | None) -> list[str]:
    """Return the lines of ``--describe`` for a user, or for all users.

    Raises:
        Refusal: The broker refused.
        AdminError: No broker answered.
    """
    request = DescribeUserScramCredentialsRequest(users=None if user is None else [(user,)])
    answer = admin.ask(request)
    demand_success(answer)
    lines = []
    for each in answer.results:
        error = ErrorCode.from_code(each.error_code)
        what = f"SCRAM credential configs for user-principal '{each.user}'"
        if error is ErrorCode.NONE:
            infos = ", ".join(
                f"{ScramMechanism(info.mechanism).mechanism_name}=iterations={info.iterations}"
                for info in each.credential_infos
            )
            lines.append(f"{what} are {infos}")
        elif error is not ErrorCode.RESOURCE_NOT_FOUND:
            lines.append(f"Error retrieving {what}: {each.error_message}")
    return lines


def alter_credentials(admin: AdminClient, user: str, added: Mapping[str, str], deleted: Sequence[str]) -> str:
    """Alter the credentials of a user, and return the line to print.

    Raises:
        InvalidArgument: A credential is malformed; the message does not repeat it.
        Refusal: The controller refused.
        AdminError: No broker answered.
    """
    if user == DEFAULT_ENTITY:
        raise InvalidArgument(
            "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
            "--bootstrap-server."
        )
    upsertions = [(user, *salted(BY_NAME[name], text)) for name, text in added.items()]
    deletions = [(user, int(BY_NAME[name])) for name in deleted]
    request = AlterUserScramCredentialsRequest(deletions=deletions, upsertions=upsertions)
    answer = admin.ask_controller(request)
    (result,) = answer.body.results
    error = ErrorCode.from_code(result.error_code)
    if error is not ErrorCode.NONE:
        raise Refusal(error, answer.message_of(result))
    return f"Completed updating config for user {user}."


def salted(mechanism: ScramMechanism, text: str) -> tuple[int, int, bytes, bytes]:
    """Return mechanism, iterations, salt and salted password of ``[iterations=<n>,]password=<password>``.

    Raises:
        InvalidArgument: The text is malformed, or there are too few iterations.
    """
    name, found = mechanism.mechanism_name, _CREDENTIAL.fullmatch(text)
    if found is None or found[1] in {"", "-"}:
        raise InvalidArgument(
            f"Invalid credential property {name}: expected [iterations=<number>,password=<password>]"
        )
    iterations = MIN_ITERATIONS if found[1] in {None, _BY_DEFAULT} else int(found[1])
    if iterations < MIN_ITERATIONS:
        raise InvalidArgument(
            f"Iterations {iterations} is less than the minimum {MIN_ITERATIONS} required for {name}"
        )
    salt = secrets.token_bytes(_SALT_BYTES)
    return int(mechanism), iterations, salt, mechanism.salted_password(found[2], salt, iterations)
