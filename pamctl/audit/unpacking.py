"""A bundle laid out as a second copy of its store, for a repair to take from.

Nothing in it is believed by that: the copy is checked like any other, and bytes are used only
where their digest is the one that is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from pamctl.audit.reading import parsed
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import is_sha256_digest
from pamctl.errors import InvalidObject, InvalidRequest
from pamctl.model.bundles import Item, read_bundle
from pamctl.store.layout import FORMAT, FORMAT_VERSION, ScopeLayout, StoreLayout

_SCOPE_MEMBERS = ("scope_id", "scope_kind", "parent_scope_id")
# No pack's name, so that nobody takes it for one; its lines are found all the same.
_VERSIONS = "versions.jsonl"


def unpack(source: IO[bytes], into: Path, *, store_id: str | None) -> None:
    """Lay the bundle in `source` out as a store in the empty folder `into`.

    Ledgers that began in another store are left out, and so are those of which not every line
    is shown. `store.json` is made anew, with the first time that a ledger names.

    Arguments:
        store_id: of the store that is to be repaired, None where nothing tells it.

    Raises InvalidObject for a bundle with a fault, and InvalidRequest for one of another store.
    """
    unpacking = _Unpacking(StoreLayout(into), store_id)
    for item in read_bundle(source):
        unpacking.take(item)
    unpacking.end()


class _Unpacking:
    def __init__(self, layout: StoreLayout, store_id: str | None) -> None:
        self._layout = layout
        self._store_id = store_id
        self._told: dict[str, dict[str, Any]] = {}
        self._scope: ScopeLayout | None = None
        self._head = ""
        self._ours = True
        self._created_at: str | None = None

    def take(self, item: Item) -> None:
        """Take in the next line."""
        if item.kind == "header":
            self._header(item.value)
        elif item.kind == "scope":
            self._end_ledger()
            self._begin(item.value)
        elif self._scope is not None:
            self._line(self._scope, item)

    def end(self) -> None:
        """The bundle came to its end, and is whole."""
        self._end_ledger()
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "store_id": self._store_id,
            "created_at": self._created_at or "1970-01-01T00:00:00Z",
        }
        self._layout.store_file.write_bytes(canonical(document) + b"\n")

    def _header(self, header: dict[str, Any]) -> None:
        origins = [scope["store_id"] for scope in header["scopes"]]
        if self._store_id is None:
            self._store_id = origins[0]
        if self._store_id not in origins:
            raise InvalidRequest(
                "the bundle is of another store",
                hint="`pamctl import` takes over what another store exported",
            )
        self._told = {scope["scope_id"]: scope for scope in header["scopes"]}

    def _begin(self, scope_id: str) -> None:
        told = self._told[scope_id]
        self._scope = scope = self._layout.scope(scope_id)
        self._ours = told["store_id"] == self._store_id
        self._head = ""
        scope.packs.mkdir(parents=True)
        if self._ours:
            document = {name: told[name] for name in _SCOPE_MEMBERS if name in told}
            scope.scope_file.write_bytes(canonical(document) + b"\n")

    def _line(self, scope: ScopeLayout, item: Item) -> None:
        if item.kind == "leaf":
            self._ours = False
            scope.ledger.unlink(missing_ok=True)
        elif item.kind == "ledger" and self._ours:
            self._head = item.digest
            _append(scope.ledger, item.data)
            if self._created_at is None:
                self._created_at = (parsed(item.data) or {}).get("body", {}).get("created_at")
        elif item.kind == "version":
            _append(scope.packs / _VERSIONS, item.data)
        elif item.kind == "stub":
            address = (parsed(item.data) or {}).get("erased", {}).get("address")
            if is_sha256_digest(address):
                stub = scope.stub_file(address)
                stub.parent.mkdir(parents=True, exist_ok=True)
                stub.write_bytes(item.data)

    def _end_ledger(self) -> None:
        if self._scope is None or not self._ours:
            return
        scope_id = next(s for s in self._told if self._layout.scope(s) == self._scope)
        if self._told[scope_id]["head"] != self._head:
            raise InvalidObject(
                f"the ledger of {scope_id} in the bundle does not end as its header says",
                hint="`pamctl verify-export` says everything that is wrong with it",
            )


def _append(path: Path, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data + b"\n")
