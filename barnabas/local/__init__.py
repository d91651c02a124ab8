"""A cluster on this machine: its ZooKeeper and its brokers as child processes."""
