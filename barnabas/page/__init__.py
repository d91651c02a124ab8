"""The live page: a cluster in a browser, as it changes, and the buttons that make it fail."""
