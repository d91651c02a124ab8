"""The group coordinator's decisions: the classic protocol of consumer groups of Kafka 2.8.

`groups.PartitionGroups` holds the groups of one partition of ``__consumer_offsets``. Each request and each
event has a decision, which changes the groups and returns the effects that the coordinator performs:

- `join.join_group`, `sync.sync_group`: take a token, answered by an effect of this or a later decision
- `heartbeat.heartbeat`, `leave.leave_group`, `commits.check_offset_commit`, `deletion.delete_group`: return
  their answer beside the effects
- `timeouts.timer_expired`, `writes.group_written`: the end of a timer, the end of a write
- `loading.load_group`, `unloading.unload_groups`, `deletion.remove_empty_group`
- `describe.describe_group`, `describe.list_groups`, `deletion.check_offset_delete`: change nothing
"""
