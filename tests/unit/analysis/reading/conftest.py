"""What a line of any release says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.analysis.reading.releases.lines import locate_message
from barnabas.cluster.model.statechange import Message, Speaker


@pytest.fixture(scope="session")
def said() -> Callable[[str], Message]:
    """Reads the text of a line, without its time, level and logger."""

    def read(text: str) -> Message:
        located = locate_message(text)
        prefix = located.prefix
        number, epoch = (span and int(text[slice(*span)]) for span in (prefix.id_span, prefix.epoch_span))
        if located.template is None:
            return Message(None, prefix.speaker, number, epoch, {})
        values = located.template.read_spans(text, located.spans)
        if "speaker_id" in values:
            return Message(located.template.kind, Speaker.BROKER, values["speaker_id"], epoch, values)
        return Message(located.template.kind, prefix.speaker, number, epoch, values)

    return read
