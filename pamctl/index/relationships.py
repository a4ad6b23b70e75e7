"""Relationships as the index holds them: which objects they join. PAMSPEC §8.5.

Nothing here decides who may see what; that is up to whoever walks them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from pamctl.index.schema import AVAILABILITY_STATES, DIRECTIONALITIES
from pamctl.index.structured_query import StructuredQuery, filters, id_list
from pamctl.named_tuples import NamedTuple

_DELETED = AVAILABILITY_STATES.index("deleted")


class Link(NamedTuple):
    """The ends of one version of a relationship.

    target_scope_id: where the target is in another scope.
    directionality: None where nothing is left that tells.
    deleted: whether the version is a tombstone.
    """

    relationship_id: str
    source_object_id: str
    target_object_id: str
    target_scope_id: str | None
    directionality: str | None
    deleted: bool


class Node(NamedTuple):
    """What a walk needs to know of a memory object. object_type: None where its versions are
    gone and nothing tells."""

    object_type: str | None
    deleted: bool


_SELECT_LINK = """
    SELECT version.object_id, link.source_object_id, link.target_object_id,
        link.target_scope_id, link.directionality, version.availability_state
    FROM relationship AS link CROSS JOIN version ON version.since = link.since WHERE
"""
_AT_SOURCE = "link.source_object_id IN (SELECT value FROM json_each(?))"
# An object of another scope may bear the id of one in this.
_AT_TARGET = (
    "link.target_scope_id IS NULL AND link.target_object_id IN (SELECT value FROM json_each(?))"
)


def links(
    database: sqlite3.Connection, query: StructuredQuery, touching: Collection[str] | None
) -> list[Link]:
    """The relationships that meet the filters of `query`, each once, in no order.

    touching: only those with one of these objects at an end; None for all of the scope.
    """
    where = filters(query)
    if touching is None:
        found = database.execute(f"{_SELECT_LINK} {where.sql}", where.values).fetchall()
    else:
        ids = id_list(touching)
        found = database.execute(
            f"{_SELECT_LINK} {_AT_SOURCE} AND {where.sql} "
            f"UNION {_SELECT_LINK} {_AT_TARGET} AND {where.sql}",
            [ids, *where.values, ids, *where.values],
        ).fetchall()
    return [_link(columns) for columns in found]


def links_between(
    database: sqlite3.Connection, one: str, other: str, relationship_type: str
) -> list[Link]:
    """The relationships of a type that join two ids as they are now, either way, tombstones
    too. One of the ids may be of another scope."""
    found = database.execute(
        f"{_SELECT_LINK} ((link.source_object_id = ?1 AND link.target_object_id = ?2) "
        "OR (link.source_object_id = ?2 AND link.target_object_id = ?1)) "
        "AND version.until IS NULL AND version.object_type = ?3",
        (one, other, relationship_type),
    ).fetchall()
    return [_link(columns) for columns in found]


def _link(columns: Sequence[Any]) -> Link:
    relationship_id, source, target, scope_id, way, availability = columns
    directionality = None if way is None else DIRECTIONALITIES[way]
    return Link(relationship_id, source, target, scope_id, directionality, availability == _DELETED)


def nodes(database: sqlite3.Connection, query: StructuredQuery) -> dict[str, Node]:
    """By id, the memory objects that meet the filters of `query`."""
    where = filters(query)
    found = database.execute(
        f"SELECT object_id, object_type, availability_state FROM version WHERE {where.sql}",
        where.values,
    ).fetchall()
    return {
        object_id: Node(object_type, availability == _DELETED)
        for object_id, object_type, availability in found
    }
