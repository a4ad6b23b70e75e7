"""What embedders are given: the text of whatever has no vector of its current version. And the
built-in embedder's own work. PAMSPEC §7.8."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from pamctl.errors import InvalidRequest, ObjectDeleted, ObjectRedacted
from pamctl.index.content_text import content_text
from pamctl.limits import DOCUMENT_BYTES_MAX, PAGE_ITEMS_MAX
from pamctl.model.documents import check
from pamctl.rules.spaces import BUILT_IN
from pamctl.service.authority import require
from pamctl.service.embeddings import embeddable, keep_vectors, scope_to_write
from pamctl.service.spaces import space_of, spaces_of, unknown_space
from pamctl.store.embeddings import EmbeddingFiles

if TYPE_CHECKING:
    from pamctl.service.open_scope import OpenScope
    from pamctl.service.open_store import OpenStore

Json = dict[str, Any]

_GONE = (ObjectDeleted, ObjectRedacted)
_TRIES = 3
# Numbers of Python's take up ten times what they do as vectors.
_VECTORS_AT_ONCE = 250
# To look for vectors is to go through the lines of all.
_LOOKED_UP_TOGETHER = 16384


def embedding_pending(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """A page of what has no vector of its current version in a space, with its text: `missing`
    where it has none, `stale` where it has one of an earlier version. In ledger order, as far
    as the actor may see it; what has no text is counted and left out.

    Raises EmbeddingSpaceMismatch for a space that is not there, InvalidRequest for a cursor
    that is none.
    """
    scope = store.scope_to_read(request["scope_id"])
    if scope is None:
        raise unknown_space(request["embedding_space_id"], request["scope_id"])
    return _pending(scope, request, space_of(scope, request["embedding_space_id"]))


def embedding_generate(store: OpenStore, request: Mapping[str, Any]) -> Json:
    """Give a page of what is pending its vectors, by the built-in embedder. Adds the space of
    that embedder where the scope does not have it.

    Raises EmbeddingSpaceMismatch where another space has taken that id.
    """
    from pamctl.index.hashed_text import SPACE, embed

    check("requests/embedding_generate", request)
    scope = scope_to_write(store, request)
    require(scope.policy(), request, "put_embedding")
    if BUILT_IN not in spaces_of(scope) or not _is_same(scope, SPACE):
        named = {name: request[name] for name in ("scope_id", "actor") if name in request}
        operation_id = request.get("operation_id") or store.asking.identifier("op")
        with store.group() as group:
            group.perform("space_add", {**named, "operation_id": operation_id, "space": SPACE})
        scope.refresh()
    embedded, attempts = 0, 0
    while True:
        page = _pending(scope, request, SPACE)
        try:
            for start in range(0, len(page["items"]), _VECTORS_AT_ONCE):
                part = page["items"][start : start + _VECTORS_AT_ONCE]
                made = [_made(item, BUILT_IN, embed(item["text"])) for item in part]
                embedded += keep_vectors(store, scope, request, made)["embedded"]
            break
        except _GONE:
            # Somebody redacted or deleted one of them meanwhile.
            attempts += 1
            if attempts == _TRIES:
                raise
            scope.refresh()
    return {
        "embedded": embedded,
        "embedding_space_id": BUILT_IN,
        "ledger_sequence": scope.refresh().sequence,
        "next_cursor": page["next_cursor"],
        "scope_id": scope.scope_id,
        "without_text": page["without_text"],
    }


def _made(item: Mapping[str, Any], space_id: str, vector: Sequence[float]) -> Json:
    return {
        "object_id": item["object_id"],
        "version_id": item["version_id"],
        "embedding_space_id": space_id,
        "vector": vector,
    }


def _is_same(scope: OpenScope, space: Mapping[str, Any]) -> bool:
    from pamctl.rules.spaces import same_space

    return same_space(space_of(scope, space["embedding_space_id"]), space)


def _pending(scope: OpenScope, request: Mapping[str, Any], space: Mapping[str, Any]) -> Json:
    limit = request.get("limit", PAGE_ITEMS_MAX)
    items: list[Json] = []
    size, without_text, last, more = 0, 0, 0, False
    for since, item in _unembedded(scope, request, space):
        if len(items) == limit or size > DOCUMENT_BYTES_MAX:
            more = True
            break
        last = since
        text = item["text"] = _text(scope, item["version_id"])
        if text:
            items.append(item)
            size += len(text)
        else:
            without_text += 1
    return {
        "items": items,
        "next_cursor": str(last) if more else None,
        "scope_id": scope.scope_id,
        "space": dict(space),
        "without_text": without_text,
    }


def _unembedded(
    scope: OpenScope, request: Mapping[str, Any], space: Mapping[str, Any]
) -> Iterator[tuple[int, Json]]:
    """What is pending behind the cursor of a request, each with its place in the ledger."""
    files = EmbeddingFiles(scope.layout, space["embedding_space_id"], space["dimensions"])
    # What follows takes the place of what was looked up for an earlier page.
    scope.index.shrink()
    candidates = embeddable(scope, request, _after(request.get("cursor")))
    while some := list(islice(candidates, _LOOKED_UP_TOGETHER)):
        rows = files.rows({candidate.object_id for candidate in some})
        for candidate in some:
            embedded = rows.get(candidate.object_id)
            if embedded is None or embedded.version_id != candidate.version_id:
                yield (
                    candidate.since,
                    {
                        "object_id": candidate.object_id,
                        "state": "missing" if embedded is None else "stale",
                        "version_id": candidate.version_id,
                    },
                )


def _after(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if cursor.isascii() and cursor.isdigit() and len(cursor) <= 16:
        return int(cursor)
    raise InvalidRequest("the cursor is none of this list", pointer="/cursor")


def _text(scope: OpenScope, version_id: str) -> str:
    row = scope.index.version(version_id)
    envelope = None if row is None or row.erased else scope.envelope(row)
    if envelope is None or "canonical_content" not in envelope:
        return ""
    strings, _ = content_text(envelope["canonical_content"])
    return strings.strip()
