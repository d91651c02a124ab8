"""The reads and writes of ZooKeeper that decisions ask for, by subject as the packages of the core."""
