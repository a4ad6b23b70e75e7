"""Content schemas: what a scope demands of content under a `schema_id`. PAMSPEC §8.2.

A schema is registered once under its id, in the ledger, and never changes. From then on what
names it is held to it. What names a schema that nobody registered is kept and not judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Unpack

from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidRequest, ObjectNotFound
from pamctl.limits import CONTENT_SCHEMA_BYTES_MAX
from pamctl.rules.content_schemas import require_judgeable
from pamctl.service.authority import require

if TYPE_CHECKING:
    from pamctl.service.desk import Change, Desk
    from pamctl.service.family_arguments import (
        SchemaAddArguments,
        SchemaArguments,
        SchemaListArguments,
    )
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

Json = dict[str, Any]


class Schemas:
    """The content schemas of a store's scopes: `store.schemas`."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def add(self, **arguments: Unpack[SchemaAddArguments]) -> Json:
        """Register a schema; nothing changes where it is registered so already."""
        result: Json = self._store.perform("schema_add", arguments)
        return result

    def show(self, **arguments: Unpack[SchemaArguments]) -> Json:
        """A registered schema. Raises ObjectNotFound where there is none."""
        result: Json = self._store.perform("schema_show", arguments)
        return result

    def list(self, **arguments: Unpack[SchemaListArguments]) -> Json:
        """The registered schemas of a scope, by id."""
        result: Json = self._store.perform("schema_list", arguments)
        return result


def schema_add(desk: Desk, request: Mapping[str, Any]) -> Change:
    """Stage the registration of a JSON Schema under a schema id.

    Raises InvalidRequest for what is no schema, what could take long to judge by, and another
    schema under an id that is taken. The same schema again adds nothing. What was written
    before is not judged again.
    """
    # Whoever reads needs none of what writes.
    from pamctl.service.desk import Change
    from pamctl.store.commit import NewEntry

    require(desk.policy, request, "add_schema", object_type=None)
    schema_id, schema = request["schema_id"], request["schema"]
    _require_usable(schema)
    known = _staged_or_registered(desk, schema_id)
    if known is not None and canonical(known["schema"]) != canonical(schema):
        raise InvalidRequest(
            f"another schema is registered as {schema_id}, and a schema never changes",
            hint="a changed schema is another schema: give it an id of its own",
            pointer="/schema",
        )
    now, entries, registered = desk.sources.now(), [], known
    if registered is None:
        registered = {
            "schema_id": schema_id,
            "schema": schema,
            "actor": request["actor"],
            "recorded_at": now,
        }
        entries = [NewEntry("schema", registered)]
        desk.descriptors["schema", schema_id] = registered
    result = {
        "added": known is None,
        "operation_id": request["operation_id"],
        "replayed": False,
        "schema_id": schema_id,
        "scope_id": desk.scope_id,
    }
    return Change(entries, result)


def schema_show(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """A registered schema: `schema_id`, `schema`, `actor` and `recorded_at`."""
    scope, schema_id = store.scope_to_read(request["scope_id"]), request["schema_id"]
    found = None
    if scope is not None:
        require(scope.policy(), request, "query")
        found = _registered(scope).get(schema_id)
    if found is None:
        raise ObjectNotFound(
            f"no schema is registered as {schema_id} in {request['scope_id']}",
            hint="`pamctl schema list` shows those of the scope",
        )
    return dict(found)


def schema_list(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """The registered schemas of a scope, by id."""
    scope = store.scope_to_read(request["scope_id"])
    registered: Mapping[str, Any] = {}
    if scope is not None:
        require(scope.policy(), request, "query")
        registered = _registered(scope)
    items = [registered[schema_id] for schema_id in sorted(registered, key=str.encode)]
    return {"items": items, "next_cursor": None, "scope_id": request["scope_id"]}


def require_registered(desk: Desk, envelope: Mapping[str, Any]) -> None:
    """Hold the content of a version to the schema that it names, where the scope has
    registered one. Raises InvalidObject."""
    schema_id = envelope.get("schema_id")
    if schema_id is None:
        return
    found = _staged_or_registered(desk, schema_id)
    if found is not None:
        from pamctl.model.content_schemas import require_content

        schema = canonical(found["schema"])
        require_content(envelope["canonical_content"], schema_id, schema, "/canonical_content")


def _require_usable(schema: Any) -> None:
    if len(canonical(schema)) > CONTENT_SCHEMA_BYTES_MAX:
        raise InvalidRequest(
            f"/schema is larger than {CONTENT_SCHEMA_BYTES_MAX} bytes "
            "(limits.CONTENT_SCHEMA_BYTES_MAX)",
            pointer="/schema",
        )
    require_judgeable(schema, "/schema")
    from pamctl.model.content_schemas import require_schema

    require_schema(schema, "/schema")


def _staged_or_registered(desk: Desk, schema_id: str) -> Mapping[str, Any] | None:
    staged = desk.descriptors.get(("schema", schema_id))
    return staged if staged is not None else _registered(desk.scope).get(schema_id)


def _registered(scope: OpenScope) -> dict[str, Mapping[str, Any]]:
    places = scope.index.boundaries.entries("schema")
    bodies = (scope.settled_entry(place)["body"] for place in places)
    return {body["schema_id"]: body for body in bodies}
