"""What an import leaves in a store, and what it leaves when it fails."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

import pamctl
import pamctl.errors
from pamctl.cli.checking import checked
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.errors import InvalidObject, PolicyDenied, ServiceUnavailable
from pamctl.exchange import importing
from pamctl.model.documents import check
from pamctl.service.store import Store
from pamctl.store import files
from pamctl.store.custody import records
from tests.authority import OWNER, SCOPE, SEEN, on, remember

BASIS = {"policy_basis": "policy:test"}


@pytest.fixture
def copy(tmp_path: Path) -> Store:
    return pamctl.init_store(tmp_path / "copy" / ".pam")


def exported(store: Store, **what: Any) -> bytes:
    target = io.BytesIO()
    pamctl.export_bundle(store, target, actor=OWNER, **what)
    return target.getvalue()


def imported(store: Store, bundle: bytes, **how: Any) -> list[str]:
    answer = pamctl.import_bundle(store, io.BytesIO(bundle), actor=OWNER, **how)
    return [scope["action"] for scope in answer["scopes"]]


def contents(store: Store) -> bytes:
    """All that is in the files of its scopes."""
    return b"".join(
        path.read_bytes() for path in sorted(store.path.glob("scopes/**/*")) if path.is_file()
    )


def test_custody_says_what_came_from_where(store: Store, copy: Store) -> None:
    remember(store, "tea")
    bundle = exported(store)
    assert imported(copy, bundle) == ["adopted"]
    remember(store, "coffee")
    assert imported(copy, exported(store)) == ["extended"]
    first, second = records(copy.open_scope(SCOPE).layout)
    for record in (first, second):
        check("custody", record)
        assert record["origin"]["store_id"] == store.store_id
        assert record["actor"] == OWNER
    assert first["bundle"] == json.loads(bundle.splitlines()[-1])["footer"]["digest"]
    assert (first["from_entry"], first["to_entry"]) == (1, 3)
    assert (second["from_entry"], second["to_entry"]) == (4, 4)


def test_what_is_erased_at_the_origin_is_erased_in_the_copy(store: Store, copy: Store) -> None:
    """Out of packs that no entry announces."""
    kept, gone = remember(store, "kept"), remember(store, "the secret")
    gone = store.update(**on(gone, OWNER, canonical_content="the secret too", provenance=SEEN))
    assert imported(copy, exported(store)) == ["adopted"]
    assert b"the secret" in contents(copy)
    store.redact(**on(gone["envelope"], OWNER, **BASIS), erase=True)
    bundle = exported(store)
    assert imported(copy, bundle) == ["extended"]
    assert b"the secret" not in contents(copy)
    assert exported(copy) == bundle
    assert copy.read(scope_id=SCOPE, object_id=kept["object_id"])["canonical_content"] == "kept"
    assert "replaces" in records(copy.open_scope(SCOPE).layout)[-1]
    copy.close()
    assert checked(copy.path)["clean"]


def test_what_came_without_content_can_be_erased_later(store: Store, copy: Store) -> None:
    hidden = remember(store, "the secret")
    hidden = store.redact(**on(hidden, OWNER, **BASIS))["envelope"]
    assert imported(copy, exported(store)) == ["adopted"]
    assert b"the secret" not in contents(copy)
    store.delete(**on(hidden, OWNER, **BASIS), erase=True)
    bundle = exported(store)
    assert imported(copy, bundle) == ["extended"]
    assert exported(copy) == bundle
    copy.close()
    assert checked(copy.path)["clean"]


def test_a_promotion_of_scratch_is_lawful_as_a_whole(store: Store, copy: Store) -> None:
    """Its source goes where no transition would let it, and the last event of the transaction
    says why."""
    scratch = store.create(
        scope_id=SCOPE,
        actor=OWNER,
        provenance=SEEN,
        object_type="working_memory",
        canonical_content={"task_ref": "task:1", "content": "a plan"},
    )
    store.promote(
        scope_id=SCOPE,
        actor=OWNER,
        provenance=SEEN,
        source_object_id=scratch["object_id"],
        expected_version_id=scratch["version_id"],
        target_object_type="task",
        target_canonical_content="the plan",
    )
    bundle = exported(store)
    assert imported(copy, bundle) == ["adopted"]
    assert exported(copy) == bundle


def test_a_copy_is_written_to_like_any_scope(store: Store, copy: Store) -> None:
    """An erasure in it leaves the stubs alone that came with it."""
    one, other, third = (remember(store, text) for text in ("one", "other", "third"))
    store.redact(**on(one, OWNER, **BASIS), erase=True)
    store.redact(**on(other, OWNER, **BASIS))
    assert imported(copy, exported(store)) == ["adopted"]
    copy.redact(**on(third, OWNER, **BASIS), erase=True)
    for envelope in (one, other, third):
        items = copy.history(scope_id=SCOPE, object_id=envelope["object_id"])["items"]
        assert items[0]["canonical_content"] == {"tombstone": True}
    assert b'"third"' not in contents(copy)
    remember(copy, "of its own")
    copy.close()
    assert checked(copy.path)["clean"]


def test_a_scope_that_is_written_to_meanwhile_is_left_as_it_is(
    store: Store, copy: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(store, "tea")
    bundle = exported(store)
    planned = importing.require_kin

    def require_kin(plans: Any) -> None:
        planned(plans)
        remember(copy, "meanwhile")

    monkeypatch.setattr(importing, "require_kin", require_kin)
    with pytest.raises(ServiceUnavailable):
        imported(copy, bundle)
    items = copy.query(scope_id=SCOPE, any_state=True)["items"]
    assert [item["canonical_content"] for item in items] == ["meanwhile"]
    copy.close()
    assert checked(copy.path)["clean"]


@pytest.mark.parametrize("fails_at", range(4))
@pytest.mark.parametrize("there", [True, False], ids=["scope-is-there", "scope-is-new"])
def test_a_failure_on_the_way_leaves_a_scope_that_can_be_imported_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int, there: bool
) -> None:
    """At each file that gets its name."""
    for text in ("tea", "coffee"):
        remember(store, text)
    bundle = exported(store)
    scope = SCOPE if there else "project:other"
    copy = pamctl.init_store(tmp_path / "copy" / ".pam", default_scope=scope)
    renamed = os.rename
    calls = 0

    def rename(one: Any, other: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == fails_at + 1:
            raise OSError(28, "No space left on device")
        renamed(one, other)

    monkeypatch.setattr(files.os, "rename", rename)
    failed = False
    try:
        imported(copy, bundle)
    except ServiceUnavailable:
        failed = True
    monkeypatch.setattr(files.os, "rename", renamed)
    assert failed == (calls > fails_at)
    assert not list(copy.path.glob(".import*"))
    assert imported(copy, bundle) == (["adopted"] if failed else ["unchanged"])
    assert exported(copy, scope_ids=[SCOPE]) == bundle
    copy.close()
    assert checked(copy.path)["clean"]


def test_what_a_dead_import_left_is_removed(store: Store, copy: Store) -> None:
    remember(store, "tea")
    left = copy.path / ".import.1-1.new"
    (left / "deep").mkdir(parents=True)
    os.utime(left, (1, 1))
    young = copy.path / ".import.2-1.new"
    young.mkdir()
    assert imported(copy, exported(store)) == ["adopted"]
    assert not left.exists()
    assert young.exists()


def test_two_scopes_come_together(store: Store, copy: Store) -> None:
    remember(store, "tea")
    remember(store, "there", scope_id="project:x")
    assert imported(copy, exported(store)) == ["adopted", "adopted"]
    assert exported(copy) == exported(store)
    remember(store, "more", scope_id="project:x")
    answer = pamctl.import_bundle(copy, io.BytesIO(exported(store)), actor=OWNER, dry_run=True)
    actions = {scope["scope_id"]: scope["action"] for scope in answer["scopes"]}
    assert actions == {"project:x": "extended", SCOPE: "unchanged"}


def test_one_scope_that_diverged_keeps_all_of_them_out(store: Store, copy: Store) -> None:
    remember(store, "tea")
    remember(copy, "another")
    remember(store, "there", scope_id="project:x")
    with pytest.raises(pamctl.errors.VersionConflict):
        imported(copy, exported(store))
    assert [scope["scope_id"] for scope in copy.scope_list()["items"]] == [SCOPE]


def test_a_scope_of_another_kind_does_not_give_way(store: Store, tmp_path: Path) -> None:
    store.scope_create(scope_id="team:x", scope_kind="team", actor=OWNER)
    remember(store, "tea", scope_id="team:x")
    copy = pamctl.init_store(tmp_path / "copy" / ".pam")
    copy.scope_create(scope_id="team:x", scope_kind="club", actor=OWNER)
    with pytest.raises(pamctl.errors.InvalidRequest) as refused:
        imported(copy, exported(store, scope_ids=["team:x"]))
    assert "scope_kind" in refused.value.message


def test_an_import_is_no_part_of_an_evaluation(store: Store, copy: Store) -> None:
    from pamctl.service.evaluation import begin

    remember(store, "tea")
    bundle = exported(store)
    snapshot = store.snapshots.create(scope_id=SCOPE, actor=OWNER)["snapshot"]
    begin(store, source_scope_id=SCOPE, snapshot_id=snapshot["snapshot_id"], actor=OWNER)
    with pytest.raises(PolicyDenied):
        imported(store, bundle)


def test_versions_recorded_anew_have_salts_of_their_own(store: Store, copy: Store) -> None:
    made = remember(store, "tea")
    bundle = exported(store)
    for scope_id in ("project:a", "project:b"):
        assert imported(copy, bundle, map_scopes={SCOPE: scope_id}) == ["recorded"]
    salts = {
        json.loads(one.version_bytes(scope_id, made["version_id"]))["salt"]
        for one, scope_id in ((store, SCOPE), (copy, "project:a"), (copy, "project:b"))
    }
    assert len(salts) == 3


def test_no_authority_comes_with_what_is_recorded_anew(store: Store, copy: Store) -> None:
    from tests.authority import grant

    remember(store, "tea")
    delegation_id = grant(store, "read")
    imported(copy, exported(store), map_scopes={SCOPE: "project:a"})
    assert delegation_id.encode() not in contents(copy)
    kinds = [json.loads(line)["kind"] for line in _ledger(copy, "project:a")]
    assert kinds == ["scope", "policy", "event", "import"]


def test_a_relationship_comes_with_its_ends_or_not_at_all(store: Store, copy: Store) -> None:
    one, other = remember(store, "one"), remember(store, "other")
    made = store.relate(
        scope_id=SCOPE,
        source_object_id=one["object_id"],
        target_object_id=other["object_id"],
        relationship_type="supports",
        directionality="directed",
        actor=OWNER,
        provenance=SEEN,
    )
    alone = exported(
        store, scope_ids=[SCOPE], object_ids=[one["object_id"], made["relationship_id"]]
    )
    with pytest.raises(InvalidObject) as refused:
        imported(copy, alone, map_scopes={SCOPE: "project:a"})
    assert refused.value.details["object_id"] == other["object_id"]
    both = exported(store, scope_ids=[SCOPE], object_ids=[one["object_id"], other["object_id"]])
    assert imported(copy, both, map_scopes={SCOPE: "project:a"}) == ["recorded"]
    found = copy.read(scope_id="project:a", object_id=made["relationship_id"])
    assert found["target_object_id"] == other["object_id"]


def _ledger(store: Store, scope_id: str) -> list[bytes]:
    return store.open_scope(scope_id).layout.ledger.read_bytes().splitlines()


def test_signatures_are_checked_and_counted(tmp_path: Path) -> None:
    from pamctl.crypto.keys import PrivateKey
    from pamctl.crypto.version_signatures import sign
    from tests.hostile.test_bundles import sealed

    key = PrivateKey.from_seed(b"\x01" * 32)
    store = pamctl.init_store(tmp_path / "origin" / ".pam")
    remember(store, "tea")
    lines = exported(store).splitlines()[:-1]
    at = next(n for n, line in enumerate(lines) if line.startswith(b'{"version":'))
    envelope = json.loads(lines[at])["version"]["envelope"]
    for scope_id, content in (("good", "tea"), ("forged", "poison")):
        signed = {**envelope, "integrity": sign(envelope, key), "canonical_content": content}
        bundle = sealed(_with_version(lines, at, signed))
        copy = pamctl.init_store(tmp_path / scope_id / ".pam")
        if content == "tea":
            assert imported(copy, bundle) == ["adopted"]
            (record,) = records(copy.open_scope(SCOPE).layout)
            assert record["signed"] == 1
        else:
            with pytest.raises(InvalidObject) as refused:
                imported(copy, bundle)
            assert "signature" in refused.value.message


def _with_version(lines: list[bytes], at: int, envelope: Any) -> list[bytes]:
    """Lines in which the last entry commits another version than it did."""
    version = canonical({"envelope": envelope, "salt": "A" * 22})
    entry = json.loads(lines[at - 1])["ledger"]
    entry["version"] = sha256_digest(version)
    line = canonical(entry)
    header = json.loads(lines[0])
    header["scopes"][0]["head"] = sha256_hex(line)
    carried = [b'{"ledger":' + line + b"}", b'{"version":' + version + b"}"]
    return [canonical(header), *lines[1 : at - 1], *carried]
