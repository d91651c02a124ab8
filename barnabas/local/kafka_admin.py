"""kafka-python's admin client, for processes that outlive a cluster that does not answer."""

from __future__ import annotations

from typing import Any

import kafka


class KafkaAdmin(kafka.KafkaAdminClient):  # type: ignore[misc]  # the library has no types
    """An admin client that leaves nothing behind if it cannot be made.

    If no broker answers, the constructor of kafka-python 3.0 raises, and its network thread, which nobody can
    reach any more, tries to connect for ever.

    Raises:
        kafka.errors.KafkaError: No broker answered.
    """

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except BaseException:
            if hasattr(self, "_net"):
                self._closed = False  # otherwise `close` takes it for closed
                self.close()
            raise
