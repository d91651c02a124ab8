import pytest

from barnabas.chaos.targets.commands import run


class Failure(Exception):
    pass


def test_what_was_printed_is_given_back():
    assert run(Failure, "echo", "said") == "said\n"


def test_a_failure_names_the_command_and_all_that_it_printed():
    with pytest.raises(Failure, match=r"^sh -c .*: status 3 for operators for scripts$"):
        run(Failure, "sh", "-c", "echo for scripts; echo for operators >&2; exit 3")
    with pytest.raises(Failure, match=r"^false: status 1$"):
        run(Failure, "false")


def test_a_program_that_is_not_there_is_a_failure_even_where_it_may_fail():
    assert run(Failure, "false", may_fail=True) == ""
    with pytest.raises(Failure, match="no-such-program"):
        run(Failure, "no-such-program", may_fail=True)
