"""Replicas: their state machine (Kafka: ``ReplicaStateMachine``)."""
