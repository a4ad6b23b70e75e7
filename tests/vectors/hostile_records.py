"""Hostile mutations of a good projection: what is changed, and the reason it must fail for.

Each is a function of a Scene that changes it in one way. Those that change the record and
sign it again show that the reason does not hang on the signature; the producer may be the
attacker.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.projection.reasons import Reason
from tests.projections import ABSENT, KEY, OTHER_KEY, changed, sign

MATERIALS = ("request", "policy", "trust_snapshot", "projection")
PIECES = ("sources", "fragments", "native_results")


@dataclass
class Scene:
    """What a verifier is given.

    record: its bytes. materials: by name, the bytes or the lists of them, None for absent.
    trust: the relying party's policy. at: the time. before: records that were accepted.
    """

    record: bytes
    materials: dict[str, Any]
    trust: dict[str, Any]
    at: str
    before: list[bytes] = field(default_factory=list)

    @property
    def members(self) -> dict[str, Any]:
        members: dict[str, Any] = json.loads(self.record)
        return members

    def put(self, pointer: str, value: Any, *, signed: bool = True) -> None:
        """Changes a member of the record, and signs it again unless told otherwise."""
        altered = changed(self.members, pointer, value)
        self.record = canonical(sign(altered) if signed else altered)

    def text(self, old: bytes, new: bytes) -> None:
        """Changes the text of the record, which must hold `old` once."""
        assert self.record.count(old) == 1, old
        self.record = self.record.replace(old, new)

    def piece(self, name: str, position: int, value: Any) -> None:
        pieces = list(self.materials[name])
        pieces[position] = value
        self.materials[name] = pieces


Mutation = Callable[[Scene], None]
HOSTILE: dict[str, tuple[Mutation, Reason]] = {}


def _hostile(name: str, reason: Reason, mutation: Mutation) -> None:
    assert name not in HOSTILE, name
    HOSTILE[name] = (mutation, reason)


def _put(name: str, reason: Reason, pointer: str, value: Any, *, signed: bool = True) -> None:
    _hostile(name, reason, lambda scene: scene.put(pointer, value, signed=signed))


def _text(name: str, reason: Reason, old: bytes, new: bytes) -> None:
    _hostile(name, reason, lambda scene: scene.text(old, new))


_DIGEST = "sha256:" + "0" * 64

# The shape, whoever signed it.
for _place in ("", "/adapter", "/selection_context", "/delivered/0", "/delivered/0/object"):
    _put(f"unknown member in {_place or 'the record'}", "record_invalid", f"{_place}/x", 1)
for _place in ("/exclusions", "/exclusions/by_reason", "/projection", "/nonclaims"):
    _put(f"unknown member in {_place}", "record_invalid", f"{_place}/x", 0)
_put("unknown member in /proof", "record_invalid", "/proof/x", 1, signed=False)
for _place in ("/source_profile", "/delivered", "/adapter/key_id", "/exclusions/total"):
    _put(f"{_place} is missing", "record_invalid", _place, ABSENT)
_put("another version", "record_invalid", "/@version", "MEMORY-PROJECTION-RECORD-v2")
_put("an id that is no URI", "record_invalid", "/projection_id", "projection 1")
_put("a position that is text", "record_invalid", "/delivered/0/position", "0")
_put("a position that is true", "record_invalid", "/delivered/1/position", True)
_put("a format version of 0", "record_invalid", "/delivered/0/object/format_version", 0)
_put("a digest in upper case", "record_invalid", "/projection/digest", _DIGEST[:-1] + "A")
_put("a digest that is too short", "record_invalid", "/projection/digest", _DIGEST[:-1])
_put("a digest of another hash", "record_invalid", "/projection/digest", "sha512:" + "0" * 64)
_put("another encoding", "record_invalid", "/projection/encoding", "utf-16")
_put("a negative counter", "record_invalid", "/exclusions/total", -1)
_put("trust of a fourth kind", "record_invalid", "/delivered/0/derived_trust", "owner")
_put("unverified, with an author", "record_invalid", "/delivered/0/derived_trust", "unverified")
_put("attested, without custody", "record_invalid", "/delivered/0/custody_present", False)
_put("an author in padded base64", "record_invalid", "/delivered/0/author_key_id_b64u", "AAA=")
_put("an author with stray bits", "record_invalid", "/delivered/0/author_key_id_b64u", "AB")
_put("another algorithm", "record_invalid", "/proof/alg", "ed25519", signed=False)
_put("a signature cut short", "record_invalid", "/proof/signature_b64u", "AA", signed=False)
_put("another key in the proof", "record_invalid", "/proof/key_id", "key-2", signed=False)
_put("a time without an offset", "record_invalid", "/created_at", "2026-08-03T09:00:01")
_put("a time with another offset", "record_invalid", "/created_at", "2026-08-03T11:00:01+02:00")
_put("a day that does not exist", "record_invalid", "/created_at", "2026-02-30T09:00:01Z")
_text("a position spelled 0.0", "record_invalid", b'"position":0}', b'"position":0.0}')
_text("a position spelled -0", "record_invalid", b'"position":0}', b'"position":-0}')
_text("a position spelled 0e0", "record_invalid", b'"position":0}', b'"position":0e0}')
_text("an integer of 2^53", "record_invalid", b'"position":0}', b'"position":9007199254740992}')
_text("a counter spelled 1E0", "record_invalid", b'"policy_filtered":1', b'"policy_filtered":1E0')
_text("a member twice", "record_invalid", b'"total":1', b'"total":1,"total":1')
_text("a member twice, hidden", "record_invalid", b'"total":1', b'"total":0,"to\\u0074al":1')
_text("an array that does not end", "record_invalid", b'],"exclusions"', b',"exclusions"')
_text("a lone surrogate", "record_invalid", b'"adapter-key-1"},', b'"\\ud800"},')
_hostile(
    "a byte order mark",
    "record_invalid",
    lambda s: setattr(s, "record", b"\xef\xbb\xbf" + s.record),
)
_hostile("two records", "record_invalid", lambda s: setattr(s, "record", s.record + s.record))
_hostile("no record", "record_invalid", lambda s: setattr(s, "record", b""))
_hostile("a byte that is not UTF-8", "record_invalid", lambda s: s.text(b"MEMORY-", b"MEMORY\xff"))

# What the record alone shows.
_put("positions swapped", "delivered_order_invalid", "/delivered/0/position", 1)
_put("positions from 1", "delivered_order_invalid", "/delivered/2/position", 3)
_put("a total too high", "exclusion_count_mismatch", "/exclusions/total", 2)
_put("a counter hidden", "exclusion_count_mismatch", "/exclusions/by_reason/policy_filtered", 0)
for _claim in ("model_use", "action_linkage", "action_authorization", "execution_outcome"):
    _put(f"{_claim} is claimed", "nonclaim_invalid", f"/nonclaims/{_claim}", "ESTABLISHED")
_put("a nonclaim that is null", "nonclaim_invalid", "/nonclaims/model_use", None)


def _delivered(change: Callable[[list[Any]], list[Any]]) -> Mutation:
    def mutate(scene: Scene) -> None:
        scene.put("/delivered", change(scene.members["delivered"]), signed=False)

    return mutate


_hostile("an entry moved", "delivered_order_invalid", _delivered(lambda d: [d[1], d[0], d[2]]))
_hostile("an entry repeated", "delivered_order_invalid", _delivered(lambda d: [*d, d[2]]))
_hostile("the first entry left out", "delivered_order_invalid", _delivered(lambda d: d[1:]))
_hostile("the last entry left out", "signature_invalid", _delivered(lambda d: d[:-1]))

# The key and its signature.
_put(
    "a total and a counter raised", "signature_invalid", "/projection/byte_length", 1, signed=False
)
_put(
    "another request committed to",
    "signature_invalid",
    "/selection_context/recall_request_digest",
    _DIGEST,
    signed=False,
)
_put("another adapter named", "adapter_mismatch", "/adapter/id", "urn:example:other", signed=False)


def _signed_by_another(scene: Scene) -> None:
    scene.record = canonical(sign(scene.members, OTHER_KEY))


def _signed_in_another_domain(scene: Scene) -> None:
    from pamctl.projection.record import signing_bytes

    members = scene.members
    rest = signing_bytes(members).partition(b"\x00")[2]
    for_other = b"MEMORY-PROJECTION-RECORD-v0\x00" + rest
    members["proof"]["signature_b64u"] = base64url.encode(KEY.sign(for_other))
    scene.record = canonical(members)


def _signed_without_domain(scene: Scene) -> None:
    from pamctl.projection.record import signing_bytes

    members = scene.members
    rest = signing_bytes(members).partition(b"\x00")[2]
    members["proof"]["signature_b64u"] = base64url.encode(KEY.sign(rest))
    scene.record = canonical(members)


_hostile("signed by another key", "signature_invalid", _signed_by_another)
_hostile("signed in another domain", "signature_invalid", _signed_in_another_domain)
_hostile("signed without a domain", "signature_invalid", _signed_without_domain)
_put("a signature of zeros", "signature_invalid", "/proof/signature_b64u", "A" * 86, signed=False)


def _pin(**changes: Any) -> Mutation:
    def mutate(scene: Scene) -> None:
        (key_id, pin), *_ = scene.trust["adapter_keys"].items()
        scene.trust = {**scene.trust, "adapter_keys": {key_id: {**pin, **changes}}}

    return mutate


def _trust(**changes: Any) -> Mutation:
    return lambda scene: setattr(scene, "trust", {**scene.trust, **changes})


def _at(time: str) -> Mutation:
    return lambda scene: setattr(scene, "at", time)


_hostile("no key is pinned", "adapter_key_not_pinned", _trust(adapter_keys={}))
_hostile("pinned to another adapter", "adapter_mismatch", _pin(adapter_id="urn:example:other"))
_hostile("the key is revoked", "adapter_key_revoked", _pin(status="revoked"))
_hostile("the key is compromised", "adapter_key_revoked", _pin(status="compromised"))
_hostile("revoked since", "adapter_key_revoked", _pin(revoked_at="2026-08-03T09:00:30Z"))
_hostile(
    "made before the key", "adapter_key_not_yet_valid", _pin(valid_from="2026-08-03T09:00:02Z")
)
_hostile("made after the key", "adapter_key_expired", _pin(valid_to="2026-08-03T09:00:00Z"))

# Profiles and time.
_hostile(
    "another memory format expected",
    "source_profile_mismatch",
    _trust(expected_source_profile="urn:x:y"),
)
_hostile(
    "another framing expected",
    "context_frame_profile_mismatch",
    _trust(expected_context_frame_profile="urn:x:y"),
)
_hostile("an old trust decision", "trust_snapshot_stale", _at("2026-08-03T09:05:00.5Z"))
_hostile("an old record", "projection_stale", _trust(max_projection_age_sec=58))
_hostile("a record from the future", "timestamp_order_invalid", _at("2026-08-03T09:00:00Z"))
_put(
    "trust evaluated afterwards",
    "timestamp_order_invalid",
    "/selection_context/trust_evaluated_at",
    "2026-08-03T09:00:01.000000001Z",
)
_hostile("used before", "projection_replay", lambda s: s.before.append(s.record))


# The material.
def _flip(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def _material(name: str, change: Callable[[bytes], Any]) -> Mutation:
    return lambda scene: scene.materials.update({name: change(scene.materials[name])})


_CONTEXT: tuple[tuple[str, Reason], ...] = (
    ("request", "recall_request_digest_mismatch"),
    ("policy", "selection_policy_digest_mismatch"),
    ("trust_snapshot", "trust_snapshot_digest_mismatch"),
)
for _name, _reason in _CONTEXT:
    _hostile(f"a bit flipped in the {_name}", _reason, _material(_name, _flip))
    _hostile(f"the {_name} with a newline", _reason, _material(_name, lambda data: data + b"\n"))
    _hostile(f"the {_name} is missing", "material_missing", _material(_name, lambda data: None))


def _piece(name: str, position: int, change: Callable[[Any], Any]) -> Mutation:
    return lambda s: s.piece(name, position, change(s.materials[name][position]))


def _surplus(name: str) -> Mutation:
    return lambda s: s.materials.update({name: [*s.materials[name], s.materials[name][0]]})


_hostile("a source altered", "source_object_digest_mismatch", _piece("sources", 1, _flip))
_hostile("a source too many", "source_object_digest_mismatch", _surplus("sources"))
_hostile("a source is missing", "material_missing", _piece("sources", 2, lambda _: None))
_hostile("a fragment altered", "fragment_digest_mismatch", _piece("fragments", 2, _flip))
_hostile("a fragment is missing", "material_missing", _piece("fragments", 0, lambda _: None))
_hostile("a fragment too many", "projection_fragment_concatenation_mismatch", _surplus("fragments"))
_PARTING: Reason = "projection_fragment_concatenation_mismatch"
_hostile("the projection altered", _PARTING, _material("projection", _flip))
_hostile("the projection with a newline", _PARTING, _material("projection", lambda d: d + b"\n"))
_hostile(
    "the projection with CRLF",
    _PARTING,
    _material("projection", lambda d: d.replace(b"\n", b"\r\n")),
)
_hostile("the projection is missing", "material_missing", _material("projection", lambda _: None))
for _label, _value in (
    ("derived_trust", "self"),
    ("authorship", "signed"),
    ("author_key_id_b64u", None),
    ("custody_present", False),
    ("format_version", 1),
):
    _hostile(
        f"the source says another {_label}",
        "native_source_result_mismatch",
        _piece("native_results", 0, lambda native, n=_label, v=_value: {**native, n: v}),
    )
_hostile(
    "the source is refused",
    "native_source_result_mismatch",
    _piece("native_results", 1, lambda _: None),
)


def _promoted(scene: Scene) -> None:
    """A producer that signs a fragment which says `self` of an unverified source."""
    fragment = scene.materials["fragments"][2].replace(b"trust=unverified", b"trust=self")
    scene.piece("fragments", 2, fragment)
    text = b"".join(scene.materials["fragments"])
    scene.materials["projection"] = text
    record = changed(scene.members, "/delivered/2/context_fragment_digest", sha256_digest(fragment))
    record = changed(record, "/projection/byte_length", len(text))
    scene.record = canonical(sign(changed(record, "/projection/digest", sha256_digest(text))))


def _committed(pointer: str, value: Callable[[bytes], Any]) -> Mutation:
    return lambda scene: scene.put(pointer, value(scene.materials["projection"]))


_hostile("poisoned content promoted", "context_frame_profile_mismatch", _promoted)
_hostile(
    "a length that is signed and wrong",
    "projection_length_mismatch",
    _committed("/projection/byte_length", lambda text: len(text) + 1),
)
_hostile(
    "a digest that is signed and wrong",
    "projection_digest_mismatch",
    _committed("/projection/digest", lambda text: sha256_digest(text + b"x")),
)
