"""A projection of a store's own memory, from candidates to a record that verifies."""

from pathlib import Path
from typing import Any

import cbor2
import pytest

import pamctl
from pamctl.encoding.canonical import canonical
from pamctl.errors import (
    AccessDenied,
    InvalidRequest,
    ObjectNotFound,
    PolicyDenied,
    ScopeNotFound,
    UnsupportedObjectType,
)
from pamctl.projection import bundle, project, store_policy, verify
from pamctl.projection.produce import Projection
from pamctl.store.keyring import Keyring
from tests.conftest import FixedClock, FixedEntropy
from tests.projections import KEY, OTHER_KEY, materials_of

SCOPE = "workspace:default"
ME = {"actor_id": "actor:local:me", "actor_kind": "human"}
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def keyring(store: Any) -> Keyring:
    keyring = Keyring(store.layout.keys)
    keyring.generate("me", seed=bytes(range(32)), now=NOW)
    return keyring


def remember(store: Any, content: Any, **members: Any) -> Any:
    request = {
        "scope_id": SCOPE,
        "actor": ME,
        "object_type": "claim",
        "canonical_content": content,
        "provenance": {"activity": "typed"},
        "validation_state": "corroborated",
        **members,
    }
    return store.create(**request)


def projected(store: Any, policy: bytes = b"{}", **settings: Any) -> Projection:
    arguments: dict[str, Any] = {
        "scope_id": SCOPE,
        "actor": ME,
        "request": b"tea",
        "policy": policy,
        "key": "me",
    }
    return project(store, **{**arguments, **settings})


def contents(projection: Projection) -> list[str]:
    return [fragment.decode().split("\n")[1] for fragment in projection.fragments]


def test_what_was_created_is_projected_and_verified(store: Any, keyring: Keyring) -> None:
    made = remember(store, "Tea is at four.")
    remember(store, {"text": "Milk first."})
    projection = projected(store)
    assert contents(projection) == ["Tea is at four.", '{"text":"Milk first."}']
    assert projection.sources[0] == store.version_bytes(SCOPE, made["version_id"])
    verdict = verify(
        projection.record_text,
        policy=store_policy(keyring, store.config),
        at=projection.record["created_at"],
        materials=materials_of(projection, native_results=None),
    )
    assert verdict["valid"], verdict


def test_the_same_store_request_policy_clock_and_key_give_the_same_bytes(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        store = pamctl.init_store(
            tmp_path / name / ".pam", clock=FixedClock(), entropy=FixedEntropy()
        )
        Keyring(store.layout.keys).generate("me", seed=bytes(range(32)), now=NOW)
        for text in ("one", "two", "three"):
            remember(store, text)
        made.append(projected(store))
    assert made[0].record_text == made[1].record_text
    assert made[0].text == made[1].text


def test_the_trust_snapshot_is_the_keyring_and_the_head(store: Any, keyring: Keyring) -> None:
    remember(store, "Tea is at four.")
    keyring.trust(KEY.public, "author", now=NOW)
    keyring.trust(OTHER_KEY.public, "author", now=NOW)
    keyring.revoke(OTHER_KEY.public.key_id, now=NOW, compromised=True)
    head = store.head(SCOPE)
    assert cbor2.loads(projected(store).trust_snapshot) == {
        1: b"",
        2: [bytes.fromhex(KEY.public.key_id)],
        3: bytes.fromhex(head["head"]),
        4: head["sequence"],
    }


def test_every_candidate_ends_in_one_place(store: Any, keyring: Keyring) -> None:
    remember(store, "delivered")
    remember(store, "beyond the limit")
    remember(store, "not corroborated", validation_state="unverified")
    remember(store, "another type", object_type="task")
    own_type = {"object_type": "urn:example:type", "schema_id": "urn:example:schema"}
    remember(store, "an extension", **own_type)
    gone = remember(store, "deleted")
    store.delete(
        scope_id=SCOPE,
        object_id=gone["object_id"],
        expected_version_id=gone["version_id"],
        actor=ME,
        policy_basis="for the test",
    )
    policy = b'{"filters": {"object_type": ["claim"]}, "limits": {"objects": 1}}'
    projection = projected(store, policy)
    assert contents(projection) == ["delivered"]
    assert projection.record["exclusions"]["by_reason"] == {
        "authentication_failed": 0,
        "schema_invalid": 0,
        "policy_filtered": 3,
        "context_limit": 1,
    }


def test_only_the_current_version_is_a_candidate(store: Any, keyring: Keyring) -> None:
    made = remember(store, "old")
    store.update(
        scope_id=SCOPE,
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        actor=ME,
        provenance={"activity": "corrected"},
        canonical_content="new",
    )
    projection = projected(store)
    assert contents(projection) == ["new"]
    assert projection.record["exclusions"]["total"] == 0


def test_the_request_can_be_searched_for(store: Any, keyring: Keyring) -> None:
    remember(store, "coffee is at nine")
    remember(store, "tea is at four")
    remember(store, "tea, tea and more tea")
    projection = projected(store, b'{"text": "request"}')
    assert contents(projection) == ["tea, tea and more tea", "tea is at four"]
    assert projection.record["exclusions"]["by_reason"]["policy_filtered"] == 1
    assert contents(projected(store, b'{"text": "coffee"}')) == ["coffee is at nine"]


def test_order_is_the_policys(store: Any, keyring: Keyring) -> None:
    for text in ("one", "two", "three"):
        remember(store, text)
    assert contents(projected(store)) == ["one", "two", "three"]
    latest_first = b'{"order_by": ["committed_at:desc"], "limits": {"objects": 2}}'
    assert contents(projected(store, latest_first)) == ["three", "two"]


def test_states_can_be_widened_but_not_beyond_what_can_be_read(
    store: Any, keyring: Keyring
) -> None:
    remember(store, "unverified", validation_state="unverified")
    gone = remember(store, "deleted")
    store.delete(
        scope_id=SCOPE,
        object_id=gone["object_id"],
        expected_version_id=gone["version_id"],
        actor=ME,
        policy_basis="for the test",
    )
    for filters in (
        b'{"any_state": true}',
        b'{"any_state": true, "availability_state": "deleted"}',
    ):
        projection = projected(store, b'{"filters": ' + filters + b"}")
        assert b"tombstone" not in projection.text
        assert projection.record["exclusions"]["total"] + len(projection.fragments) == 1


def test_more_candidates_than_a_page_holds(store: Any, keyring: Keyring) -> None:
    with store.group() as group:
        for number in range(1100):
            request = {
                "scope_id": SCOPE,
                "actor": ME,
                "object_type": "claim",
                "canonical_content": f"fact {number}",
                "provenance": {"activity": "typed"},
                "validation_state": "corroborated",
            }
            group.perform("create", request)
    assert contents(projected(store)) == [f"fact {number}" for number in range(1100)]


def test_an_empty_scope_gives_an_empty_projection(store: Any, keyring: Keyring) -> None:
    projection = projected(store)
    assert projection.text == b""
    assert projection.record["delivered"] == []


def test_an_issued_id_is_registered(store: Any, keyring: Keyring) -> None:
    projection = projected(store)
    (entry,) = (store.layout.projections / "issued").iterdir()
    assert projection.record["projection_id"].encode() in entry.read_bytes()


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"key": "nobody"}, ObjectNotFound),
        ({"key": "revoked"}, PolicyDenied),
        ({"key": "expired"}, PolicyDenied),
        ({"key": "early"}, PolicyDenied),
        ({"scope_id": "workspace:elsewhere"}, ScopeNotFound),
        ({"adapter_id": "no uri"}, InvalidRequest),
        ({"policy": b'{"filters": {"object_type": ["bad type"]}}'}, UnsupportedObjectType),
        ({"policy": b'{"filters": {"validation_state": "good"}}'}, InvalidRequest),
        ({"policy": b'{"order_by": ["surprise"]}'}, InvalidRequest),
        ({"policy": b'{"text": "request"}', "request": b"\xff"}, InvalidRequest),
        ({"policy": b"nonsense"}, InvalidRequest),
    ],
)
def test_what_cannot_be_projected_leaves_nothing_behind(
    store: Any, keyring: Keyring, settings: dict[str, Any], error: type[Exception]
) -> None:
    for seed, name in enumerate(("revoked", "expired", "early"), start=1):
        keyring.generate(name, seed=bytes([seed] * 32), now=NOW)
    keyring.revoke("revoked", now=NOW)
    for name, member in (("expired", "valid_to"), ("early", "valid_from")):
        record = store.layout.keys / f"{name}.json"
        year = "2025" if name == "expired" else "2027"
        before = keyring.show(name)[member]  # type: ignore[literal-required]
        old = f'"{member}":' + ("null" if before is None else f'"{before}"')
        new = f'"{member}":"{year}-01-01T00:00:00Z"'
        record.write_text(record.read_text().replace(old, new))
    with pytest.raises(error):
        projected(store, **settings)
    assert not (store.layout.projections / "issued").exists()


def test_who_may_not_query_may_not_project(store: Any, keyring: Keyring) -> None:
    remember(store, "secret")
    store.scope_policy(
        scope_id=SCOPE,
        policy={
            "policy_version": 1,
            "default_effect": "allow",
            "rules": [{"rule_id": "no", "effect": "deny", "actors": ["actor:local:you"]}],
            "overrides": [],
        },
        actor=ME,
    )
    with pytest.raises(AccessDenied):
        projected(store, actor={"actor_id": "actor:local:you", "actor_kind": "human"})


def test_a_fragment_that_is_not_its_source_is_refused(store: Any, keyring: Keyring) -> None:
    """The verifier frames each source again: a signature over another text does not help."""
    from pamctl.encoding.digests import sha256_digest
    from tests.projections import changed, sign

    remember(store, "Tea is at four.")
    projection = projected(store)
    lie = projection.fragments[0].replace(b"four", b"five")
    record = changed(projection.record, "/delivered/0/context_fragment_digest", sha256_digest(lie))
    record = sign(changed(record, "/projection/digest", sha256_digest(lie)), keyring.private("me"))
    verdict = verify(
        canonical(record),
        policy=store_policy(keyring, store.config),
        at=record["created_at"],
        materials=materials_of(projection, native_results=None, fragments=[lie], projection=lie),
    )
    assert verdict["reason"] == "context_frame_profile_mismatch"


def test_a_source_that_is_no_version_is_refused(store: Any, keyring: Keyring) -> None:
    from pamctl.encoding.digests import sha256_digest
    from tests.projections import changed, sign

    remember(store, "Tea is at four.")
    projection = projected(store)
    pointer = "/delivered/0/object/sealed_object_digest"
    record = changed(projection.record, pointer, sha256_digest(b"{}"))
    record = sign(record, keyring.private("me"))
    verdict = verify(
        canonical(record),
        policy=store_policy(keyring, store.config),
        at=record["created_at"],
        materials=materials_of(projection, native_results=None, sources=[b"{}"]),
    )
    assert verdict["reason"] == "native_source_result_mismatch"


def test_a_bundle_of_a_store_verifies_in_full(store: Any, keyring: Keyring, tmp_path: Path) -> None:
    remember(store, "Caf\u00e9, cafe\u0301\r\n\u202e")
    projection = projected(store)
    bundle.publish(tmp_path / "out", projection)
    verdict = verify(
        bundle.read_record(tmp_path / "out" / "record.json"),
        policy=store_policy(keyring, store.config),
        at=projection.record["created_at"],
        materials=bundle.load(tmp_path / "out"),
    )
    assert verdict["valid"], verdict


def test_what_the_source_profile_refuses_is_counted(
    store: Any, keyring: Keyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pamctl.projection.profiles import pam_frames

    remember(store, "good")
    remember(store, "sha256 is the tag of its own frame")
    # What nobody can bring about: the beginning of the address is known beforehand.
    monkeypatch.setattr(pam_frames, "_TAG", slice(0, 6))
    projection = projected(store)
    assert contents(projection) == ["good"]
    assert projection.record["exclusions"]["by_reason"]["schema_invalid"] == 1
