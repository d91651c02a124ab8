"""The command line, local clusters and tools of the project."""
