"""Cursors: where the next page of one query begins. Opaque, and refused when altered."""

from __future__ import annotations

from typing import Any

import orjson

from pamctl.encoding import base64url
from pamctl.encoding.digests import sha256
from pamctl.errors import InvalidRequest
from pamctl.index.structured_query import Key

_MAC_BYTES = 16


def encode(key: Key, query_digest: str, as_of: int) -> str:
    """A cursor for the page behind `key`.

    query_digest: of the store and the query that the page belongs to. as_of: the ledger
    sequence of the first page, which later pages keep to.
    """
    data = orjson.dumps([as_of, list(key)])
    return base64url.encode(_mac(data, query_digest) + data)


def decode(cursor: str, query_digest: str) -> tuple[Key, int]:
    """The key and the ledger sequence in a cursor.

    Raises InvalidRequest for a cursor of another query, an altered one, and what is none.
    """
    try:
        data = base64url.decode(cursor)
    except ValueError:
        raise _refused() from None
    mac, data = data[:_MAC_BYTES], data[_MAC_BYTES:]
    if mac != _mac(data, query_digest):
        raise _refused()
    try:
        content: Any = orjson.loads(data)
        as_of, key = content
    except ValueError:
        raise _refused() from None
    if type(as_of) is not int or not _is_key(key):
        raise _refused()
    return tuple(key), as_of


def _is_key(key: Any) -> bool:
    """Whether somebody who knows how a cursor is made made one that can be looked up."""
    return isinstance(key, list) and all(
        part is None or type(part) in (str, int, float) for part in key
    )


def _mac(data: bytes, query_digest: str) -> bytes:
    """The query is the key: it tells cursors of other queries and torn ones apart. It keeps
    no secret, because a cursor gives nobody more than the query itself would."""
    return sha256(query_digest.encode() + b"\n" + data).digest()[:_MAC_BYTES]


def _refused() -> InvalidRequest:
    return InvalidRequest(
        "the cursor belongs to another query, or was altered",
        hint="repeat the query without --cursor to begin again",
        pointer="/cursor",
    )
