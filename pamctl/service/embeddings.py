"""Vectors of memory objects, by Embedding Space: derived state, never authority.
PAMSPEC §7.8, §15.8.

An object has at most one vector in a space, of the version that it was made from; when the
object has moved on, the vector is stale. What is redacted or deleted has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from pamctl.errors import (
    ObjectDeleted,
    ObjectNotFound,
    ObjectRedacted,
)
from pamctl.limits import PAGE_ITEMS_MAX
from pamctl.model.documents import check
from pamctl.rules.spaces import comparable, require_space, vector_bytes
from pamctl.service.authority import disclosed, disclosed_ids, require, require_of
from pamctl.service.disclosure import narrowed
from pamctl.service.spaces import space_of, spaces_of, unknown_space
from pamctl.service.visibility import absent
from pamctl.store.embeddings import EmbeddingFiles, NewEmbedding, lock, stored_spaces

if TYPE_CHECKING:
    from pamctl.index.rows import VersionRow
    from pamctl.index.structured_query import Candidate
    from pamctl.service.desk import Change, Desk
    from pamctl.service.family_arguments import (
        EmbeddingDeleteArguments,
        EmbeddingExportArguments,
        EmbeddingGenerateArguments,
        EmbeddingPendingArguments,
        EmbeddingPutArguments,
        EmbeddingStatusArguments,
    )
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

Json = dict[str, Any]

_SHOWN = ("available", "partially_redacted")
_DEAD_ROWS_MAX = 1024

__all__ = ["Embeddings", "comparable"]


class Embeddings:
    """The vectors of a store's scopes: `store.embeddings`."""

    def __init__(self, store: OpenStore) -> None:
        self._store = store

    def put(self, **arguments: Unpack[EmbeddingPutArguments]) -> Json:
        """Keep vectors, each in the space that it names."""
        result: Json = self._store.perform("embedding_put", arguments)
        return result

    def delete(self, **arguments: Unpack[EmbeddingDeleteArguments]) -> Json:
        """Take away the vectors of an object, of a space, or of an object in a space."""
        result: Json = self._store.perform("embedding_delete", arguments)
        return result

    def status(self, **arguments: Unpack[EmbeddingStatusArguments]) -> Json:
        """How many objects have a vector in each space, and how many of them are stale."""
        result: Json = self._store.perform("embedding_status", arguments)
        return result

    def pending(self, **arguments: Unpack[EmbeddingPendingArguments]) -> Json:
        """What has no vector of its current version in a space, with its text."""
        result: Json = self._store.perform("embedding_pending", arguments)
        return result

    def generate(self, **arguments: Unpack[EmbeddingGenerateArguments]) -> Json:
        """Give a page of what is pending its vectors, by the built-in embedder."""
        result: Json = self._store.perform("embedding_generate", arguments)
        return result

    def export(self, **arguments: Unpack[EmbeddingExportArguments]) -> Json:
        """The vectors of a space, with the descriptor that tells what they mean."""
        result: Json = self._store.perform("embedding_export", arguments)
        return result


def embedding_put(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """Keep vectors, all of them or none; `embedding_generated` for each.

    Raises EmbeddingSpaceMismatch for a vector that names no space, one that the scope does
    not have, or has another number of dimensions; ObjectNotFound, ObjectRedacted and
    ObjectDeleted for what it cannot be a vector of.
    """
    check("requests/embedding_put", request)
    scope = scope_to_write(store, request)
    require(scope.policy(), request, "put_embedding")
    return keep_vectors(store, scope, request, request["embeddings"])


def keep_vectors(
    store: OpenStore,
    scope: OpenScope,
    request: Mapping[str, Any],
    embeddings: Sequence[Mapping[str, Any]],
) -> Json:
    """Keep vectors for the actor of a request, as `embedding_put` does."""
    position = scope.index.position()
    rows, made = _worked_out(scope, request, embeddings)
    with lock(scope.layout):
        # Whoever redacts commits first and takes vectors away then, under this lock.
        if scope.refresh() != position:
            rows, made = _worked_out(scope, request, embeddings)
        for space_id, new in made.items():
            descriptor = space_of(scope, space_id)
            space = _files(scope, descriptor)
            space.put(new)
            _compact(scope, space, descriptor)
    # The vectors are derived: should the events not be committed, they are as good.
    with store.group(atomic=True) as group:
        for space_id, row in rows:
            group.record(_named(store, request), _generated(space_id, row))
    return {
        "embedded": len(rows),
        "embedding_space_ids": sorted(made),
        "ledger_sequence": scope.refresh().sequence,
        "scope_id": scope.scope_id,
    }


def embedding_delete(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """Take vectors away. Their objects are not touched by it (PAMSPEC §7.2)."""
    check("requests/embedding_delete", request)
    scope = scope_to_write(store, request)
    object_id, wanted = request.get("object_id"), request.get("embedding_space_id")
    if object_id is None:
        require(scope.policy(), request, "delete_embedding", object_type=None)
    else:
        found = scope.index.current(object_id)
        require_of(scope.policy(), request, "delete_embedding", found)
    if wanted is not None:
        space_of(scope, wanted)
    removed = 0
    if scope.layout.embeddings.is_dir():
        with lock(scope.layout):
            for space_id, space in stored_spaces(scope.layout):
                if wanted not in (None, space_id):
                    continue
                if object_id is None:
                    removed += space.keep(())
                    continue
                removed += bool(space.rows({object_id}))
                space.take_away({object_id})
        removed += sweep_vectors(scope) if object_id is None and wanted is None else 0
    return {"deleted": removed, "scope_id": scope.scope_id}


def embedding_status(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """Of each space: how many objects have a vector of their current version (`fresh`), of an
    earlier one (`stale`), and none though they could have one (`missing`)."""
    scope = store.scope_to_read(request["scope_id"])
    items: list[Json] = []
    if scope is not None:
        spaces, wanted = spaces_of(scope), request.get("embedding_space_id")
        if wanted is not None:
            spaces = {wanted: space_of(scope, wanted)}
        items = [
            _standing(scope, request, spaces[space_id])
            for space_id in sorted(spaces, key=str.encode)
        ]
    return {"items": items, "next_cursor": None, "scope_id": request["scope_id"]}


def embedding_export(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """A page of the vectors of a space, by object id, with the space's descriptor; each says
    whether it is stale. Objects that the actor may not see are left out, and so is what was
    redacted or deleted."""
    scope = store.scope_to_read(request["scope_id"])
    space_id = request["embedding_space_id"]
    if scope is None:
        raise unknown_space(space_id, request["scope_id"])
    sight, ids = disclosed(scope.policy(), request, "query"), disclosed_ids(request)
    descriptor = space_of(scope, space_id)
    space = _files(scope, descriptor)
    limit, last = request.get("limit", PAGE_ITEMS_MAX), request.get("cursor", "")
    chosen: list[str] = []
    stale: dict[str, bool] = {}
    versions = space.versions()
    for object_id in sorted(name for name in versions if name > last):
        if ids is not None and object_id not in ids:
            continue
        current = scope.index.current(object_id)
        if current is None or current.availability_state not in _SHOWN:
            continue
        if sight is None or sight.covers(current.object_type):
            chosen.append(object_id)
            stale[object_id] = current.version_id != versions[object_id]
            if len(chosen) > limit:
                break
    page = chosen[:limit]
    rows = space.rows(frozenset(page))
    items = [
        {
            "object_id": row.object_id,
            "version_id": row.version_id,
            "embedding_space_id": space_id,
            "vector": list(vector),
            "stale": stale[row.object_id],
        }
        for row, vector in space.vectors(rows[name] for name in page if name in rows)
    ]
    more = page[-1] if len(chosen) > limit else None
    return {
        "items": items,
        "next_cursor": more,
        "scope_id": scope.scope_id,
        "space": dict(descriptor),
    }


def sweep_vectors(scope: OpenScope) -> int:
    """Take away vectors of what is not there or shows no content: a writer that died after a
    redaction may have left some. Returns how many went."""
    removed = 0
    with lock(scope.layout):
        for _, space in stored_spaces(scope.layout):
            hidden = {name for name, _ in space.held() if not _shows(scope, name)}
            space.take_away(hidden)
            if space.has_leftovers():
                space.keep(space.versions())
            removed += len(hidden)
    return removed


def _worked_out(
    scope: OpenScope, request: Mapping[str, Any], embeddings: Sequence[Mapping[str, Any]]
) -> tuple[list[tuple[str, VersionRow]], dict[str, list[NewEmbedding]]]:
    """Of each vector of a request its space and the version that it is of; and by space what is
    to be kept."""
    spaces = spaces_of(scope)
    rows: list[tuple[str, VersionRow]] = []
    made: dict[str, list[NewEmbedding]] = {}
    for place, embedding in enumerate(embeddings):
        pointer = f"/embeddings/{place}"
        space_id = require_space(embedding, pointer)
        if space_id not in spaces:
            raise unknown_space(space_id, scope.scope_id)
        data = vector_bytes(embedding["vector"], spaces[space_id], pointer)
        row = _embeddable(scope, request, embedding, pointer)
        rows.append((space_id, row))
        made.setdefault(space_id, []).append(NewEmbedding(row.object_id, row.version_id, data))
    return rows, made


def scope_to_write(store: OpenStore, request: Mapping[str, Any]) -> OpenScope:
    """The scope of a request, up to date. Raises ScopeNotFound, and PolicyDenied for one that
    an evaluation may not write to."""
    if store.evaluation is not None:
        store.evaluation.require_inside(request["scope_id"])
    return store.open_scope(request["scope_id"], fresh=True)


def _embeddable(
    scope: OpenScope, request: Mapping[str, Any], embedding: Mapping[str, Any], pointer: str
) -> VersionRow:
    """The version that a vector is of: the one that it names, or the current one."""
    object_id = embedding["object_id"]
    current = scope.index.current(object_id)
    if current is not None and current.family != "object":
        current = None
    require_of(scope.policy(), request, "put_embedding", current)
    if current is None:
        raise absent(object_id, scope.scope_id)
    if current.availability_state == "deleted":
        raise ObjectDeleted(f"{object_id} was deleted", object_id=object_id, pointer=pointer)
    if current.availability_state not in _SHOWN:
        raise ObjectRedacted(f"{object_id} is redacted", object_id=object_id, pointer=pointer)
    version_id = embedding.get("version_id", current.version_id)
    if version_id == current.version_id:
        return current
    row = scope.index.version(version_id)
    if row is None or row.object_id != object_id:
        raise ObjectNotFound(
            f"{object_id} has no version {version_id}", object_id=object_id, pointer=pointer
        )
    if current.availability_state != "available":
        raise ObjectRedacted(
            f"{object_id} was redacted in part; a vector of an earlier version would tell more",
            object_id=object_id,
            pointer=pointer,
        )
    return row


def _generated(space_id: str, row: VersionRow) -> Any:
    payload = {"embedding_space_id": space_id, "version_id": row.version_id}

    def event(desk: Desk, request: Mapping[str, Any]) -> Change:
        named = {"operation_id": desk.sources.identifier("op"), **request}
        return desk.commit_event("embedding_generated", named, payload, object_id=row.object_id)

    return event


def _named(store: OpenStore, request: Mapping[str, Any]) -> Json:
    members = ("scope_id", "actor", "operation_id")
    return {name: request[name] for name in members if name in request}


def _compact(scope: OpenScope, space: EmbeddingFiles, descriptor: Mapping[str, Any]) -> None:
    """Write a space anew when most of it are vectors that were replaced."""
    stride = descriptor["dimensions"] * 4
    if space.size() // stride > 2 * scope.index.counts()["objects"] + _DEAD_ROWS_MAX:
        space.keep(space.versions())


def embeddable(scope: OpenScope, request: Mapping[str, Any], after: int = 0) -> Iterator[Candidate]:
    """The current versions of the memory objects that can have a vector, in ledger order from
    behind a ledger sequence, as far as the actor may see them."""
    from pamctl.index.structured_query import StructuredQuery

    sight, ids = disclosed(scope.policy(), request, "query"), disclosed_ids(request)
    query = narrowed(StructuredQuery(availability_state=_SHOWN), sight, ids)
    return scope.index.candidates(query, after=after)


def _standing(scope: OpenScope, request: Mapping[str, Any], descriptor: Mapping[str, Any]) -> Json:
    versions = _files(scope, descriptor).versions()
    standing = {"fresh": 0, "stale": 0, "missing": 0}
    for one in embeddable(scope, request):
        embedded = versions.get(one.object_id)
        fresh = "fresh" if embedded == one.version_id else "stale"
        standing["missing" if embedded is None else fresh] += 1
    return {
        "embedding_space_id": descriptor["embedding_space_id"],
        "dimensions": descriptor["dimensions"],
        **standing,
    }


def _files(scope: OpenScope, descriptor: Mapping[str, Any]) -> EmbeddingFiles:
    return EmbeddingFiles(scope.layout, descriptor["embedding_space_id"], descriptor["dimensions"])


def _shows(scope: OpenScope, object_id: str) -> bool:
    current = scope.index.current(object_id)
    return current is not None and current.availability_state in _SHOWN
