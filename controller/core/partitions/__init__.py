"""Partitions: state machine (Kafka: ``PartitionStateMachine``), elections, writes of leader and ISR."""
