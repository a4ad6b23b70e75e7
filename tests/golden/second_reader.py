"""A reader of `.pam` stores written from `store-format/` alone.

It uses nothing but the standard library and shares no code with pamctl, so that what the two
agree on is what the pages say. `findings` names broken invariants by their ids; it knows those
that need no more than the pages (a checker that names every one of them is another program).
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LINE_BYTES_MAX = 16_777_216
COMMITTING = {
    "object_created", "object_updated", "lifecycle_transitioned", "availability_transitioned",
    "retention_transitioned", "validation_transitioned", "relationship_created",
    "relationship_updated", "provenance_updated", "object_redacted", "object_deleted",
}  # fmt: skip


def digits_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# encoding.md


def canonical(value: Any) -> bytes:
    return _spell(value).encode()


def _spell(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _spell_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _spell_number(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_spell, value)) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{_spell_text(name)}:{_spell(value[name])}" for name in names) + "}"


_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def _spell_text(text: str) -> str:
    spelled = [
        _SHORT.get(letter) or (letter if letter >= " " else f"\\u{ord(letter):04x}")
        for letter in text
    ]
    return '"' + "".join(spelled) + '"'


def _spell_number(number: float) -> str:
    """As ECMAScript: the shortest digits, which are those of Python's repr, laid out anew."""
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        if len(digits) <= point:
            return sign + digits.ljust(point, "0")
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"


# layout.md


def folder_of(scope_id: str) -> str:
    readable = re.sub("[^a-z0-9]+", "-", scope_id.lower()).strip("-")[:40].strip("-") or "scope"
    return f"{readable}-{digits_of(scope_id.encode())[:12]}"


# versions.md, packs.md


def versions_in(scope: Path) -> dict[str, bytes]:
    """The bytes of every version of a scope, by the address that its place says it has."""
    found = {}
    for path in scope.glob("versions/??/*.json"):
        digits = path.parent.name + path.name.removesuffix(".json")
        found[f"sha256:{digits}"] = path.read_bytes()
    for path in scope.glob("packs/*.jsonl"):
        for line in path.read_bytes().removesuffix(b"\n").split(b"\n"):
            found["sha256:" + digits_of(line)] = line
    return found


# ledger.md, "Reading"


class Damage(Exception):
    """A line that no writer can have left; the id of the invariant, and where it begins."""

    def __init__(self, finding: str, offset: int) -> None:
        super().__init__(f"{finding} at byte {offset}")
        self.finding = finding
        self.offset = offset


@dataclass
class Position:
    offset: int = 0
    entries: int = 0
    sequence: int = 0
    head: str = "0" * 64


def transactions(data: bytes) -> Iterator[tuple[list[dict[str, Any]], Position]]:
    """The complete transactions in a ledger's bytes, with the position behind each."""
    place, pending = Position(), list[dict[str, Any]]()
    while (end := data.find(b"\n", place.offset)) >= 0:
        line, offset = data[place.offset : end], place.offset
        if len(line) > LINE_BYTES_MAX:
            raise Damage("ledger-line-too-long", offset)
        try:
            entry = json.loads(line)
        except ValueError:
            if b"\x00" in line:
                return
            raise Damage("ledger-line-not-json", offset) from None
        if not isinstance(entry, dict) or canonical(entry) != line:
            raise Damage("ledger-line-not-canonical", offset)
        if entry.keys() - {"version"} != {"n", "tx", "i", "of", "kind", "prev", "body"}:
            raise Damage("ledger-entry-invalid", offset)
        if entry["prev"] != place.head:
            raise Damage("ledger-chain-broken", offset)
        tx = pending[0]["tx"] if pending else entry["n"]
        of = pending[0]["of"] if pending else entry["of"]
        counters = [entry[name] for name in ("n", "tx", "i", "of")]
        numbers = all(type(counter) is int for counter in counters)  # true is none
        expected = [place.entries + 1, tx, len(pending) + 1, of]
        if not numbers or counters != expected or entry["i"] > of:
            raise Damage("ledger-counters-wrong", offset)
        sequence = place.sequence + (entry["kind"] == "event")
        if entry["kind"] == "event" and entry["body"].get("sequence") != sequence:
            raise Damage("event-sequence-gap", offset)
        place = Position(end + 1, entry["n"], sequence, digits_of(line))
        pending.append(entry)
        if len(pending) == of:
            yield pending, place
            pending = []


# idempotency.md


def request_digest(operation: str, request: dict[str, Any], salt: str) -> str:
    asked = {k: v for k, v in request.items() if k not in ("operation_id", "idempotency_key")}
    return "sha256:" + digits_of(salt.encode() + canonical([operation, asked]))


# Together


@dataclass
class Scope:
    """What a scope holds: its documents, events and versions, in the ledger's order."""

    scope_id: str
    end: Position = field(default_factory=Position)
    transactions: list[list[dict[str, Any]]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    versions: list[dict[str, Any]] = field(default_factory=list)
    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)

    def current(self) -> dict[str, dict[str, Any]]:
        """The envelope of each object's current version."""
        return {one["envelope"]["object_id"]: one["envelope"] for one in self.versions}


def read_store(root: Path) -> dict[str, Scope]:
    """Every scope of a store, by scope id. Raises Damage or AssertionError."""
    store = json.loads((root / "store.json").read_bytes())
    assert (store["format"], store["format_version"]) == ("pam-store", 1)
    folders = [path for path in (root / "scopes").iterdir() if not path.name.startswith(".")]
    scopes = [_read_scope(folder, store["store_id"]) for folder in sorted(folders)]
    return {scope.scope_id: scope for scope in scopes}


def _read_scope(folder: Path, store_id: str) -> Scope:
    document = json.loads((folder / "scope.json").read_bytes())
    assert canonical(document) + b"\n" == (folder / "scope.json").read_bytes()
    assert folder.name == folder_of(document["scope_id"])
    scope, stored = Scope(document["scope_id"]), versions_in(folder)
    for entries, position in transactions((folder / "ledger.jsonl").read_bytes()):
        scope.transactions.append(entries)
        scope.end = position
        for entry in entries:
            _take(scope, entry, stored)
    first = scope.transactions[0][0]
    assert [e["n"] for t in scope.transactions for e in t if e["kind"] == "scope"] == [1]
    created_at = first["body"]["created_at"]
    assert first["body"] == {**document, "store_id": store_id, "created_at": created_at}
    return scope


def _take(scope: Scope, entry: dict[str, Any], stored: dict[str, bytes]) -> None:
    body = entry["body"]
    if entry["kind"] == "policy":
        scope.policy = body["policy"]
    elif entry["kind"] == "idempotency":
        assert body["key"] not in scope.records
        scope.records[body["key"]] = body
    elif entry["kind"] == "event":
        scope.events.append(body)
        assert ("version" in entry) == (body["event_type"] in COMMITTING)
        if "version" in entry:
            _take_version(scope, entry, stored)


def _take_version(scope: Scope, entry: dict[str, Any], stored: dict[str, bytes]) -> None:
    address, event = entry["version"], entry["body"]
    if address not in stored:
        raise Damage("version-missing", 0)
    data = stored[address]
    if "sha256:" + digits_of(data) != address:
        raise Damage("version-altered", 0)
    version = json.loads(data)
    assert canonical(version) == data
    assert version.keys() == {"envelope", "salt"}
    assert len(base64.urlsafe_b64decode(version["salt"] + "==")) == 16
    envelope = version["envelope"]
    for name in ("object_id", "version_id", "scope_id", "actor", "recorded_at"):
        assert envelope[name] == event[name], name
    before = [v for v in scope.versions if v["envelope"]["object_id"] == envelope["object_id"]]
    assert envelope["sequence"] == len(before) + 1
    scope.versions.append(version)


def finding(root: Path) -> str | None:
    """The id of the first broken invariant that this reader meets, None for a store in order."""
    try:
        read_store(root)
    except Damage as damage:
        return damage.finding
    return None
