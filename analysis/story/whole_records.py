"""Metadata logs of which no record is missing: a setting that no record gives is not set."""

from __future__ import annotations

from datetime import datetime

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import RECORD

_FIRST = f"{RECORD}0,"
"""The begin of the text of the first record of a metadata log."""


def recorded_topics(observed: Observed) -> dict[str, datetime]:
    """Return the topics of a metadata log that is whole from its first record, with the time of its last one.

    A snapshot, whose settings are not read, stands for the records before it. Of the logs of several clusters
    it is not known of which one a topic without records is.
    """
    lines = [each for each in observed.brokers if each.line.text.startswith(RECORD)]
    states = [each for each in observed.states if each.line.text.startswith(RECORD)]
    texts = (*(each.line.text for each in lines), *(each.line.text for each in states))
    is_whole = any(text.startswith(_FIRST) for text in texts)
    clusters = {each.cluster for each in observed.brokers} - {None}
    if not is_whole or len(clusters) > 1 or observed.about(None, BrokerKind.RECORDS_MISSING):
        return {}
    until = max((*(each.time for each in lines), *(each.first_logged for each in states)))
    return dict.fromkeys((each.topic for each in states), until)
