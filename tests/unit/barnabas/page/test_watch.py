"""The options of ``barnabas page``."""

import pytest
from typer.testing import CliRunner

from barnabas import cli
from barnabas.page import watch


@pytest.mark.parametrize("given", [["1"], ["1="], ["x=a"], ["1=a", "1=b"]])
def test_an_option_about_a_broker_names_it_once(given):
    with pytest.raises(ValueError, match=f"--metrics {given[-1]}: expected ID=HOST:PORT, each broker once"):
        watch.by_id(given, "--metrics", "HOST:PORT")


def test_brokers_are_found_by_id():
    assert watch.by_id(["1=a:1", "20=b:2"], "--metrics", "HOST:PORT") == {1: "a:1", 20: "b:2"}


def test_a_bad_option_is_an_error_of_the_command():
    command = ["page", "--zookeeper", "z", "--bootstrap", "b", "--logs", "1"]
    assert CliRunner().invoke(cli.app, command).exit_code == 2
