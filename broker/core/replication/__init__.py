"""Decisions of leaders and followers about a partition."""
