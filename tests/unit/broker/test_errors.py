from barnabas.broker.errors import StartError


def test_the_message_is_all_there_is():
    assert (
        str(StartError("Cannot listen on PLAINTEXT://a:1: in use"))
        == "Cannot listen on PLAINTEXT://a:1: in use"
    )
