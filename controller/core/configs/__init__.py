"""Settings of topics and brokers (Kafka: ``ZkAdminManager.alterConfigs``)."""
