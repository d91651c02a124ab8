"""The settings of brokers and topics: read, checked, and changed while the broker runs."""
