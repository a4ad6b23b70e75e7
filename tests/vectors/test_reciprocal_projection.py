"""The reciprocal cases of MPR's authors: one record that verifies, eighteen that do not."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from pamctl.crypto.keys import PublicKey
from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.projection.candidates import Candidates
from pamctl.projection.choice import Candidate, Limits
from pamctl.projection.materials import Materials
from pamctl.projection.produce import Adapter, produce
from pamctl.projection.profiles import apertomemory
from pamctl.projection.reasons import FULL
from pamctl.projection.record import signing_bytes
from pamctl.projection.register import Register
from pamctl.projection.source import OpenedSource, SourceRefused
from pamctl.projection.trust import parse_trust_policy
from pamctl.projection.verify import verify
from tests.projections import KEY
from tests.shared import shared_path

pytestmark = pytest.mark.shared

NATIVE_NAMES = {
    "formatVersion": "format_version",
    "sealedObjectDigest": "sealed_object_digest",
    "derivedTrust": "derived_trust",
    "authorship": "authorship",
    "authorKeyIdB64u": "author_key_id_b64u",
    "custodyPresent": "custody_present",
}


def vectors() -> dict[str, Any]:
    path = shared_path("vectors", "projection", "memory-projection-record.v1.vectors.json")
    loaded: dict[str, Any] = json.loads(path.read_bytes())
    return loaded


class Scene:
    """What a verification is given; a mutation changes one thing in it."""

    def __init__(self) -> None:
        loaded = vectors()
        projection = loaded["projection"]
        self.record: dict[str, Any] = copy.deepcopy(projection["record"])
        self.pin: dict[str, Any] | None = loaded["adapter_pin"]
        self.policy = dict(loaded["verification_policy"])
        self.at = self.policy.pop("verification_time")
        self.registered_before = False
        material = projection["verification_material"]
        self.materials = Materials(
            request=base64url.decode(material["recall_request_b64u"]),
            policy=base64url.decode(material["selection_policy_b64u"]),
            trust_snapshot=base64url.decode(material["trust_snapshot_b64u"]),
            projection=base64url.decode(material["projection_b64u"]),
            sources=[base64url.decode(x) for x in material["source_object_b64u_by_position"]],
            fragments=[base64url.decode(x) for x in material["fragment_b64u_by_position"]],
            native_results=[
                {ours: result[theirs] for theirs, ours in NATIVE_NAMES.items()}
                for result in material["native_source_results_by_position"]
            ],
        )

    def change(self, **pieces: Any) -> None:
        self.materials = self.materials._replace(**pieces)

    def trust_document(self) -> bytes:
        pins = {} if self.pin is None else {self.pin["key_id"]: self.pin}
        return canonical({"adapter_keys": pins, **self.policy, "single_use": True})


def flipped(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def sign_with_legacy_v0_domain(scene: Scene) -> None:
    # Their private key is theirs; a pinned key of ours shows the same.
    domain_end = signing_bytes(scene.record).index(b"\x00")
    legacy = b"MEMORY-PROJECTION-RECORD-v0" + signing_bytes(scene.record)[domain_end:]
    assert scene.pin is not None
    scene.pin["public_key_spki_b64u"] = KEY.public.spki_b64u
    scene.record["proof"]["signature_b64u"] = base64url.encode(KEY.sign(legacy))


def add_unknown_top_level_member(scene: Scene) -> None:
    scene.record["note"] = "none"


def swap_delivered_entries(scene: Scene) -> None:
    scene.record["delivered"].reverse()


def omit_delivered_entry(scene: Scene) -> None:
    scene.record["delivered"].pop()


def duplicate_delivered_position(scene: Scene) -> None:
    scene.record["delivered"][1]["position"] = 0


def mutate_source_object_bytes(scene: Scene) -> None:
    first, *rest = scene.materials.sources
    assert first is not None
    scene.change(sources=[flipped(first), *rest])


def mutate_fragment_bytes(scene: Scene) -> None:
    first, *rest = scene.materials.fragments
    assert first is not None
    scene.change(fragments=[flipped(first), *rest])


def substitute_projection_bytes_only(scene: Scene) -> None:
    assert scene.materials.projection is not None
    scene.change(projection=flipped(scene.materials.projection))


def mutate_recall_request_bytes(scene: Scene) -> None:
    assert scene.materials.request is not None
    scene.change(request=flipped(scene.materials.request))


def mutate_selection_policy_bytes(scene: Scene) -> None:
    assert scene.materials.policy is not None
    scene.change(policy=flipped(scene.materials.policy))


def mutate_trust_snapshot_bytes(scene: Scene) -> None:
    assert scene.materials.trust_snapshot is not None
    scene.change(trust_snapshot=flipped(scene.materials.trust_snapshot))


def increment_exclusions_total(scene: Scene) -> None:
    scene.record["exclusions"]["total"] += 1


def set_model_use_established(scene: Scene) -> None:
    scene.record["nonclaims"]["model_use"] = "ESTABLISHED"


def remove_adapter_pin(scene: Scene) -> None:
    scene.pin = None


def revoke_adapter_key(scene: Scene) -> None:
    assert scene.pin is not None
    scene.pin.update(status="revoked", revoked_at="2026-07-29T16:00:00Z")


def advance_verification_time(scene: Scene) -> None:
    scene.at = "2026-07-29T17:30:00.000Z"


def relabel_native_source_result(scene: Scene) -> None:
    assert scene.materials.native_results is not None
    first, second = scene.materials.native_results
    assert second is not None
    scene.change(native_results=[first, {**second, "derived_trust": "trusted"}])


def register_projection_twice(scene: Scene) -> None:
    scene.registered_before = True


def unchanged(scene: Scene) -> None:
    pass


MUTATIONS: dict[str | None, Callable[[Scene], None]] = {
    None: unchanged,
    **{
        mutation.__name__: mutation
        for mutation in (
            add_unknown_top_level_member,
            sign_with_legacy_v0_domain,
            swap_delivered_entries,
            omit_delivered_entry,
            duplicate_delivered_position,
            mutate_source_object_bytes,
            mutate_fragment_bytes,
            substitute_projection_bytes_only,
            mutate_recall_request_bytes,
            mutate_selection_policy_bytes,
            mutate_trust_snapshot_bytes,
            increment_exclusions_total,
            set_model_use_established,
            remove_adapter_pin,
            revoke_adapter_key,
            advance_verification_time,
            relabel_native_source_result,
            register_projection_twice,
        )
    },
}


def verdict(scene: Scene, register: Register) -> Any:
    def once() -> Any:
        return verify(
            canonical(scene.record),
            policy=parse_trust_policy(scene.trust_document()),
            at=scene.at,
            materials=scene.materials,
            register=register,
        )

    if scene.registered_before:
        assert once()["valid"]
    return once()


@pytest.mark.parametrize("mutation", MUTATIONS, ids=str)
def test_each_mutation_fails_for_its_reason(mutation: str | None, tmp_path: Any) -> None:
    (case,) = (case for case in vectors()["cases"] if case["mutation"] == mutation)
    scene = Scene()
    MUTATIONS[mutation](scene)
    answer = verdict(scene, Register(tmp_path / "accepted"))
    assert answer["verification_scope"] == FULL
    assert (answer["reason"] or "VALID") == case["expect"]["result"]
    assert answer["valid"] is (case["expect"]["result"] == "VALID")


def test_no_case_is_left_out() -> None:
    assert {case["mutation"] for case in vectors()["cases"]} == set(MUTATIONS)


def test_the_positive_record_says_what_the_vector_expects(tmp_path: Any) -> None:
    expected = vectors()["projection"]["expect"]
    answer = verdict(Scene(), Register(tmp_path / "accepted"))
    assert answer["valid"] is expected["valid"]
    assert answer["verification_scope"] == expected["verification_scope"]
    assert answer["details"]["delivered_count"] == expected["delivered_count"]
    assert answer["details"]["excluded_count"] == expected["excluded_count"]


@pytest.mark.parametrize(
    "mutation",
    [
        "add_unknown_top_level_member",
        "sign_with_legacy_v0_domain",
        "swap_delivered_entries",
        "omit_delivered_entry",
        "duplicate_delivered_position",
        "increment_exclusions_total",
        "set_model_use_established",
        "remove_adapter_pin",
        "revoke_adapter_key",
        "advance_verification_time",
    ],
)
def test_what_no_material_is_needed_for_shows_in_the_envelope(mutation: str, tmp_path: Any) -> None:
    scene = Scene()
    MUTATIONS[mutation](scene)
    answer = verify(
        canonical(scene.record),
        policy=parse_trust_policy(scene.trust_document()),
        at=scene.at,
        register=Register(tmp_path / "accepted"),
    )
    (case,) = (case for case in vectors()["cases"] if case["mutation"] == mutation)
    assert answer["reason"] == case["expect"]["result"]


def test_trust_snapshots_are_reproduced() -> None:
    edges = vectors()["source_profile_edge_cases"]
    for name, accepted in (
        ("empty_accepted_key_set", "accepted_key_ids_hex"),
        ("multiple_accepted_keys", "input_accepted_key_ids_hex"),
    ):
        edge = edges[name]
        snapshot = apertomemory.trust_snapshot(
            bytes.fromhex(edge["owner_key_id_hex"]), [bytes.fromhex(k) for k in edge[accepted]]
        )
        assert base64url.encode(snapshot) == edge["trust_snapshot_b64u"]
        assert sha256_digest(snapshot) == edge["trust_snapshot_digest"]


def test_frames_are_reproduced() -> None:
    scene = Scene()
    assert scene.materials.native_results is not None
    for native, fragment in zip(
        scene.materials.native_results, scene.materials.fragments, strict=True
    ):
        assert native is not None
        assert fragment is not None
        body = fragment.split(b"]\n", 1)[1].removesuffix(b"\n[/ApertoMemory]\n").decode()
        assert apertomemory.context_fragment(native, body) == fragment
    edge = vectors()["source_profile_edge_cases"]["null_author"]
    fragment = base64url.decode(edge["fragment_b64u"])
    body = fragment.split(b"]\n", 1)[1].removesuffix(b"\n[/ApertoMemory]\n").decode()
    assert apertomemory.context_fragment(edge["native_source_result"], body) == fragment


class TheirKey:
    """Signs what they signed, and nothing else: their private key is not published, and
    Ed25519 has one signature for the same bytes under the same key."""

    def __init__(self, scene: Scene) -> None:
        assert scene.pin is not None
        self._public = PublicKey.from_spki_b64u(scene.pin["public_key_spki_b64u"])
        self._signature = base64url.decode(scene.record["proof"]["signature_b64u"])

    def sign(self, data: bytes) -> bytes:
        assert self._public.verify(self._signature, data), "these are not the bytes they signed"
        return self._signature


def test_a_record_produced_from_their_inputs_is_theirs_byte_for_byte() -> None:
    scene = Scene()
    theirs, materials = scene.record, scene.materials
    assert materials.native_results is not None
    items = [
        Candidate(f"delivered {position}", source, OpenedSource(native, fragment))
        for position, (source, native, fragment) in enumerate(
            zip(materials.sources, materials.native_results, materials.fragments, strict=True)
        )
        if source is not None and native is not None and fragment is not None
    ]
    found = [item.name for item in items]
    excluded = theirs["exclusions"]["by_reason"]
    for reason in ("authentication_failed", "schema_invalid"):
        for number in range(excluded[reason]):
            refused = SourceRefused(reason, "as they found")
            items.append(Candidate(f"{reason} {number}", b"", refused))
    for reason in ("policy_filtered", "context_limit"):
        for number in range(excluded[reason]):
            items.append(items[0]._replace(name=f"{reason} {number}"))
            found += [items[-1].name] if reason == "context_limit" else []
    context = theirs["selection_context"]
    assert materials.request is not None
    assert materials.policy is not None
    assert materials.trust_snapshot is not None
    projection = produce(
        Candidates(
            source_profile=theirs["source_profile"],
            context_frame_profile=context["context_frame_profile"],
            trust_snapshot=materials.trust_snapshot,
            trust_evaluated_at=context["trust_evaluated_at"],
            items=items,
        ),
        request=materials.request,
        policy=materials.policy,
        select=lambda: found,
        limits=Limits(objects=len(theirs["delivered"])),
        adapter=Adapter(theirs["adapter"]["id"], theirs["adapter"]["key_id"], TheirKey(scene)),  # type: ignore[arg-type]
        clock=lambda: 0,
        entropy=bytes,
        projection_id=theirs["projection_id"],
        created_at=theirs["created_at"],
    )
    assert projection.record_text == canonical(theirs) + b"\n"
    assert projection.text == materials.projection
