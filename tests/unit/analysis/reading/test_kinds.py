"""What another release says has a name of its own."""

from __future__ import annotations

from barnabas.analysis.reading.kinds import OtherKind
from barnabas.cluster.model.statechange import Kind


def test_no_kind_of_another_release_is_one_of_ours() -> None:
    assert not {kind.value for kind in OtherKind} & {kind.value for kind in Kind}
