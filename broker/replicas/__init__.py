"""The paths of a record through the broker, one file per path."""
