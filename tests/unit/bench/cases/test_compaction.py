import pytest

from barnabas.bench.cases.compaction import MEGABYTE, figures
from barnabas.broker.cleaning.report import statistics
from barnabas.broker.cleaning.rewrite import CleaningStats
from barnabas.cluster.model.ids import TopicPartition


def test_the_figures_are_those_that_the_log_cleaner_says():
    mb = 2**20
    stats = CleaningStats(map_bytes_read=3000 * mb, bytes_read=5000 * mb, index_s=15.0, elapsed_s=40.0)
    processed, read = figures(statistics(0, TopicPartition("t", 0), 0, 9, stats))
    assert processed == pytest.approx(125 * MEGABYTE)
    assert read == pytest.approx(200 * MEGABYTE)


def test_a_cleaner_that_says_no_figures_is_named():
    with pytest.raises(ValueError, match="no figures"):
        figures("nothing")
