"""The catalog of questions: each question's name, input tables and function."""

from __future__ import annotations

from barnabas.analysis.derived.catalog import Table
from barnabas.analysis.questions.audit import safety_audit
from barnabas.analysis.questions.availability import leaderless_minutes, partitions_without_leader
from barnabas.analysis.questions.churn import flapping_brokers, isr_churn, under_replicated
from barnabas.analysis.questions.controllers import controller_epochs, departures
from barnabas.analysis.questions.elections import failed_elections, preferred_imbalance, unclean_elections
from barnabas.analysis.questions.failovers import failovers
from barnabas.analysis.questions.handlers import request_times, slowest_leader_and_isr
from barnabas.analysis.questions.reading import brokers, clock_skew, coverage, not_understood, read_logs
from barnabas.analysis.questions.stalls import write_stalls

QUESTIONS: tuple[Table, ...] = (
    Table("coverage", ("events",), coverage, is_of_all_lines=True),
    Table("not_understood", ("events",), not_understood, is_of_all_lines=True),
    Table("read_logs", ("events",), read_logs, is_of_all_lines=True),
    Table("brokers", ("events",), brokers, is_of_all_lines=True),
    Table("clock_skew", ("delays",), clock_skew),
    Table("controller_epochs", ("controllers",), controller_epochs),
    Table("departures", ("events", "unavailability", "lives"), departures),
    Table("failovers", ("events", "lives", "unavailability", "controllers", "requests"), failovers),
    Table("write_stalls", ("unavailability", "isr"), write_stalls),
    Table("partitions_without_leader", ("unavailability",), partitions_without_leader),
    Table("leaderless_minutes", ("unavailability",), leaderless_minutes),
    Table("under_replicated", ("isr",), under_replicated),
    Table("isr_churn", ("isr",), isr_churn),
    Table("flapping_brokers", ("isr",), flapping_brokers),
    Table("slowest_leader_and_isr", ("requests",), slowest_leader_and_isr),
    Table("request_times", ("requests",), request_times),
    Table("unclean_elections", ("leaders",), unclean_elections),
    Table("failed_elections", ("events",), failed_elections),
    Table("preferred_imbalance", ("leaders",), preferred_imbalance),
    Table("safety_audit", ("events", "lives", "states", "requests"), safety_audit),
)
"""The questions; each answer is small and in reading order."""
