"""``kafka-consumer-groups.sh``: list, describe, delete and reset consumer groups."""
