"""The settings of brokers and topics: their declarations, parsing, values in force, and descriptions."""
