"""The security of listeners: TLS, SASL mechanisms and the keys that sign bearer tokens."""
