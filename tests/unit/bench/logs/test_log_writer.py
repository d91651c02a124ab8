from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from aiokafka.record.default_records import DefaultRecordBatch

from barnabas.bench.logs.log_writer import RECORD_SIZE, RECORDS_PER_BATCH, TP, build_batch, open_directory
from barnabas.cluster.model.epochs import LeaderEpoch


def test_a_client_library_reads_the_batches():
    batch = DefaultRecordBatch(build_batch())
    assert batch.validate_crc()
    records = list(batch)
    assert [record.offset for record in records] == list(range(RECORDS_PER_BATCH))
    assert {len(record.value) for record in records} == {RECORD_SIZE}
    assert {record.key for record in records} == {None}


def test_a_log_takes_them(tmp_path):
    with ThreadPoolExecutor(max_workers=1) as executor:
        dirs = open_directory(tmp_path, executor)
        log = dirs.get_or_create(TP)
        assert log.append_as_leader(build_batch(3, 10), LeaderEpoch(0)).required_offset == 3
        dirs.close()
