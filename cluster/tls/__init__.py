"""TLS: key and trust stores by Kafka's settings, and the contexts that use them."""
