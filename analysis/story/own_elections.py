"""The elections of each broker as the controller, looked up by time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from datetime import datetime

from barnabas.analysis.story.rows import Controller


class OwnElections:
    """The elections of each broker as the controller.

    Args:
        controllers: As in ``Observed``, in any order.
    """

    def __init__(self, controllers: Iterable[Controller]) -> None:
        self._by_broker: dict[int, list[Controller]] = {}
        for each in controllers:
            self._by_broker.setdefault(each.broker, []).append(each)
        for own in self._by_broker.values():
            own.sort(key=_since)

    def last(self, broker: int | None, time: datetime) -> Controller | None:
        """Return the last election of a broker up to a moment; None if there is none."""
        own = self._by_broker.get(broker, []) if broker is not None else []
        index = bisect_right(own, time, key=_since)
        return own[index - 1] if index else None

    def next(self, broker: int, time: datetime) -> Controller | None:
        """Return the first election of a broker after a moment; None if there is none."""
        own = self._by_broker.get(broker, [])
        index = bisect_right(own, time, key=_since)
        return own[index] if index < len(own) else None


def _since(controller: Controller) -> datetime:
    return controller.since
