"""SASL as a broker speaks it: mechanisms, JAAS, and the authentication of a connection as a state machine."""
