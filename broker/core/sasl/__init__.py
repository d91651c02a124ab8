"""SASL as a broker speaks it: mechanisms, and the authentication of a connection as a state machine."""
