from barnabas.chaos.faults import InjectedFault, names


def test_victims_are_named():
    assert names((2,)) == "broker 2"
    assert names((3, 1)) == "brokers 3, 1"


def test_of_most_faults_nothing_lacks_once_they_are_healed():
    fault = InjectedFault("done", lambda: None)
    assert (fault.lacking(), fault.missed, fault.deadly) == ("", "", ())
