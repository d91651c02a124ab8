"""The shared model as immutable data, which needs only the standard library."""
