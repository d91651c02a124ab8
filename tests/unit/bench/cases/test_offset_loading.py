import pytest

from barnabas.bench.cases.offset_loading import loaded_ms, replace_log
from barnabas.broker.core.group.log_reading import GroupLoad
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.steps import at_once


def test_the_log_has_the_commits_that_its_sizes_say(tmp_path):
    (tmp_path / "__consumer_offsets-0").mkdir()
    index = tmp_path / "__consumer_offsets-0" / f"{0:020}.index"
    index.touch()
    replace_log(tmp_path, records=1205, partitions=150)
    assert not index.exists()
    load = GroupLoad()
    data = (tmp_path / "__consumer_offsets-0" / f"{0:020}.log").read_bytes()
    assert at_once(load.add(data, 0)) == 1205
    groups = dict(at_once(load.groups()))
    assert {name: len(group.offsets) for name, group in groups.items()} == {"group-0": 100, "group-1": 50}
    assert groups["group-0"].offsets.get(TopicPartition("orders", 4)).offset == 1204
    assert load.damaged == []


@pytest.mark.parametrize("epoch", [0, 3])
def test_the_time_of_a_load_is_what_the_broker_says(epoch):
    line = (
        "[GroupMetadataManager brokerId=2] Finished loading offsets and group metadata from "
        f"__consumer_offsets-0 in 1234 milliseconds for epoch {epoch}, of which 0 milliseconds was "
        "spent in the scheduler."
    )
    assert loaded_ms(f"something\n{line}\n") == {epoch: 1234}
