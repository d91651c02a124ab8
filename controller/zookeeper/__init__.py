"""The reads and writes of ZooKeeper that decisions ask for, one module per package of the core."""
