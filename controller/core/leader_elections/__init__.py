"""Leader elections by request, by znode and by rebalance (Kafka: ``onReplicaElection``)."""
