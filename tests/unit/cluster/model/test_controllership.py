from __future__ import annotations

from barnabas.cluster.model.controllership import Claim, Controllership, Owner
from barnabas.cluster.model.ids import BrokerId


def test_a_claim_is_the_same_only_at_the_same_version():
    first = Claim(BrokerId(1), Owner.NOBODY, 0)
    assert first == Claim(BrokerId(1), Owner.NOBODY, 0)
    assert first != Claim(BrokerId(1), Owner.NOBODY, 1)


def test_an_empty_cluster_has_neither_a_claim_nor_an_epoch():
    assert Controllership(None) == Controllership(None, 0)
