"""The lines of server.log and controller.log that are read, most of them about brokers; of all releases."""
