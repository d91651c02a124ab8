"""The workload of a chaos run: a group that commits, readers that follow, and topics that come and go."""
