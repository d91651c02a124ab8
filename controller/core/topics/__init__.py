"""Topics: creation, new partitions, deletion (Kafka: ``TopicDeletionManager``), changes made in ZooKeeper."""
