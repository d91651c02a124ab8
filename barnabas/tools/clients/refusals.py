"""The refusals of the cluster."""

from __future__ import annotations

from typing import Any

from barnabas.cluster.model.errors import ErrorCode
from barnabas.tools.command_line.java_errors import java_class
from barnabas.tools.command_line.parser import ToolError


class Refusal(ToolError):
    """A refusal of the cluster; its text begins with the name of Java's exception, which scripts look for.

    Attributes:
        error: The error code.
    """

    def __init__(self, error: ErrorCode, text: str | None = None) -> None:
        super().__init__(f"{java_class(error)}: {text or error.meaning}")
        self.error = error


def demand_success(result: Any) -> None:
    """Check a result, which has ``error_code`` and ``error_message``.

    Raises:
        Refusal: It has an error.
    """
    error = ErrorCode.from_code(result.error_code)
    if error is not ErrorCode.NONE:
        raise Refusal(error, result.error_message)
