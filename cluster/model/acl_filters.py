"""Many filters of ACLs, indexed so that each ACL is compared with few of them, however many there are.

Filters that set the same fields are looked up together, by the values of these fields. There are few
combinations of fields. Source of the rules: ``AclAuthorizer.deleteAcls`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any

from barnabas.cluster.model.acls import (
    RESOURCE_TYPES,
    WILDCARD,
    AclBinding,
    AclFilter,
    PatternType,
    ResourcePattern,
    ResourceType,
)

_EVERYTHING = AclFilter()
_OF_RESOURCE = 3
"""The fields of a filter that concern the resource; they are the first ones."""

_Fields = tuple[bool, ...]


class FilterIndex:
    """Filters in the order in which they were added.

    Args:
        lengths: Returns the lengths of all prefixes of a type that have ACLs; filters of pattern ``MATCH``
            are looked up by them.
    """

    def __init__(self, lengths: Callable[[ResourceType], Iterable[int]]) -> None:
        self._lengths = lengths
        self._count = 0
        self._first: dict[_Fields, dict[tuple[Any, ...], int]] = {}
        self._resources: dict[_Fields, set[tuple[Any, ...]]] = {}
        self.named: dict[ResourcePattern, None] = {}
        """The resources that filters name, whether these have ACLs or not."""

    def add(self, asked: AclFilter) -> None:
        """Add a filter."""
        for each in self._plain(asked):
            fields = tuple([value != all_ for value, all_ in zip(each, _EVERYTHING, strict=True)])
            self._first.setdefault(fields, {}).setdefault(tuple(compress(each, fields)), self._count)
            of_resource = fields[:_OF_RESOURCE]
            self._resources.setdefault(of_resource, set()).add(tuple(compress(each, of_resource)))
        if asked.name is not None and asked.type is not ResourceType.ANY:
            for pattern in (PatternType.LITERAL, PatternType.PREFIXED):
                if asked.pattern in (pattern, PatternType.ANY):
                    self.named[ResourcePattern(asked.type, asked.name, pattern)] = None
        self._count += 1

    def concerns(self, resource: ResourcePattern) -> bool:
        """Return whether a filter may match ACLs of a resource."""
        return any(tuple(compress(resource, fields)) in found for fields, found in self._resources.items())

    def first(self, binding: AclBinding) -> int | None:
        """Return the number of the first filter that matches an ACL, counted from 0; None if none does."""
        values = (*binding.resource, *binding.entry)
        numbers = (found.get(tuple(compress(values, fields))) for fields, found in self._first.items())
        return min((number for number in numbers if number is not None), default=None)

    def _plain(self, asked: AclFilter) -> Iterator[AclFilter]:
        """Yield filters without ``MATCH`` that together match what the filter matches."""
        if asked.pattern is not PatternType.MATCH:
            yield asked
            return
        if asked.name is None:
            yield asked._replace(pattern=PatternType.ANY)
            return
        for type_ in RESOURCE_TYPES if asked.type is ResourceType.ANY else (asked.type,):
            for name in dict.fromkeys((asked.name, WILDCARD)):
                yield asked._replace(type=type_, name=name, pattern=PatternType.LITERAL)
            for length in self._lengths(type_):
                if length <= len(asked.name):
                    name = asked.name[:length]
                    yield asked._replace(type=type_, name=name, pattern=PatternType.PREFIXED)
