from barnabas.local.place import HERE


def test_here_is_the_loopback_interface_and_needs_no_way():
    assert (HERE.host, HERE.enter) == ("127.0.0.1", ())
