"""Ledger lines that a look at their bytes proves canonical.

Nearly every line of a ledger is an event about one object or relationship, or the record of a
key. In the spelling that writers give them they match one pattern: known names in their
order, text in printable ASCII that needs no escape, whole numbers of at most fifteen digits.
Such bytes are what RFC 8785 writes for the value that they hold, and no name is in them
twice. To match takes a third of what writing the value again and comparing takes.
"""

from __future__ import annotations

import re

_TEXT = rb'"[ !#-\[\]-~]*"'
_TAKEN = rb'"([ !#-\[\]-~]*)"'
_COUNT = rb"[1-9][0-9]{0,14}"
_PAYLOAD = (
    rb'\{(?:"(?:object_type|previous_version_id|relationship_type)":' + _TEXT + rb"|"
    rb'(?:"dimension":' + _TEXT + rb',)?"from":' + _TEXT + rb","
    rb'(?:"policy_basis":' + _TEXT + rb',)?"to":' + _TEXT + rb"|)\}"
)


def _line(kind: bytes, body: bytes, rest: bytes) -> re.Pattern[bytes]:
    """The pattern of the lines of a kind; its last groups are `i`, `n`, `of`, `prev`, `tx`."""
    count = b"(" + _COUNT + b")"
    place = rb'"i":%b,"kind":"%b","n":%b,"of":%b,"prev":%b,"tx":%b'
    place %= count, kind, count, count, _TAKEN, count
    return re.compile(rb'\{"body":\{' + body + rb"\}," + place + rest + rb"\}")


plain_event = _line(
    b"event",
    rb'"actor":\{"actor_id":' + _TEXT + rb',"actor_kind":' + _TEXT + rb"\},"
    rb'"event_id":' + _TAKEN + rb',"event_type":' + _TAKEN + rb","
    rb'(?:"object_id":' + _TAKEN + rb",)?"
    rb'"operation_id":' + _TEXT + rb","
    rb'"payload":' + _PAYLOAD + rb","
    rb'"recorded_at":' + _TAKEN + rb","
    rb'(?:"relationship_id":' + _TAKEN + rb",)?"
    rb'"scope_id":' + _TEXT + rb',"sequence":(' + _COUNT + rb'),"version_id":' + _TEXT,
    rb',"version":"(sha256:[0-9a-f]{64})"',
).fullmatch
"""A match for such a line of an event that commits a version. Its groups are `event_id`,
`event_type`, `object_id`, `recorded_at`, `relationship_id`, `sequence`; `i`, `n`, `of`, `prev`,
`tx`; and the version's address."""

plain_key = _line(
    b"idempotency",
    rb'"key":' + _TAKEN + rb',"operation":' + _TEXT + rb',"request_digest":' + _TEXT + rb","
    rb'"result":\{"event_id":' + _TEXT + rb',"ledger_sequence":' + _COUNT + rb","
    rb'(?:"object_id":' + _TEXT + rb',)?"operation_id":' + _TEXT + rb","
    rb'(?:"relationship_id":' + _TEXT + rb",)?"
    rb'"sequence":' + _COUNT + rb',"version_id":' + _TEXT + rb"\}",
    b"",
).fullmatch
"""A match for such a line of the record of a key. Its groups are the key; and `i`, `n`, `of`,
`prev`, `tx`."""


def is_plain_line(data: bytes) -> bool:
    """Whether it is one of these lines, which is then canonical and has the members of its
    kind, each of its type. False says nothing."""
    return plain_event(data) is not None or plain_key(data) is not None
