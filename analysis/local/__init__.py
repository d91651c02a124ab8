"""PySpark's columns, windows and frames as SQL of DuckDB in this process, as far as the analysis uses them.

The same functions of ``analysis.derived`` and ``analysis.questions`` run on these and on Spark, so a table is
defined once. Values follow Spark's rules with ``spark.sql.ansi.enabled``: null in conditions, nulls first in
ascending order, frames of windows that include peers. Which of several equal rows is taken is not defined, as
in Spark.
"""
