"""``kafka-acls.sh``, through brokers or directly in ZooKeeper."""
