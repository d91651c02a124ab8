"""The shared vocabulary, as immutable data; needs nothing but the standard library."""
