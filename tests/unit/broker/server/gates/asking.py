"""Requests through the checks before the handlers, to handlers that remember what got through."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

from barnabas.broker.core.replication.fetch_sessions import FetchSessionCache
from barnabas.broker.server.context import ServerSettings
from barnabas.broker.server.gates.table import guarded
from barnabas.broker.server.handlers import fetch
from barnabas.broker.server.request_meter import RequestMeter
from barnabas.broker.wire.apis import ApiKey
from barnabas.broker.wire.schemas import RESPONSE, load_schema
from barnabas.cluster.model.acls import CLUSTER_NAME, AclPermission
from barnabas.cluster.runtime.metrics import Metrics
from tests.unit.broker.authorizer.nodes import FakeNodes, authorizer_on, grant
from tests.unit.broker.server.conftest import FakeReads
from tests.unit.broker.server.gates.rows import FILTERED, C, made


def codes(entity):
    """Every error code in an answer."""
    if isinstance(entity, tuple):
        return {code for each in entity for code in codes(each)}
    if not dataclasses.is_dataclass(entity):
        return set()
    found = set()
    for field in dataclasses.fields(entity):
        value = getattr(entity, field.name)
        found |= {int(value)} if field.name.endswith("error_code") else codes(value)
    return found


class Asked:
    """A handler that answers with these fields, else nothing, and remembers what it was asked for."""

    def __init__(self, **values):
        self.values = values
        self.bodies = []

    async def __call__(self, context, request):
        self.bodies.append(request.body)
        return made(load_schema(request.api.key, request.version, RESPONSE), self.values)

    @property
    def names(self):
        return [body for body in self.bodies if "secret" in repr(body)]


async def context_with(*grants, to="User:ANONYMOUS", denied=(), **more):
    """The context of a broker whose ACLs grant these (operation, type) and deny those."""
    nodes = FakeNodes()
    grant(nodes, *_named(grants), principal=to)
    grant(nodes, *_named(denied), permission=AclPermission.DENY)
    authorizer = authorizer_on(nodes)
    await authorizer.load()
    values = {
        "authorizer": authorizer,
        "broker_id": 1,
        "metadata": SimpleNamespace(controller=1, partitions=lambda name: {0: None}),
        "settings": SimpleNamespace(auto_create_topics=True),
        "broker_settings": lambda: SimpleNamespace(values={"delete.topic.enable": True}),
    }
    return SimpleNamespace(**(values | more))


def _named(grants):
    return ((op, kind, CLUSTER_NAME if kind is C else "secret") for op, kind in grants)


async def ask(context, request, handler):
    return await guarded({request.api.key: handler})[request.api.key](context, request)


class Fetched:
    """The handler of Fetch, which checks by itself, and the records behind it."""

    def __init__(self):
        self.reads = FakeReads()
        self.bodies = []

    async def __call__(self, context, request):
        context.reads = self.reads
        context.settings = ServerSettings()
        context.quotas = SimpleNamespace(are_set=False)
        context.fetch_sessions = FetchSessionCache(10, lambda: 1)
        context.meter = RequestMeter(Metrics())
        answer = await fetch.handle(context, request)
        if self.names:
            self.bodies.append(request.body)
        return answer

    @property
    def names(self):
        return [asked for asked, _ in self.reads.calls if asked]


def handler_of(key):
    """What stands behind the checks of an API, and remembers what got through them."""
    if key is ApiKey.FETCH:
        return Fetched()
    return Asked(**FILTERED[key][0]) if key in FILTERED else Asked()
