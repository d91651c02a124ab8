"""The handlers of Kafka's APIs, one file per API, named as the API.

A handler is ``async def handle(context, request)``. It returns the response entity, or None to send no
answer, and may raise ``CloseConnectionError``. The handlers of a connection begin in the order of its
requests. One begins when the one before has ended, or has reported to ``request.progress`` that only its
answer is pending, as Produce does.

A request may name 100,000 things, so loops over what it names let other work run (``cluster.runtime.turn``).
What has very many elements is freed in turns, too. A handler has no task before its first wait
(``network.eager``), so it cannot use ``asyncio.timeout`` there.
"""
