import pytest

from barnabas.bench.cases import consume
from barnabas.bench.cases.consume import read
from barnabas.bench.clients.producers import write


def test_all_records_are_read(mock_bootstrap):
    write(mock_bootstrap, records=300, size=100)
    assert read(mock_bootstrap, records=300) > 0


def test_records_that_do_not_come_are_no_figure(mock_bootstrap, monkeypatch):
    monkeypatch.setattr(consume, "DEADLINE_S", 0.1)
    with pytest.raises(TimeoutError, match="of 999999 records were read"):
        read(mock_bootstrap, records=999_999)
