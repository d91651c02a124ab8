"""``kafka-configs.sh``: settings, quotas and SCRAM credentials, through brokers or directly in ZooKeeper."""
