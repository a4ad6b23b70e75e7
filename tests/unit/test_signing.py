"""Actors that are bound to keys: what they write is signed, and nobody else writes for them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.version_signatures import Signature, verified
from pamctl.errors import AccessDenied, InvalidRequest, ObjectNotFound, PamError
from pamctl.service.signing import KEY_RULE, Signers
from pamctl.service.store import Store
from pamctl.store.keyring import Keyring, Seal

SCOPE = "workspace:default"
ME = {"actor_id": "actor:local:me", "actor_kind": "human"}
AGENT = {"actor_id": "actor:local:agent", "actor_kind": "agent"}
START_NS = 1_785_000_000_000_000_000
SECOND_NS = 1_000_000_000


class Clock:
    """Advances a second at each look."""

    def __init__(self) -> None:
        self.ns = START_NS

    def __call__(self) -> int:
        self.ns += SECOND_NS
        return self.ns


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = pamctl.init_store(tmp_path / ".pam", actor=ME, owner_key=True, clock=Clock())
    yield made
    made.close()


@pytest.fixture
def keyring(store: Store) -> Keyring:
    return Keyring(store.layout.keys)


def remember(store: Store, text: str = "Tea is at four.", actor: Any = ME, **more: Any) -> Any:
    return store.create(
        scope_id=SCOPE,
        object_type="claim",
        canonical_content={"text": text},
        actor=actor,
        provenance={"activity": "typed"},
        **more,
    )


def private_key(store: Store, name: str = "owner") -> Path:
    return store.layout.keys / f"{name}.pem"


def test_what_the_owner_writes_is_signed(store: Store, keyring: Keyring) -> None:
    public = keyring.private("owner").public
    made = remember(store)
    updated = store.update(
        scope_id=SCOPE,
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        merge_patch={"text": "Tea is at five."},
        actor=ME,
        provenance={"activity": "corrected"},
    )
    moved = store.transition(
        scope_id=SCOPE,
        object_id=made["object_id"],
        expected_version_id=updated["version_id"],
        dimension="lifecycle",
        target_state="archived",
        actor=ME,
    )
    other = remember(store, "The kettle is blue.")
    linked = store.relate(
        scope_id=SCOPE,
        source_object_id=made["object_id"],
        target_object_id=other["object_id"],
        relationship_type="supports",
        actor=ME,
        provenance={"activity": "linked"},
    )
    signatures = set()
    for result in (made, updated, moved, other, linked):
        assert verified(result["envelope"]) == Signature(public)
        signatures.add(result["envelope"]["integrity"]["signature"])
        read = store.read(scope_id=SCOPE, object_id=made["object_id"], actor=ME)
        assert verified(read) == Signature(public)
    assert len(signatures) == 5


def test_an_actor_that_is_not_bound_signs_nothing(store: Store) -> None:
    assert "integrity" not in remember(store, actor=AGENT)["envelope"]


def test_a_store_without_keys_works_as_ever(tmp_path: Path) -> None:
    plain = pamctl.init_store(tmp_path / ".pam", actor=ME)
    assert "integrity" not in remember(plain)["envelope"]
    assert list(plain.layout.keys.iterdir()) == []


def test_making_a_store_again_makes_no_second_owner(store: Store, keyring: Keyring) -> None:
    before = keyring.show("owner")
    pamctl.init_store(store.path, actor=AGENT, owner_key=True)
    assert keyring.own() == {"owner": before}


OPERATIONS: list[tuple[str, Callable[[Any], dict[str, Any]]]] = [
    ("read", lambda made: {"object_id": made["object_id"]}),
    ("query", lambda made: {}),
    ("history", lambda made: {"object_id": made["object_id"]}),
    ("log", lambda made: {}),
    (
        "create",
        lambda made: {
            "object_type": "claim",
            "canonical_content": 1,
            "provenance": {"activity": "typed"},
        },
    ),
    (
        "delete",
        lambda made: {
            "object_id": made["object_id"],
            "expected_version_id": made["version_id"],
            "policy_basis": "test",
        },
    ),
    ("scope_policy", lambda made: {"policy": {"policy_version": 1, "default_effect": "allow"}}),
    ("scope_create", lambda made: {}),
    ("snapshot_create", lambda made: {}),
]


@pytest.mark.parametrize(("operation", "arguments"), OPERATIONS, ids=[o for o, _ in OPERATIONS])
def test_nothing_is_done_in_a_bound_actors_name_without_the_key(
    store: Store, operation: str, arguments: Any
) -> None:
    made = remember(store)
    private_key(store).rename(store.path / "elsewhere.pem")
    objects = store.status()["scopes"][0]["versions"]
    with pytest.raises(AccessDenied, match="without its key") as refused:
        store.perform(operation, {"scope_id": SCOPE, "actor": ME, **arguments(made)})
    assert refused.value.policy_rule_id == KEY_RULE
    assert store.status()["scopes"][0]["versions"] == objects
    (event,) = store.log(scope_id=SCOPE, event_classes=["access_denied"])["items"]
    assert event["actor"] == ME
    assert event["payload"]["policy_rule_id"] == KEY_RULE
    # Under another name everything is as it was.
    assert remember(store, actor=AGENT)["replayed"] is False


def test_an_impostor_makes_no_scope(store: Store) -> None:
    private_key(store).unlink()
    for operation in ("query", "create"):
        arguments = dict(OPERATIONS)[operation]({}) if operation == "create" else {}
        with pytest.raises(AccessDenied):
            store.perform(operation, {"scope_id": "workspace:new", "actor": ME, **arguments})
    assert [scope["scope_id"] for scope in store.scope_list()["items"]] == [SCOPE]


def test_a_group_asks_for_the_key_of_each_actor(store: Store, keyring: Keyring) -> None:
    keyring.generate("agent", seed=b"\3" * 32, now=store.sources.now(), actor_id=AGENT["actor_id"])
    private_key(store).unlink()
    create = dict(OPERATIONS)["create"]({})
    with store.group() as group:
        for actor, allowed in ((AGENT, True), (ME, False), (AGENT, True)):
            request = {"scope_id": SCOPE, "actor": actor, **create}
            if allowed:
                made = group.perform("create", request)
                assert verified(made["envelope"]) is not None
            else:
                with pytest.raises(AccessDenied):
                    group.perform("create", request)
    assert len(store.query(scope_id=SCOPE, any_state=True)["items"]) == 2


def test_an_atomic_group_with_an_impostor_commits_nothing(store: Store) -> None:
    private_key(store).unlink()
    create = dict(OPERATIONS)["create"]({})
    with pytest.raises(AccessDenied), store.group(atomic=True) as group:
        group.perform("create", {"scope_id": SCOPE, "actor": AGENT, **create})
        group.perform("create", {"scope_id": SCOPE, "actor": ME, **create})
    assert store.query(scope_id=SCOPE, any_state=True)["items"] == []
    assert len(store.log(scope_id=SCOPE, event_classes=["access_denied"])["items"]) == 1


def test_a_key_counts_from_the_next_operation_on(store: Store, keyring: Keyring) -> None:
    assert "integrity" not in remember(store, actor=AGENT)["envelope"]
    keyring.generate("agent", seed=b"\3" * 32, now=store.sources.now(), actor_id=AGENT["actor_id"])
    public = PrivateKey.from_seed(b"\3" * 32).public
    assert verified(remember(store, actor=AGENT)["envelope"]) == Signature(public)
    keyring.revoke("agent", now=store.sources.now())
    with pytest.raises(AccessDenied, match="its key is revoked") as refused:
        remember(store, actor=AGENT)
    assert "`pamctl key generate" in refused.value.details["hint"]


def test_the_newest_key_that_counts_signs(store: Store, keyring: Keyring) -> None:
    keyring.generate(
        "second", seed=b"\4" * 32, now=store.sources.now(), actor_id=ME["actor_id"], owner=True
    )
    public = PrivateKey.from_seed(b"\4" * 32).public
    assert verified(remember(store)["envelope"]) == Signature(public)
    keyring.revoke("second", now=store.sources.now(), compromised=True)
    first = keyring.private("owner").public
    assert verified(remember(store)["envelope"]) == Signature(first)


def test_of_several_keys_the_one_on_this_machine_signs(store: Store, keyring: Keyring) -> None:
    keyring.generate("desk", seed=b"\4" * 32, now=store.sources.now(), actor_id=ME["actor_id"])
    private_key(store, "desk").unlink()
    owner = keyring.private("owner").public
    assert verified(remember(store)["envelope"]) == Signature(owner)


def test_a_key_can_be_asked_for(store: Store, keyring: Keyring) -> None:
    now = store.sources.now()
    keyring.generate("second", seed=b"\4" * 32, now=now, actor_id=ME["actor_id"])
    keyring.generate("free", seed=b"\5" * 32, now=now)
    keyring.generate("agent", seed=b"\6" * 32, now=now, actor_id=AGENT["actor_id"])
    store.signers.preferred = "owner"
    assert verified(remember(store)["envelope"]) == Signature(keyring.private("owner").public)
    guest = {"actor_id": "actor:local:guest", "actor_kind": "human"}
    for name, actor in (("agent", ME), ("free", ME), ("owner", AGENT), ("owner", guest)):
        store.signers.preferred = name
        with pytest.raises(AccessDenied, match="is not one that it is bound to"):
            remember(store, actor=actor)
    store.signers.preferred = "free"
    free = keyring.private("free").public
    assert verified(remember(store, actor=guest)["envelope"]) == Signature(free)
    keyring.revoke("free", now=store.sources.now())
    with pytest.raises(AccessDenied, match="does not count now"):
        remember(store, actor=guest)
    store.signers.preferred = "nobody"
    with pytest.raises(ObjectNotFound):
        remember(store, actor=guest)


def test_an_expired_key_signs_nothing(store: Store, keyring: Keyring) -> None:
    now = store.sources.now()
    keyring.generate("agent", seed=b"\3" * 32, now=now, actor_id=AGENT["actor_id"], valid_to=now)
    with pytest.raises(AccessDenied, match="not valid now"):
        remember(store, actor=AGENT)


def test_a_clock_that_is_set_back_does_not_lock_anybody_out(store: Store) -> None:
    store.sources = store.sources._replace(clock=lambda: START_NS - 60 * SECOND_NS)
    store.signers = Signers(store.layout.keys, store.sources)
    made = remember(store)
    assert made["envelope"]["committed_at"] < Keyring(store.layout.keys).show("owner")["created_at"]
    assert verified(made["envelope"]) is not None


def test_somebody_elses_actor_cannot_act_here(store: Store, keyring: Keyring) -> None:
    theirs = PrivateKey.from_seed(b"\5" * 32).public
    keyring.trust(theirs, "adapter", now=store.sources.now(), actor_id=AGENT["actor_id"])
    assert "integrity" not in remember(store, actor=AGENT)["envelope"]
    keyring.trust(theirs, "author", now=store.sources.now(), actor_id=AGENT["actor_id"])
    with pytest.raises(AccessDenied, match="somebody else's"):
        remember(store, actor=AGENT)


def test_a_key_that_others_can_read_is_not_used(store: Store) -> None:
    private_key(store).chmod(0o644)
    for act in (lambda: remember(store), lambda: store.query(scope_id=SCOPE, actor=ME)):
        with pytest.raises(AccessDenied, match="others can read"):
            act()


def test_who_may_not_see_the_records_may_look_and_not_write(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = remember(store, actor=AGENT)

    def refuse(path: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("pamctl.store.key_records.os.listdir", refuse)
    for actor in (ME, AGENT):
        assert store.read(scope_id=SCOPE, object_id=made["object_id"], actor=actor)
        with pytest.raises(AccessDenied, match="may not read the records") as refused:
            remember(store, actor=actor)
        assert "chmod 755" in refused.value.details["hint"]


def test_another_key_in_its_place_signs_nothing(store: Store) -> None:
    private_key(store).write_bytes(PrivateKey.from_seed(b"\6" * 32).pem())
    with pytest.raises(PamError, match="not the private key of"):
        remember(store)


def test_an_encrypted_key_needs_its_passphrase(tmp_path: Path) -> None:
    seal = Seal(b"open sesame", b"\1" * 16, b"\2" * 16)
    store = pamctl.init_store(tmp_path / ".pam", actor=ME, owner_key=True, seal=seal)
    assert b"ENCRYPTED" in private_key(store).read_bytes()
    asked = []

    def unlock(name: str) -> bytes:
        asked.append(name)
        return b"open sesame"

    for wrong in (lambda name: None, lambda name: b"wrong"):
        store.signers.unlock = wrong
        with pytest.raises(AccessDenied, match="passphrase"):
            remember(store)
    # Whoever only looks is asked for nothing.
    store.query(scope_id=SCOPE, actor=ME)
    store.signers.unlock = unlock
    remember(store)
    assert verified(remember(store)["envelope"]) is not None
    # It is asked for once, for as long as the file is the same.
    assert asked == ["owner"]


def test_there_is_room_for_one_integrity(store: Store) -> None:
    integrity = {"digest": "abc", "algorithm": "sha-256"}
    with pytest.raises(InvalidRequest, match="no room") as refused:
        remember(store, integrity=integrity)
    assert refused.value.details["pointer"] == "/integrity"
    assert remember(store, actor=AGENT, integrity=integrity)["envelope"]["integrity"] == integrity


def test_a_repeated_request_needs_the_key_too(store: Store) -> None:
    made = remember(store, idempotency_key="once")
    again = remember(store, idempotency_key="once")
    assert again["replayed"] is True
    assert again["envelope"] == made["envelope"]
    private_key(store).unlink()
    with pytest.raises(AccessDenied):
        remember(store, idempotency_key="once")


def test_an_erasure_takes_the_signature_along(store: Store) -> None:
    made = remember(store)
    signature = made["envelope"]["integrity"]["signature"]
    store.delete(
        scope_id=SCOPE,
        object_id=made["object_id"],
        expected_version_id=made["version_id"],
        policy_basis="test",
        erase=True,
        actor=ME,
    )
    store.close()
    for path in store.path.rglob("*"):
        if path.is_file():
            assert signature.encode() not in path.read_bytes(), path
