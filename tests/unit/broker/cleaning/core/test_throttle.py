from barnabas.broker.cleaning.core.throttle import Throttle


def test_a_rate_is_kept_by_pauses():
    throttle = Throttle(10.0)
    assert throttle.moved(1000, 1000, 10.2) == 0
    assert throttle.moved(1000, 1000, 10.5) == 1.5
    # The pause is over at 12.0, and a period begins.
    assert throttle.moved(100, 1000, 12.2) == 0
    assert throttle.moved(100, 1000, 12.4) == 0
    assert throttle.moved(0, 1000, 12.9) == 0
