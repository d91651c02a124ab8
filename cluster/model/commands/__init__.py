"""The commands to the controller by subject, as immutable data, with their results."""
