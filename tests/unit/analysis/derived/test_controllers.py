"""The table ``controllers``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.controllers import controllers
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.statechange import RequestLines

pytestmark = pytest.mark.usefixtures("here")


def test_a_controller_epoch_is_one_row(story: Mapping[str, DataFrame]) -> None:
    first, second = story["controllers"].orderBy("controller_epoch").collect()
    assert (first["controller_epoch"], first["controller"], first["changes"], first["lines"]) == (7, 1, 8, 11)
    assert (first["next_controller"], first["next_since"]) == (2, second["since"])
    assert (second["controller"], second["previous_controller"], second["next_controller"]) == (2, 1, None)
    assert (second["since"].minute, second["until"].minute, second["refused"]) == (12, 14, 0)


def test_a_refused_request_begins_no_controller_epoch_but_is_counted(read: Callable[..., DataFrame]) -> None:
    new, old = (RequestLines(BrokerId(3), BrokerId(epoch), ControllerEpoch(epoch), 4) for epoch in (2, 1))
    (row,) = controllers(
        read(
            new.updated_metadata(1, 0).entry("2026-11-21 10:00:00,000")
            + old.stale_update_metadata(ControllerEpoch(2)).entry("2026-11-21 10:00:01,000")
        )
    ).collect()
    assert (row["controller"], row["controller_epoch"], row["lines"]) == (2, 2, 0)
