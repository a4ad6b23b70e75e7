"""The Memory Projection Record: its shape, and the bytes that are signed. MPR §4 and §6.

The checks are written out rather than left to a schema: they run once an entry on records
of up to 65,535 entries, they must tell `1` from `1.0` and from `true`, and each refusal
names one of the closed reasons.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, TypedDict, cast

import orjson

from pamctl.encoding import base64url
from pamctl.encoding.digests import is_sha256_digest
from pamctl.encoding.strict_json import parse as parse_json
from pamctl.encoding.timestamps import instant
from pamctl.errors import InvalidRequest
from pamctl.limits import INTEGER_MAX, PROJECTION_ENTRIES_MAX, PROJECTION_RECORD_BYTES_MAX
from pamctl.projection.reasons import Refusal

VERSION = "MEMORY-PROJECTION-RECORD-v1"
SIGNING_DOMAIN = VERSION.encode() + b"\x00"
NOT_ESTABLISHED = "NOT_ESTABLISHED"
NONCLAIMS = ("model_use", "action_linkage", "action_authorization", "execution_outcome")
EXCLUSION_REASONS = ("authentication_failed", "schema_invalid", "policy_filtered", "context_limit")
TRUST_LEVELS = ("self", "trusted", "unverified")
AUTHORSHIPS = ("signed", "attested", "unknown")

NAME_CHARS_MAX = 1024
"""A profile name or a key id."""
URI_CHARS_MAX = 2048
_TIMESTAMP_CHARS_MAX = 64

_RECORD = frozenset(
    (
        "@version",
        "source_profile",
        "projection_id",
        "created_at",
        "adapter",
        "selection_context",
        "delivered",
        "exclusions",
        "projection",
        "nonclaims",
        "proof",
    )
)
_ADAPTER = frozenset(("id", "key_id"))
_CONTEXT = frozenset(
    (
        "recall_request_digest",
        "selection_policy_digest",
        "trust_snapshot_digest",
        "trust_evaluated_at",
        "context_frame_profile",
    )
)
_ENTRY = frozenset(
    (
        "position",
        "object",
        "context_fragment_digest",
        "derived_trust",
        "authorship",
        "author_key_id_b64u",
        "custody_present",
    )
)
_OBJECT = frozenset(("format_version", "sealed_object_digest"))
_EXCLUSIONS = frozenset(("total", "by_reason"))
_PROJECTION = frozenset(("encoding", "byte_length", "digest"))
_PROOF = frozenset(("alg", "key_id", "signature_b64u"))
_BY_REASON = frozenset(EXCLUSION_REASONS)
_NONCLAIMS = frozenset(NONCLAIMS)

_PCHAR = r"[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2}"
# RFC 3986 §3: a scheme and something after it; brackets stand in an authority alone.
_URI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.\-]*:(?=.)(?://(?:[\[\]]|{_PCHAR})*(?=[/?#]|\Z))?(?:/|{_PCHAR})*"
    rf"(?:\?(?:[/?]|{_PCHAR})*)?(?:#(?:[/?]|{_PCHAR})*)?\Z"
)


class NativeResult(TypedDict):
    """What a source profile found about one source object, kept as it was found. MPR §4.3.

    format_version: integer of at least 1 that only the source profile interprets.
    sealed_object_digest: SHA-256 over the exact source object.
    derived_trust: `self`, `trusted` or `unverified`.
    authorship: `signed`, `attested` or `unknown`.
    author_key_id_b64u: unpadded base64url of the author's key id, or None.
    custody_present: whether the object came through a custodian.
    """

    format_version: int
    sealed_object_digest: str
    derived_trust: str
    authorship: str
    author_key_id_b64u: str | None
    custody_present: bool


def parse(data: bytes) -> dict[str, Any]:
    """The record that `data` spells, checked in shape. MPR §8 step 1.

    Text that is its own canonical form has no duplicate members and no number that a
    reader could have bent, so it is believed as it is; other text is read strictly and
    must fit limits.DOCUMENT_BYTES_MAX. Raises Refusal with `record_invalid`.
    """
    if len(data) > PROJECTION_RECORD_BYTES_MAX:
        raise Refusal("record_invalid", f"longer than {PROJECTION_RECORD_BYTES_MAX} bytes")
    text = data.removesuffix(b"\n")
    try:
        record = orjson.loads(text)
        believed = orjson.dumps(record, option=orjson.OPT_SORT_KEYS) == text
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        believed = False
    if not believed:
        try:
            record = parse_json(data, what="the record")
        except InvalidRequest as cause:
            raise Refusal("record_invalid", cause.message, **cause.details) from cause
    check_shape(record)
    return cast("dict[str, Any]", record)


def signing_bytes(record: dict[str, Any]) -> bytes:
    """What the adapter signs: the domain, a zero octet, and the record without its proof
    in canonical JSON. MPR §6.

    record: one whose shape holds, but for the proof. Its member names are ASCII and its
    numbers integers, and for such values orjson's sorted form is that of RFC 8785.
    """
    unsigned = {name: member for name, member in record.items() if name != "proof"}
    return SIGNING_DOMAIN + orjson.dumps(unsigned, option=orjson.OPT_SORT_KEYS)


def check_shape(record: Any) -> None:
    """Step 1 of MPR §8: exact member sets, types, enumerations, timestamps, digests.

    Raises Refusal with `record_invalid` and the JSON Pointer of the first fault. What a
    nonclaim says, whether positions run and whether counts add up is judged later, under
    reasons of its own.
    """
    try:
        _record(record)
    except _Fault as fault:
        problem = f"{fault.pointer or 'the record'} {fault.problem}"
        raise Refusal("record_invalid", problem, pointer=fault.pointer) from None


class _Fault(Exception):
    """A fault in the shape: where, and what (to be read after the pointer)."""

    def __init__(self, pointer: str, problem: str) -> None:
        super().__init__(pointer, problem)
        self.pointer = pointer
        self.problem = problem


def _record(record: Any) -> None:
    _members(record, _RECORD, "")
    _constant(record["@version"], VERSION, "/@version")
    _name(record["source_profile"], "/source_profile")
    _uri(record["projection_id"], "/projection_id")
    _utc(record["created_at"], "/created_at")
    adapter = record["adapter"]
    _members(adapter, _ADAPTER, "/adapter")
    _uri(adapter["id"], "/adapter/id")
    _name(adapter["key_id"], "/adapter/key_id")
    _selection_context(record["selection_context"])
    _delivered(record["delivered"])
    _exclusions(record["exclusions"])
    projection = record["projection"]
    _members(projection, _PROJECTION, "/projection")
    _constant(projection["encoding"], "utf-8", "/projection/encoding")
    _count(projection["byte_length"], 0, "/projection/byte_length")
    _digest(projection["digest"], "/projection/digest")
    _members(record["nonclaims"], _NONCLAIMS, "/nonclaims")
    _proof(record["proof"], adapter["key_id"])


def _selection_context(context: Any) -> None:
    _members(context, _CONTEXT, "/selection_context")
    for name in ("recall_request_digest", "selection_policy_digest", "trust_snapshot_digest"):
        _digest(context[name], f"/selection_context/{name}")
    _utc(context["trust_evaluated_at"], "/selection_context/trust_evaluated_at")
    _name(context["context_frame_profile"], "/selection_context/context_frame_profile")


def _delivered(delivered: Any) -> None:
    if type(delivered) is not list:
        raise _Fault("/delivered", "is not an array")
    if len(delivered) > PROJECTION_ENTRIES_MAX:
        raise _Fault("/delivered", f"has more than {PROJECTION_ENTRIES_MAX} entries")
    for index, entry in enumerate(delivered):
        try:
            _entry(entry)
        except _Fault as fault:
            raise _Fault(f"/delivered/{index}{fault.pointer}", fault.problem) from None


def _entry(entry: Any) -> None:
    _members(entry, _ENTRY, "")
    _count(entry["position"], 0, "/position")
    source = entry["object"]
    _members(source, _OBJECT, "/object")
    _count(source["format_version"], 1, "/object/format_version")
    _digest(source["sealed_object_digest"], "/object/sealed_object_digest")
    _digest(entry["context_fragment_digest"], "/context_fragment_digest")
    fault = native_fault(entry)
    if fault is not None:
        raise _Fault(*fault)


def native_fault(entry: Any) -> tuple[str, str] | None:
    """What is wrong with the four native labels of `entry`: a pointer and a problem, or
    None. MPR §4.3: unverified content has no author, attested content has a custodian."""
    trust, authorship = entry["derived_trust"], entry["authorship"]
    author, custody = entry["author_key_id_b64u"], entry["custody_present"]
    if type(trust) is not str or trust not in TRUST_LEVELS:
        return "/derived_trust", f"is none of {', '.join(TRUST_LEVELS)}"
    if type(authorship) is not str or authorship not in AUTHORSHIPS:
        return "/authorship", f"is none of {', '.join(AUTHORSHIPS)}"
    if type(custody) is not bool:
        return "/custody_present", "is neither true nor false"
    if author is not None and not _is_base64url(author):
        return "/author_key_id_b64u", "is neither null nor canonical unpadded base64url"
    if trust == "unverified" and (authorship != "unknown" or author is not None):
        return "/derived_trust", "is unverified, so authorship must be unknown and the author null"
    if authorship == "attested" and not custody:
        return "/custody_present", "is false, but attested authorship needs a custodian"
    return None


def _exclusions(exclusions: Any) -> None:
    _members(exclusions, _EXCLUSIONS, "/exclusions")
    _count(exclusions["total"], 0, "/exclusions/total")
    by_reason = exclusions["by_reason"]
    _members(by_reason, _BY_REASON, "/exclusions/by_reason")
    for name, counter in by_reason.items():
        _count(counter, 0, f"/exclusions/by_reason/{name}")


def _proof(proof: Any, key_id: str) -> None:
    _members(proof, _PROOF, "/proof")
    _constant(proof["alg"], "Ed25519", "/proof/alg")
    _name(proof["key_id"], "/proof/key_id")
    if proof["key_id"] != key_id:
        raise _Fault("/proof/key_id", "differs from /adapter/key_id")
    signature = proof["signature_b64u"]
    if type(signature) is not str or len(signature) != 86 or not _is_base64url(signature):
        raise _Fault("/proof/signature_b64u", "is not 64 bytes in canonical unpadded base64url")


def _members(value: Any, names: frozenset[str], pointer: str) -> None:
    if type(value) is dict and value.keys() == names:
        return
    if type(value) is not dict:
        raise _Fault(pointer, "is not an object")
    missing = sorted(names - value.keys())
    if missing:
        raise _Fault(pointer, f"lacks the member {missing[0]}")
    unknown = min(value.keys() - names)
    raise _Fault(pointer, f"has the unknown member {unknown[:64]!r}")


def _constant(value: Any, expected: str, pointer: str) -> None:
    if value != expected:
        raise _Fault(pointer, f"is not {expected}")


def _count(value: Any, least: int, pointer: str) -> None:
    if type(value) is not int or not least <= value <= INTEGER_MAX:
        raise _Fault(pointer, f"is not an integer from {least} to 2^53-1")


def is_name(value: Any) -> bool:
    """Whether `value` can name a profile or a key."""
    return type(value) is str and 0 < len(value) <= NAME_CHARS_MAX


def _name(value: Any, pointer: str) -> None:
    if not is_name(value):
        raise _Fault(pointer, f"is not a string of 1 to {NAME_CHARS_MAX} characters")


def _digest(value: Any, pointer: str) -> None:
    if not is_sha256_digest(value):
        raise _Fault(pointer, "is not sha256: and 64 lowercase hexadecimal digits")


def is_uri(value: Any) -> bool:
    """Whether `value` is an absolute URI (RFC 3986) of at most URI_CHARS_MAX characters."""
    return type(value) is str and len(value) <= URI_CHARS_MAX and _URI.match(value) is not None


def _uri(value: Any, pointer: str) -> None:
    if not is_uri(value):
        raise _Fault(pointer, f"is not an absolute URI of at most {URI_CHARS_MAX} characters")


@lru_cache(maxsize=256)
def utc_instant(text: str) -> str:
    """The instant that an RFC 3339 timestamp in UTC names, in any of its spellings.

    Raises ValueError for anything else. The latest are remembered: the shape asks for each
    timestamp of a record once and the freshness asks again.
    """
    if len(text) > _TIMESTAMP_CHARS_MAX or not text.endswith(("Z", "z", "+00:00", "-00:00")):
        raise ValueError("not in UTC")
    return instant(text)


def _utc(value: Any, pointer: str) -> None:
    if type(value) is not str:
        raise _Fault(pointer, "is not a string")
    try:
        utc_instant(value)
    except ValueError:
        raise _Fault(pointer, "is not an RFC 3339 timestamp in UTC") from None


def _is_base64url(value: Any) -> bool:
    return is_name(value) and _decodes(value)


@lru_cache(maxsize=256)
def _decodes(text: str) -> bool:
    """Whether `text` is strict base64url. The latest are remembered: a record names few
    authors many times."""
    try:
        base64url.decode(text)
    except ValueError:
        return False
    return True
