from barnabas.bench.cases.produce_secured import BENCHES


def test_the_target_is_the_one_that_was_asked_for():
    (bench,) = BENCHES
    assert (bench.name, bench.target.figure, bench.unit) == ("produce-secured", 0.4, "of plaintext")
