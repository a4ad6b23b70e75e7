"""The Memory Projection Record: its shape, and the bytes that are signed. MPR §4 and §6."""

from __future__ import annotations

from typing import Any, TypedDict

import orjson

from pamctl.encoding import base64url
from pamctl.encoding.strict_json import parse as parse_json
from pamctl.errors import InvalidRequest
from pamctl.limits import PROJECTION_RECORD_BYTES_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.projection import shape
from pamctl.projection.entries import Entries, columns
from pamctl.projection.reasons import Refusal
from pamctl.projection.shape import Fault

VERSION = "MEMORY-PROJECTION-RECORD-v1"
SIGNING_DOMAIN = VERSION.encode() + b"\x00"
NOT_ESTABLISHED = "NOT_ESTABLISHED"
NONCLAIMS = ("model_use", "action_linkage", "action_authorization", "execution_outcome")
EXCLUSION_REASONS = ("authentication_failed", "schema_invalid", "policy_filtered", "context_limit")

_SIGNATURE_CHARS = 86

# Around the entries, in canonical JSON.
_OPENING, _CLOSING = b'"delivered":[', b'],"exclusions":'

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
_DIGESTS = ("recall_request_digest", "selection_policy_digest", "trust_snapshot_digest")
_CONTEXT = frozenset((*_DIGESTS, "trust_evaluated_at", "context_frame_profile"))
_EXCLUSIONS = frozenset(("total", "by_reason"))
_PROJECTION = frozenset(("encoding", "byte_length", "digest"))
_PROOF = frozenset(("alg", "key_id", "signature_b64u"))
_BY_REASON = frozenset(EXCLUSION_REASONS)
_NONCLAIMS = frozenset(NONCLAIMS)


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


class ReadRecord(NamedTuple):
    """A record that was read, good in shape.

    members: the whole of it.
    entries: its delivered entries, by column.
    signed: the bytes that its proof is over. signature: what stands there.
    """

    members: dict[str, Any]
    entries: Entries
    signed: bytes
    signature: bytes


class RecordAround(NamedTuple):
    """A record that was read as if it had no entries, and good in shape then.

    text: the whole of it. start, end: its entries stand between these.
    """

    record: ReadRecord
    text: bytes
    start: int
    end: int


def parse(data: bytes) -> ReadRecord:
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
        _refuse_minus_zero(data)
    entries, signature = _checked(record)
    signed = _without_proof(text, record["proof"]) if believed else signing_bytes(record)
    return ReadRecord(record, entries, signed, signature)


def parse_around(data: bytes) -> RecordAround | None:
    """The record that `data` spells canonically, read as if it had no entries; None where a
    closer look must tell. MPR §8 step 1.

    If what was not read is the canonical spelling of good entries, `data` is that of a record
    with exactly these. For a quote within a string is escaped: what opens and closes `delivered`
    stands only where a member of that name does, and in what is read there is but one.
    """
    start, end = data.find(_OPENING) + len(_OPENING), data.rfind(_CLOSING)
    if not len(_OPENING) <= start <= end or len(data) > PROJECTION_RECORD_BYTES_MAX:
        return None
    behind = data[end:].removesuffix(b"\n")
    text = data[:start] + behind
    try:
        record = orjson.loads(text)
        if orjson.dumps(record, option=orjson.OPT_SORT_KEYS) != text:
            return None
        entries, signature = _checked(record)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, Refusal):
        return None
    before_proof, _, behind_proof = behind.partition(_proof_member(record["proof"]))
    # Of what may be long, no more than one copy.
    signed = b"".join((SIGNING_DOMAIN, memoryview(data)[:end], before_proof, behind_proof))
    return RecordAround(ReadRecord(record, entries, signed, signature), data, start, end)


def _refuse_minus_zero(data: bytes) -> None:
    """`-0` is read as 0 and signed as 0, and is no spelling of a count."""
    if b"-0" not in data:
        return
    import json

    seen: list[str] = []
    json.loads(data, parse_int=seen.append)
    if "-0" in seen:
        raise Refusal("record_invalid", "a number is spelled -0; a count has no sign")


def signing_bytes(record: dict[str, Any]) -> bytes:
    """What the adapter signs: the domain, a zero octet, and the record without its proof
    in canonical JSON. MPR §6.

    record: one whose shape holds, but for the proof. Its member names are ASCII and its
    numbers integers, and for such values orjson's sorted form is that of RFC 8785.
    """
    return SIGNING_DOMAIN + canonical_text({n: m for n, m in record.items() if n != "proof"})


def canonical_text(record: dict[str, Any]) -> bytes:
    """The canonical JSON of a record whose shape holds, or of one without its proof."""
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS)


def with_entries(text: bytes, delivered: bytes) -> bytes:
    """The canonical text of a record that has none, with the text of entries put in."""
    before, opening, behind = text.partition(_OPENING)
    return b"".join((before, opening, delivered, behind))


def _without_proof(text: bytes, proof: dict[str, Any]) -> bytes:
    """`signing_bytes` of a record, cut out of its canonical text.

    A quote within a string is escaped, so the member's text stands nowhere but where the
    member does; and no object within the record may have a member of that name.
    """
    before, _, after = text.partition(_proof_member(proof))
    return b"".join((SIGNING_DOMAIN, before, after))


def _proof_member(proof: dict[str, Any]) -> bytes:
    return b'"proof":' + orjson.dumps(proof, option=orjson.OPT_SORT_KEYS) + b","


def check_shape(record: Any) -> Entries:
    """Step 1 of MPR §8: exact member sets, types, enumerations, timestamps, digests.

    Answers the delivered entries by column. Raises Refusal with `record_invalid` and the
    JSON Pointer of the first fault. What a nonclaim says, whether positions run and whether
    counts add up is judged later, under reasons of its own.
    """
    return _checked(record)[0]


def _checked(record: Any) -> tuple[Entries, bytes]:
    """The entries, and the signature that stands in the record. Raises as `check_shape`."""
    try:
        return _check_record(record)
    except Fault as fault:
        problem = f"{fault.pointer or 'the record'} {fault.problem}"
        raise Refusal("record_invalid", problem, pointer=fault.pointer) from None


def _check_record(record: Any) -> tuple[Entries, bytes]:
    shape.members(record, _RECORD, "")
    shape.constant(record["@version"], VERSION, "/@version")
    shape.name(record["source_profile"], "/source_profile")
    shape.uri(record["projection_id"], "/projection_id")
    shape.utc(record["created_at"], "/created_at")
    adapter = record["adapter"]
    shape.members(adapter, _ADAPTER, "/adapter")
    shape.uri(adapter["id"], "/adapter/id")
    shape.name(adapter["key_id"], "/adapter/key_id")
    _check_selection_context(record["selection_context"])
    try:
        entries = columns(record["delivered"])
    except Fault as fault:
        raise Fault(f"/delivered{fault.pointer}", fault.problem) from None
    _check_exclusions(record["exclusions"])
    projection = record["projection"]
    shape.members(projection, _PROJECTION, "/projection")
    shape.constant(projection["encoding"], "utf-8", "/projection/encoding")
    shape.count(projection["byte_length"], 0, "/projection/byte_length")
    shape.digest(projection["digest"], "/projection/digest")
    shape.members(record["nonclaims"], _NONCLAIMS, "/nonclaims")
    return entries, _signature(record["proof"], adapter["key_id"])


def _check_selection_context(context: Any) -> None:
    shape.members(context, _CONTEXT, "/selection_context")
    for name in _DIGESTS:
        shape.digest(context[name], f"/selection_context/{name}")
    shape.utc(context["trust_evaluated_at"], "/selection_context/trust_evaluated_at")
    shape.name(context["context_frame_profile"], "/selection_context/context_frame_profile")


def _check_exclusions(exclusions: Any) -> None:
    shape.members(exclusions, _EXCLUSIONS, "/exclusions")
    shape.count(exclusions["total"], 0, "/exclusions/total")
    by_reason = exclusions["by_reason"]
    shape.members(by_reason, _BY_REASON, "/exclusions/by_reason")
    for name, counter in by_reason.items():
        shape.count(counter, 0, f"/exclusions/by_reason/{name}")


def _signature(proof: Any, key_id: str) -> bytes:
    shape.members(proof, _PROOF, "/proof")
    shape.constant(proof["alg"], "Ed25519", "/proof/alg")
    shape.name(proof["key_id"], "/proof/key_id")
    if proof["key_id"] != key_id:
        raise Fault("/proof/key_id", "differs from /adapter/key_id")
    text = proof["signature_b64u"]
    if type(text) is str and len(text) == _SIGNATURE_CHARS:
        try:
            return base64url.decode(text)
        except ValueError:
            pass
    raise Fault("/proof/signature_b64u", "is not 64 bytes in canonical unpadded base64url")
