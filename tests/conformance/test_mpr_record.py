"""MPR §4 and §6: the closed record, one test a requirement."""

import json
from typing import Any

import pytest

from pamctl.encoding.canonical import canonical
from pamctl.projection.trust import parse_trust_policy
from tests.projections import ABSENT, OTHER_KEY, Case, changed, example, policy, sign


@pytest.fixture(scope="module")
def case() -> Case:
    return example()


OBJECTS = (
    "",
    "/adapter",
    "/selection_context",
    "/delivered/0",
    "/delivered/0/object",
    "/exclusions",
    "/exclusions/by_reason",
    "/projection",
    "/nonclaims",
    "/proof",
)


@pytest.mark.parametrize("place", OBJECTS)
def test_4_unknown_members_are_refused(case: Case, place: str) -> None:
    altered = sign(changed(case.record, f"{place}/extension", "x"))
    verdict = case.verdict(altered)
    assert verdict["reason"] == "record_invalid"
    assert verdict["details"]["pointer"] == place


def members(case: Case) -> list[str]:
    pointers = []
    for place in OBJECTS:
        value: Any = case.record
        for step in place.split("/")[1:]:
            value = value[int(step) if isinstance(value, list) else step]
        pointers += [f"{place}/{name}" for name in value]
    return pointers


@pytest.mark.parametrize("pointer", members(example()))
def test_4_every_member_is_required(case: Case, pointer: str) -> None:
    altered = changed(case.record, pointer, ABSENT)
    assert case.reason(altered) == "record_invalid"


@pytest.mark.parametrize("pointer", members(example()))
@pytest.mark.parametrize("value", [None, True, 1.0, [], {}, ["x"]], ids=repr)
def test_4_members_keep_their_types(case: Case, pointer: str, value: Any) -> None:
    altered = changed(case.record, pointer, value)
    reason: str | None = "record_invalid"
    if pointer.startswith("/nonclaims/"):
        reason = "nonclaim_invalid"
    if pointer == "/delivered/0/custody_present" and value is True:
        reason = None
    if pointer.endswith("author_key_id_b64u") and value is None:
        # Null is a value of this member, and not the one that was signed.
        reason = "signature_invalid"
    if pointer == "/delivered" and value == []:
        reason = "signature_invalid"
    # Not canonical JSON, which would spell 1.0 as 1.
    assert case.reason(json.dumps(altered).encode()) == reason


@pytest.mark.parametrize(
    "version", ["MEMORY-PROJECTION-RECORD-v0", "MEMORY-PROJECTION-RECORD-v2", "", "v1"]
)
def test_4_1_version_is_v1(case: Case, version: str) -> None:
    assert case.reason(sign(changed(case.record, "/@version", version))) == "record_invalid"


@pytest.mark.parametrize("pointer", ["/projection_id", "/adapter/id"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "urn:",
        "relative",
        "/path",
        "1urn:x",
        "urn:a b",
        "urn:a\nb",
        "urn:%zz",
        "urn:a[b]",
        "urn:é",
        "urn:" + "a" * 2045,
        "urn:a#b#c",
    ],
)
def test_4_1_identifiers_are_uris(case: Case, pointer: str, text: str) -> None:
    assert case.reason(sign(changed(case.record, pointer, text))) == "record_invalid"


@pytest.mark.parametrize(
    "text",
    ["urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "https://[2001:db8::1]:8/a%20b?c=d#e", "x:y"],
)
def test_4_1_every_uri_is_a_projection_id(case: Case, text: str) -> None:
    assert case.reason(sign(changed(case.record, "/projection_id", text))) is None


@pytest.mark.parametrize("pointer", ["/created_at", "/selection_context/trust_evaluated_at"])
@pytest.mark.parametrize(
    "text",
    [
        "2026-08-03T09:00:01",
        "2026-08-03T09:00:01+02:00",
        "2026-08-03 09:00:01Z",
        "2026-08-03T09:00Z",
        "2026-08-03T09:00:01.Z",
        "2026-08-03T24:00:00Z",
        "2026-02-29T09:00:00Z",
        "2026-08-03T09:00:61Z",
        "2026-08-03T09:00:01Z ",
        "20260803T090001Z",
        "\u0662026-08-03T09:00:01Z",
        "2026-08-03T09:00:01." + "0" * 60 + "Z",
        "Z",
    ],
)
def test_4_1_timestamps_are_rfc_3339_in_utc(case: Case, pointer: str, text: str) -> None:
    assert case.reason(sign(changed(case.record, pointer, text))) == "record_invalid"


@pytest.mark.parametrize(
    "text",
    [
        "2026-08-03T09:00:01Z",
        "2026-08-03t09:00:01z",
        "2026-08-03T09:00:01+00:00",
        "2026-08-03T09:00:01-00:00",
        "2026-08-03T09:00:01.0Z",
        "2026-08-03T09:00:01.000000000001Z",
    ],
)
def test_4_1_timestamps_come_in_every_form_of_utc(case: Case, text: str) -> None:
    assert case.reason(sign(changed(case.record, "/created_at", text))) is None


def test_4_1_both_key_ids_are_one(case: Case) -> None:
    altered = sign(changed(case.record, "/proof/key_id", "adapter-key-2"))
    assert case.reason(altered) == "record_invalid"


@pytest.mark.parametrize("missing", ["max_projection_age_sec", "max_trust_age_sec"])
def test_4_1_a_relying_party_sets_both_ages(missing: str) -> None:
    from pamctl.errors import InvalidRequest

    document = {"adapter_keys": {}, "max_projection_age_sec": 1, "max_trust_age_sec": 1}
    parse_trust_policy(canonical(document))
    del document[missing]
    with pytest.raises(InvalidRequest, match=missing):
        parse_trust_policy(canonical(document))


DIGESTS = [
    "/selection_context/recall_request_digest",
    "/selection_context/selection_policy_digest",
    "/selection_context/trust_snapshot_digest",
    "/delivered/0/object/sealed_object_digest",
    "/delivered/0/context_fragment_digest",
    "/projection/digest",
]


@pytest.mark.parametrize("pointer", DIGESTS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha256:",
        "sha256:" + "A" * 64,
        "sha256:" + "a" * 63,
        "sha512:" + "a" * 64,
        "a" * 64,
        "sha256:" + "a" * 64 + "\n",
        "SHA256:" + "a" * 64,
    ],
)
def test_4_2_digests_are_sha256_in_lowercase(case: Case, pointer: str, text: str) -> None:
    assert case.reason(sign(changed(case.record, pointer, text))) == "record_invalid"


@pytest.mark.parametrize("pointer", DIGESTS)
def test_4_2_every_digest_is_signed(case: Case, pointer: str) -> None:
    altered = changed(case.record, pointer, "sha256:" + "a" * 64)
    assert case.reason(altered) == "signature_invalid"


@pytest.mark.parametrize("position", [1, 2, 7])
def test_4_3_position_is_the_index(case: Case, position: int) -> None:
    altered = sign(changed(case.record, "/delivered/0/position", position))
    assert case.reason(altered) == "delivered_order_invalid"


def test_4_3_position_does_not_repeat(case: Case) -> None:
    altered = sign(changed(case.record, "/delivered/1/position", 0))
    assert case.reason(altered) == "delivered_order_invalid"


@pytest.mark.parametrize("position", [-1, 2**53, 0.0, "0", False, None])
def test_4_3_position_is_an_integer_in_the_safe_range(case: Case, position: Any) -> None:
    altered = changed(case.record, "/delivered/0/position", 0)
    spelled = json.dumps(position).encode()
    text = canonical(altered).replace(b'"position":0', b'"position":' + spelled)
    assert case.reason(text) == "record_invalid"


def test_4_3_length_and_digest_are_those_of_the_projection(case: Case) -> None:
    length = case.record["projection"]["byte_length"]
    longer = sign(changed(case.record, "/projection/byte_length", length + 1))
    assert case.reason(longer) == "projection_length_mismatch"
    other = sign(changed(case.record, "/projection/digest", "sha256:" + "0" * 64))
    assert case.reason(other) == "projection_digest_mismatch"


@pytest.mark.parametrize("encoding", ["UTF-8", "utf8", "utf-16", ""])
def test_4_3_encoding_is_utf_8(case: Case, encoding: str) -> None:
    altered = sign(changed(case.record, "/projection/encoding", encoding))
    assert case.reason(altered) == "record_invalid"


@pytest.mark.parametrize(
    "labels",
    [
        {"authorship": "signed"},
        {"authorship": "attested", "custody_present": True},
        {"author_key_id_b64u": "0FMJy9O1Xzs"},
    ],
)
def test_4_3_unverified_content_has_no_author(case: Case, labels: dict[str, Any]) -> None:
    altered = case.record
    assert altered["delivered"][2]["derived_trust"] == "unverified"
    for name, value in labels.items():
        altered = changed(altered, f"/delivered/2/{name}", value)
    assert case.reason(sign(altered)) == "record_invalid"


def test_4_3_attested_authorship_needs_custody(case: Case) -> None:
    assert case.record["delivered"][0]["authorship"] == "attested"
    altered = sign(changed(case.record, "/delivered/0/custody_present", False))
    assert case.reason(altered) == "record_invalid"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("derived_trust", "Trusted"),
        ("derived_trust", "owner"),
        ("authorship", "SIGNED"),
        ("authorship", "none"),
    ],
)
def test_4_3_labels_are_of_the_closed_sets(case: Case, name: str, value: str) -> None:
    altered = sign(changed(case.record, f"/delivered/0/{name}", value))
    assert case.reason(altered) == "record_invalid"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "0FMJy9O1Xzs=",
        "0FMJy9O1Xzt",
        "0FMJy9O1Xz+",
        "0FMJy9O1Xzs\n",
        " 0FMJy9O1Xzs",
        "0FMJy9O1Xz/",
        "0FMJ y9O1Xzs",
    ],
)
def test_3_b64u_is_unpadded_and_canonical(case: Case, text: str) -> None:
    altered = sign(changed(case.record, "/delivered/0/author_key_id_b64u", text))
    assert case.reason(altered) == "record_invalid"


@pytest.mark.parametrize("step", [-1, 1])
def test_4_4_total_is_the_sum_of_the_counters(case: Case, step: int) -> None:
    total = case.record["exclusions"]["total"]
    altered = sign(changed(case.record, "/exclusions/total", total + step))
    assert case.reason(altered) == "exclusion_count_mismatch"


@pytest.mark.parametrize(
    "counter", ["authentication_failed", "schema_invalid", "policy_filtered", "context_limit"]
)
def test_4_4_every_counter_counts(case: Case, counter: str) -> None:
    pointer = f"/exclusions/by_reason/{counter}"
    count = case.record["exclusions"]["by_reason"][counter]
    assert case.reason(sign(changed(case.record, pointer, count + 1))) == "exclusion_count_mismatch"


def test_6_only_proof_is_outside_the_signature(case: Case) -> None:
    for pointer in members(case):
        if pointer.startswith("/proof") or pointer in OBJECTS:
            continue
        value: Any = case.record
        for step in pointer.split("/")[1:]:
            value = value[int(step) if isinstance(value, list) else step]
        if isinstance(value, int) and not isinstance(value, bool):
            altered = changed(case.record, pointer, value + 1)
        elif isinstance(value, str):
            altered = changed(case.record, pointer, value[:-1] + chr(ord(value[-1]) ^ 1))
        else:
            continue
        assert case.reason(altered) is not None, pointer


@pytest.mark.parametrize("alg", ["ed25519", "EdDSA", "Ed448", "none", ""])
def test_6_the_algorithm_is_ed25519(case: Case, alg: str) -> None:
    assert case.reason(changed(case.record, "/proof/alg", alg)) == "record_invalid"


def test_6_the_signature_is_64_bytes_in_b64u(case: Case) -> None:
    signature = case.record["proof"]["signature_b64u"]
    last = signature[-1]
    loose = signature[:-1] + next(c for c in "BRhxCSiy" if c != last)
    for text in (signature + "==", signature[:-2], signature + "AA", loose, "+" + signature[1:]):
        assert case.reason(changed(case.record, "/proof/signature_b64u", text)) == "record_invalid"
    flipped = ("B" if signature[0] == "A" else "A") + signature[1:]
    altered = changed(case.record, "/proof/signature_b64u", flipped)
    assert case.reason(altered) == "signature_invalid"


def test_6_the_domain_separates(case: Case) -> None:
    from pamctl.encoding import base64url
    from pamctl.projection.record import signing_bytes
    from tests.projections import KEY

    signed = signing_bytes(case.record)
    assert signed.startswith(b"MEMORY-PROJECTION-RECORD-v1\x00{")
    for other in (
        signed.removeprefix(b"MEMORY-PROJECTION-RECORD-v1\x00"),
        signed.replace(b"-v1\x00", b"-v0\x00", 1),
        signed.replace(b"\x00", b"", 1),
        signed.replace(b"\x00", b"\n", 1),
    ):
        signature = base64url.encode(KEY.sign(other))
        altered = changed(case.record, "/proof/signature_b64u", signature)
        assert case.reason(altered) == "signature_invalid"


def test_6_a_key_comes_from_the_policy_and_from_nowhere_else(case: Case) -> None:
    forged = sign(case.record, OTHER_KEY)
    assert case.reason(forged) == "signature_invalid"
    carried = changed(forged, "/proof/public_key_spki_b64u", OTHER_KEY.public.spki_b64u)
    assert case.reason(carried) == "record_invalid"
    assert case.reason(policy=policy(adapter_keys={})) == "adapter_key_not_pinned"
