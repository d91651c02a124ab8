"""The error of a local cluster, apart from what it takes long to import."""

from __future__ import annotations


class ClusterError(Exception):
    """An error of a cluster; the message says what is wrong, with a line for each broker."""
