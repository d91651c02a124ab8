"""kio's classes of every version that is served, and of old versions that kio lacks.

kio begins where Kafka 4.0 does (KIP-896). Release 2.8 serves older versions of some APIs. Each is derived
from the oldest version of kio by the fields that it lacks or adds, so that reading and writing stay kio's.
Source: ``common/message/*.json`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, make_dataclass
from functools import cache
from types import MappingProxyType, SimpleNamespace, UnionType
from typing import Any, Final, cast, get_args, get_origin

from kio.index import load_payload_module as load_from_kio
from kio.schema.index import PayloadEntityType
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i64

REQUEST: Final = EntityType.request
RESPONSE: Final = EntityType.response


@dataclass(frozen=True, slots=True)
class Change:
    """The difference of one class of an old version to kio's oldest version.

    Attributes:
        lacks: The fields that it lacks.
        more: Its additional fields, by the field that each follows: name, type and kio's type.
    """

    lacks: frozenset[str] = frozenset()
    more: Mapping[str, tuple[str, Any, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Old:
    """An old version of one message.

    Attributes:
        base: The version of kio that it is derived from.
        changes: Its classes that differ, by name.
    """

    base: int
    changes: Mapping[str, Change] = field(default_factory=dict)


def _lacks(*names: str) -> Change:
    return Change(frozenset(names))


_NO_THROTTLE_TIME = _lacks("throttle_time")
_OFFSET_COMMIT, _OFFSET_FETCH = 8, 9
_LIST_OFFSETS, _CREATE_TOPICS, _DELETE_TOPICS, _OFFSET_FOR_LEADER_EPOCH, _DESCRIBE_CONFIGS = 2, 19, 20, 23, 32
_ALTER_REPLICA_LOG_DIRS, _DESCRIBE_LOG_DIRS = 34, 35
_DESCRIBE_ACLS, _CREATE_ACLS, _DELETE_ACLS = 29, 30, 31

OLD_VERSIONS: Mapping[tuple[int, int, EntityType], Old] = MappingProxyType(
    {
        (_LIST_OFFSETS, 0, REQUEST): Old(
            1,
            {"ListOffsetsPartition": Change(more={"timestamp": ("max_num_offsets", i32, "int32")})},
        ),
        (_LIST_OFFSETS, 0, RESPONSE): Old(
            1,
            {
                "ListOffsetsPartitionResponse": Change(
                    frozenset({"timestamp", "offset"}),
                    {"error_code": ("old_style_offsets", tuple[i64, ...], "int64")},
                )
            },
        ),
        (_OFFSET_COMMIT, 0, REQUEST): Old(
            2,
            {"OffsetCommitRequest": _lacks("generation_id_or_member_epoch", "member_id", "retention_time")},
        ),
        (_OFFSET_COMMIT, 0, RESPONSE): Old(2),
        (_OFFSET_COMMIT, 1, REQUEST): Old(
            2,
            {
                "OffsetCommitRequest": _lacks("retention_time"),
                "OffsetCommitRequestPartition": Change(
                    more={"committed_offset": ("commit_timestamp", i64, "int64")}
                ),
            },
        ),
        (_OFFSET_COMMIT, 1, RESPONSE): Old(2),
        (_OFFSET_FETCH, 0, REQUEST): Old(1),
        (_OFFSET_FETCH, 0, RESPONSE): Old(1),
        (_CREATE_TOPICS, 0, REQUEST): Old(2, {"CreateTopicsRequest": _lacks("validate_only")}),
        (_CREATE_TOPICS, 0, RESPONSE): Old(
            2, {"CreatableTopicResult": _lacks("error_message"), "CreateTopicsResponse": _NO_THROTTLE_TIME}
        ),
        (_CREATE_TOPICS, 1, REQUEST): Old(2),
        (_CREATE_TOPICS, 1, RESPONSE): Old(2, {"CreateTopicsResponse": _NO_THROTTLE_TIME}),
        (_DELETE_TOPICS, 0, REQUEST): Old(1),
        (_DELETE_TOPICS, 0, RESPONSE): Old(1, {"DeleteTopicsResponse": _NO_THROTTLE_TIME}),
        (_OFFSET_FOR_LEADER_EPOCH, 0, REQUEST): Old(
            2, {"OffsetForLeaderPartition": _lacks("current_leader_epoch")}
        ),
        (_OFFSET_FOR_LEADER_EPOCH, 0, RESPONSE): Old(
            2,
            {"EpochEndOffset": _lacks("leader_epoch"), "OffsetForLeaderEpochResponse": _NO_THROTTLE_TIME},
        ),
        (_OFFSET_FOR_LEADER_EPOCH, 1, REQUEST): Old(
            2, {"OffsetForLeaderPartition": _lacks("current_leader_epoch")}
        ),
        (_OFFSET_FOR_LEADER_EPOCH, 1, RESPONSE): Old(2, {"OffsetForLeaderEpochResponse": _NO_THROTTLE_TIME}),
        (_DESCRIBE_ACLS, 0, REQUEST): Old(1, {"DescribeAclsRequest": _lacks("pattern_type_filter")}),
        (_DESCRIBE_ACLS, 0, RESPONSE): Old(1, {"DescribeAclsResource": _lacks("pattern_type")}),
        (_CREATE_ACLS, 0, REQUEST): Old(1, {"AclCreation": _lacks("resource_pattern_type")}),
        (_CREATE_ACLS, 0, RESPONSE): Old(1),
        (_DELETE_ACLS, 0, REQUEST): Old(1, {"DeleteAclsFilter": _lacks("pattern_type_filter")}),
        (_DELETE_ACLS, 0, RESPONSE): Old(1, {"DeleteAclsMatchingAcl": _lacks("pattern_type")}),
        (_ALTER_REPLICA_LOG_DIRS, 0, REQUEST): Old(1),
        (_ALTER_REPLICA_LOG_DIRS, 0, RESPONSE): Old(1),
        (_DESCRIBE_LOG_DIRS, 0, REQUEST): Old(1),
        (_DESCRIBE_LOG_DIRS, 0, RESPONSE): Old(1),
        (_DESCRIBE_CONFIGS, 0, REQUEST): Old(1, {"DescribeConfigsRequest": _lacks("include_synonyms")}),
        (_DESCRIBE_CONFIGS, 0, RESPONSE): Old(
            1,
            {
                "DescribeConfigsResourceResult": Change(
                    frozenset({"config_source", "synonyms"}),
                    {"read_only": ("is_default", bool, "bool")},
                )
            },
        ),
    }
)
"""Every served version that kio lacks, by API key, version and direction."""


@cache
def load_payload_module(api_key: int, version: int, direction: PayloadEntityType) -> Any:
    """Return the classes of one version of a request or response, as attributes.

    Raises:
        kio.index.KioIndexError: There is no such API or version.
    """
    old = OLD_VERSIONS.get((api_key, version, direction))
    if old is None:
        return load_from_kio(api_key, version, direction)
    base = load_from_kio(api_key, old.base, direction)
    derived: dict[str, type[Any]] = {}
    for name, entity in vars(base).items():
        if is_dataclass(entity) and getattr(entity, "__module__", None) == base.__name__:
            change = old.changes.get(name, Change())
            derived[name] = _derive(cast("type[Any]", entity), version, change, derived)
    return SimpleNamespace(**derived)


def load_schema(api_key: int, version: int, direction: PayloadEntityType) -> type[Any]:
    """Return the class of a whole request or response."""
    module = load_payload_module(api_key, version, direction)
    return next(
        cast("type[Any]", entity)
        for entity in vars(module).values()
        if is_dataclass(entity) and getattr(entity, "__type__", None) is direction
    )


def _derive(entity: type[Any], version: int, change: Change, derived: Mapping[str, type[Any]]) -> type[Any]:
    """Return the class of an old version; its nested classes are those in ``derived``."""
    members: list[tuple[str, Any, Any]] = []
    for each in fields(entity):
        if each.name not in change.lacks:
            members.append((each.name, _renewed(each.type, derived), _copy(each)))
        if each.name in change.more:
            name, kind, kafka_type = change.more[each.name]
            members.append((name, kind, field(metadata={"kafka_type": kafka_type})))
    constants = {
        name: getattr(entity, name)
        for name in ("__type__", "__flexible__", "__api_key__", "__header_schema__")
    }
    return make_dataclass(
        entity.__name__,
        members,
        namespace=constants | {"__version__": i16(version)},
        frozen=True,
        slots=True,
        kw_only=True,
    )


def _renewed(kind: Any, derived: Mapping[str, type[Any]]) -> Any:
    """Return the type of a field, with the classes of the old version in it."""
    if get_origin(kind) is tuple:
        item = _renewed(get_args(kind)[0], derived)
        return tuple.__class_getitem__((item, ...))
    if get_origin(kind) is UnionType:
        first, *others = (_renewed(part, derived) for part in get_args(kind))
        for other in others:
            first |= other
        return first
    return derived.get(getattr(kind, "__name__", ""), kind) if is_dataclass(kind) else kind


def _copy(each: Field[Any]) -> Any:
    if each.default is not MISSING:
        return field(metadata=dict(each.metadata), default=each.default)
    return field(metadata=dict(each.metadata))
