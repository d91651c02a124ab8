"""The list of questions."""

from __future__ import annotations

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.questions.catalog import QUESTIONS


def test_every_question_is_asked_of_tables_that_there_are() -> None:
    known = {"events", *(table.name for table in DERIVED)}
    assert all(known.issuperset(question.needs) for question in QUESTIONS)


def test_a_question_has_the_name_and_the_doc_of_its_function() -> None:
    assert len({question.name for question in QUESTIONS}) == len(QUESTIONS)
    for question in QUESTIONS:
        assert question.compute.__name__ == question.name
        assert question.compute.__doc__
