"""``kafka-reassign-partitions.sh``: replicas move to other brokers or log directories."""
