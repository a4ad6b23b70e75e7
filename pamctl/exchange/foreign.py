"""Histories of another scope, as they are to be recorded anew: one transaction at a time.

They come from a bundle, whole or a selection. What is about the other scope itself does not
come along: its policies, delegations, subscriptions, snapshots, spaces and records of requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidObject, PamError
from pamctl.model.bundles import Item
from pamctl.model.documents import is_valid
from pamctl.model.vocabulary import VERSION_EVENT_TYPES
from pamctl.named_tuples import NamedTuple

Json = dict[str, Any]
CARRIED_EVENTS = frozenset((*VERSION_EVENT_TYPES, "working_memory_promoted"))
"""Events that are recorded anew. Those of delegations are not: authority is not taken over."""


class Foreign(NamedTuple):
    """An entry that is to be recorded anew, and the version that it commits.

    number: of its line, for messages.
    kind: `event` or `erasure`.
    envelope: of the version, None where it commits none; of a stub without the content.
    gone: of a stub, what it says besides: `{"erased": {...}}` or `{"withheld": {...}}`.
    original: the exact bytes of the version as it came, where there are such.
    """

    number: int
    kind: str
    body: Json
    envelope: Json | None = None
    gone: Json | None = None
    original: bytes | None = None


def carried(items: Iterable[Item]) -> Iterator[list[Foreign]]:
    """The transactions in the lines of one scope of a bundle, as far as they are recorded
    anew. Raises InvalidObject."""
    transaction: list[Foreign] = []
    tx, versions = 0, set[str]()
    wanted: tuple[Json, int] | None = None
    for item in items:
        if item.kind == "ledger":
            if wanted is not None:
                raise _bad(item.number, "the version of the ledger line before is not there")
            entry = _entry(item)
            if entry["tx"] != tx:
                if transaction:
                    yield transaction
                transaction, tx = [], entry["tx"]
            if "version" in entry:
                wanted = entry, item.number
            elif _goes(entry, versions):
                transaction.append(Foreign(item.number, entry["kind"], entry["body"]))
        elif item.kind in ("version", "stub") and wanted is not None:
            found = _committed(*wanted, item)
            wanted = None
            if found.body["event_type"] in CARRIED_EVENTS:
                versions.add(_address(item))
                transaction.append(found)
    if transaction:
        yield transaction


def _entry(item: Item) -> Json:
    try:
        entry = orjson.loads(item.data)
        right = canonical(entry) == item.data and is_valid("ledger-entry", entry)
    except (orjson.JSONDecodeError, InvalidObject):
        right = False
    if not right:
        raise _bad(item.number, "the ledger entry is not as its schema says")
    found: Json = entry
    return found


def _goes(entry: Mapping[str, Any], versions: set[str]) -> bool:
    """Whether an entry that commits no version is recorded anew."""
    body = entry["body"]
    if entry["kind"] == "erasure":
        return body["address"] in versions
    return entry["kind"] == "event" and body["event_type"] in CARRIED_EVENTS


def _committed(entry: Json, number: int, item: Item) -> Foreign:
    name = "version-file"
    try:
        value = orjson.loads(item.data)
        if item.kind == "stub":
            name = "withheld-stub" if "withheld" in value else "erasure-stub"
        right = canonical(value) == item.data and is_valid(name, value)
    except (orjson.JSONDecodeError, InvalidObject, TypeError):
        right = False
    if not right or _address(item) != entry["version"]:
        raise _bad(item.number, "it is not the version that the ledger line before commits")
    gone = {name: value[name] for name in ("erased", "withheld") if name in value}
    original = item.data if not gone else None
    return Foreign(number, "event", entry["body"], value["envelope"], gone or None, original)


def _address(item: Item) -> str:
    if item.kind == "version":
        return f"sha256:{item.digest}"
    value = orjson.loads(item.data)
    return str(value.get("withheld", value.get("erased"))["address"])


def _bad(number: int, message: str) -> PamError:
    return InvalidObject(
        f"line {number} of the bundle: {message}",
        hint="`pamctl verify-export` says everything that is wrong with it",
        line=number,
    )
