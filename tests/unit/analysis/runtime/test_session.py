"""The session is quiet and its workers have our packages."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from unittest import mock

import pytest
from pyspark.sql import SparkSession

from barnabas.analysis.runtime import gateway, session


def test_the_model_and_the_analysis_are_shipped_and_nothing_else(tmp_path: Path) -> None:
    names = zipfile.ZipFile(session._package(tmp_path)).namelist()
    assert {
        "barnabas/__init__.py",
        "barnabas/analysis/reading/grammar.py",
        "barnabas/cluster/__init__.py",
        "barnabas/cluster/model/statechange/reader.py",
    } <= set(names)
    shipped = (
        "barnabas/__init__.py",
        "barnabas/analysis/",
        "barnabas/cluster/model/",
        "barnabas/cluster/__init__.py",
    )
    assert all(name.startswith(shipped) for name in names)


@pytest.mark.spark
def test_it_runs_here_and_draws_no_progress(spark: SparkSession) -> None:
    assert spark.conf.get("spark.master") == "local[*]"
    assert spark.conf.get("spark.ui.showConsoleProgress") == "false"


def test_without_java_it_says_what_to_install() -> None:
    missing = session.PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    def last_words(_conf: object, popen: dict[str, object]) -> None:
        subprocess.run(["sh", "-c", "echo java: not found >&2"], check=True, stderr=popen["stderr"])
        raise missing

    with (
        mock.patch.object(gateway, "_LAUNCH", last_words),
        mock.patch.object(gateway, "_is_plain", return_value=False),
        pytest.raises(session.SparkStartError, match=r"is Java 17 or 21 installed\? java: not found"),
    ):
        session._gateway.__wrapped__(session.Amount.SMALL)
