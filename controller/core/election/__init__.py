"""The controller's own election, failover and resignation (Kafka: ``elect``, ``onControllerFailover``)."""
