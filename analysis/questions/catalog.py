"""The catalog of questions: each question's name, input tables and function."""

from __future__ import annotations

from barnabas.analysis.derived.catalog import Table
from barnabas.analysis.questions.audit import safety_audit
from barnabas.analysis.questions.churn import flapping_brokers, under_replicated
from barnabas.analysis.questions.controllers import controller_epochs, failed_elections, request_times
from barnabas.analysis.questions.reading import brokers, clock_skew, not_understood, read_logs

QUESTIONS: tuple[Table, ...] = (
    Table("not_understood", ("events",), not_understood, is_of_all_lines=True),
    Table("read_logs", ("events", "conditions"), read_logs, is_of_all_lines=True),
    Table("brokers", ("events",), brokers, is_of_all_lines=True),
    Table("clock_skew", ("delays",), clock_skew),
    Table("controller_epochs", ("controllers",), controller_epochs),
    Table("under_replicated", ("isr",), under_replicated),
    Table("flapping_brokers", ("isr",), flapping_brokers),
    Table("request_times", ("requests",), request_times),
    Table("failed_elections", ("events",), failed_elections),
    Table("safety_audit", ("events", "lives", "states", "requests"), safety_audit),
)
"""The questions that the incidents do not answer; each answer is small and in reading order."""
