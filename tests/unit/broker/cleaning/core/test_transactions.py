from __future__ import annotations

from barnabas.broker.cleaning.core.transactions import CleanedTransactions
from barnabas.broker.core.records.record_batch import RecordBatch, parse_header
from barnabas.broker.core.records.transactions import AbortedTransaction, end_marker
from tests.batches import keyed_batch
from tests.unit.broker.conftest import marker, transactional


def parsed(data):
    return RecordBatch(parse_header(data), memoryview(data))


def data_of(producer_id, offset):
    return parsed(
        transactional(keyed_batch([(b"k", b"v")], base_offset=offset, producer=(producer_id, 0, 0)))
    )


def end_of(producer_id, offset, kind):
    return parsed(marker(kind, (producer_id, 0), offset))


ABORTED = AbortedTransaction(9, 1, 3, 4)


def may_drop(transactions, batch):
    return transactions.may_drop_marker(batch.header, end_marker(batch))


def test_data_of_an_aborted_transaction_goes_and_its_marker_stays_for_now():
    transactions = CleanedTransactions([ABORTED])
    assert not transactions.is_aborted(data_of(8, 0).header)
    assert transactions.is_aborted(data_of(9, 1).header)
    assert not transactions.is_aborted(data_of(8, 2).header)
    assert not may_drop(transactions, end_of(9, 3, 0))
    assert transactions.kept == [ABORTED]
    assert not may_drop(transactions, end_of(8, 4, 1))
    # What the producers write next is no part of these.
    assert not transactions.is_aborted(data_of(9, 5).header)
    assert may_drop(transactions, end_of(8, 6, 1))


def test_a_marker_whose_data_is_gone_may_go():
    transactions = CleanedTransactions([ABORTED])
    assert may_drop(transactions, end_of(9, 3, 0))
    assert may_drop(transactions, end_of(8, 4, 1))
    assert may_drop(transactions, end_of(7, 5, 0))
    assert transactions.may_drop_marker(end_of(9, 6, 0).header, None)
    assert transactions.kept == []


def test_records_of_no_transaction_are_never_aborted():
    transactions = CleanedTransactions([ABORTED])
    plain = parsed(keyed_batch([(b"k", b"v")], base_offset=2, producer=(9, 0, 0)))
    assert not transactions.is_aborted(plain.header)
