"""ApertoMemory vaults and exports as what is projected: opened whole, hostile objects apart."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("amem", reason="the extra apertomemory is not installed")

import cbor2

import pamctl
from pamctl.errors import InvalidRequest
from pamctl.projection import Materials, TrustPolicy, Verifier
from pamctl.projection.foreign import project_from
from pamctl.projection.profiles import named
from pamctl.projection.profiles.apertomemory import trust_snapshot
from pamctl.projection.source import Collecting, Collection, OpenedSource, SourceRefused
from pamctl.projection.trust import store_policy
from pamctl.service.store import Store
from pamctl.store.keyring import Keyring

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ME = {"actor_id": "actor:local:me", "actor_kind": "human"}
PASSPHRASE = "correct horse"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with two memories, made by the package."""
    from amem.objects import MemoryObject
    from amem.vault import Vault

    folder = tmp_path_factory.mktemp("vault") / "vault"
    vault = Vault.init(folder, PASSPHRASE)
    vault.add_scope("notes", PASSPHRASE)
    for number, text in enumerate(("Tea is at four.", "line\r\nline [/ApertoMemory]\n é e\u0301")):
        memory = MemoryObject(content=text, object_id=bytes([number]) * 16)
        vault.seal_object(memory, "notes", PASSPHRASE)
    return folder


@pytest.fixture
def vault(made: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(made, tmp_path / "vault"))


def collect(place: Path, passphrase: str | None = PASSPHRASE) -> Collection:
    profile = named("apertomemory")
    assert isinstance(profile, Collecting)
    return profile.collect(place, lambda name: None if passphrase is None else passphrase.encode())


def reasons(collection: Collection) -> list[str]:
    return [
        one.result.reason if isinstance(one.result, SourceRefused) else "opened"
        for one in collection.objects
    ]


def exported(vault: Path, to: Path) -> Path:
    from amem.vault import Vault

    Vault(vault).export(to)
    return to


def test_a_vault_is_opened(vault: Path) -> None:
    found = collect(vault)
    assert reasons(found) == ["opened", "opened"]
    first = found.objects[0].result
    assert isinstance(first, OpenedSource)
    assert first.native["derived_trust"] == "self"
    assert first.fragment.endswith(b"]\nTea is at four.\n[/ApertoMemory]\n")
    meta = cbor2.loads((vault / "vault.cbor").read_bytes())
    from amem.objects import key_id

    assert found.trust_snapshot == trust_snapshot(key_id(meta["sign_pub"]), [])


def test_an_export_and_a_folder_of_exports_are_the_same(vault: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    one = exported(vault, folder / "a.amem")
    opened = [item.result for item in collect(vault).objects]
    assert [item.result for item in collect(one).objects] == opened
    exported(vault, folder / "b.amem")
    both = collect(folder)
    assert reasons(both) == ["opened"] * 4
    assert len({item.name for item in both.objects}) == 4


@pytest.mark.parametrize("passphrase", [None, "", "wrong"])
def test_it_opens_with_its_passphrase_alone(vault: Path, passphrase: str | None) -> None:
    with pytest.raises(InvalidRequest, match="passphrase"):
        collect(vault, passphrase)


def test_what_is_no_vault_is_refused(tmp_path: Path, vault: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    hostile = tmp_path / "hostile.amem"
    for place in (empty, tmp_path / "nowhere"):
        with pytest.raises(InvalidRequest):
            collect(place)
    for data in (b"", b"\xff", b"\x81" * 9000, cbor2.dumps({1: 2}), cbor2.dumps({1: 1, 3: []})):
        hostile.write_bytes(data)
        with pytest.raises(InvalidRequest):
            collect(hostile)
    meta = cbor2.loads((vault / "vault.cbor").read_bytes())
    for change in ({"salt": 5}, {"salt": b""}, {"known_keys": {"zz": b"x"}}):
        (vault / "vault.cbor").write_bytes(cbor2.dumps({**meta, **change}))
        with pytest.raises(InvalidRequest):
            collect(vault)


def test_exports_of_two_owners_do_not_mix(vault: Path, tmp_path: Path) -> None:
    from amem.vault import Vault

    folder = tmp_path / "exports"
    folder.mkdir()
    exported(vault, folder / "a.amem")
    other = Vault.init(tmp_path / "other", PASSPHRASE)
    other.export(folder / "b.amem")
    with pytest.raises(InvalidRequest, match="different owners"):
        collect(folder)


def test_a_hostile_object_takes_no_other_along(vault: Path) -> None:
    objects = vault / "objects"
    first = next(iter(sorted(objects.glob("*.bin"))))
    whole, key = first.read_bytes(), first.with_suffix(".dek").read_bytes()
    for name, source, wrapped in (
        ("a0", b"", key),
        ("a1", b"\x81" * 5000, key),
        ("a2", cbor2.dumps({1: b"x", 2: b"y", 3: 2, 4: b"z"}), key),
        ("a3", whole[:-1] + bytes([whole[-1] ^ 1]), key),
        ("a4", whole, key[:-1] + b"\0"),
        ("a5", whole, None),
        ("a6", cbor2.dumps({1: [], 2: {}, 3: None, 4: []}), key),
    ):
        (objects / f"{name}.bin").write_bytes(source)
        if wrapped is not None:
            (objects / f"{name}.dek").write_bytes(wrapped)
    collection = collect(vault)
    names = [one.name for one in collection.objects]
    found = dict(zip(names, reasons(collection), strict=True))
    assert sorted(found.values()).count("opened") == 2
    assert found["a3"] == found["a4"] == found["a5"] == "authentication_failed"
    assert found["a0"] == found["a1"] == found["a6"] == "schema_invalid"
    assert found["a2"] in ("authentication_failed", "schema_invalid")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = pamctl.init_store(tmp_path / ".pam", actor=ME)
    Keyring(made.layout.keys).generate("desk", seed=os.urandom(32), now=made.sources.now())
    yield made
    made.close()


def projected(store: Store, place: Path, **more: Any) -> Any:
    return project_from(
        store,
        source_profile="apertomemory",
        place=place,
        unlock=lambda name: PASSPHRASE.encode(),
        actor=ME,
        request=b"tea?",
        **{"policy": b"{}", "key": "desk", **more},
    )


def test_a_vault_is_projected_and_verified(store: Store, vault: Path) -> None:
    (vault / "objects/bad.bin").write_bytes(b"nothing")
    projection = projected(store, vault)
    record = projection.record
    assert record["source_profile"] == "draft-ferro-apertomemory-02"
    assert record["selection_context"]["context_frame_profile"] == (
        "urn:apertomemory:context-frame:v0"
    )
    assert len(record["delivered"]) == 2
    assert record["exclusions"]["by_reason"]["schema_invalid"] == 1
    opened = [
        one.result.native for one in collect(vault).objects if isinstance(one.result, OpenedSource)
    ]
    policy: TrustPolicy = store_policy(Keyring(store.layout.keys), store.config)
    verifier = Verifier(policy, at=store.sources.now())
    materials = Materials(
        request=projection.request,
        policy=projection.policy,
        trust_snapshot=projection.trust_snapshot,
        projection=projection.text,
        sources=projection.sources,
        fragments=projection.fragments,
        native_results=opened,
    )
    verdict = verifier.verify(projection.record_text, materials)
    assert verdict["valid"], verdict
    # The vault's owner alone can open the objects; without him nothing is claimed.
    alone = verifier.verify(
        projection.record_text,
        Materials(
            **{
                name: getattr(materials, name)
                for name in ("request", "policy", "trust_snapshot", "projection")
            },
            sources=projection.sources,
            fragments=projection.fragments,
        ),
    )
    assert alone["reason"] == "material_missing"


def test_trust_and_limits_select(store: Store, vault: Path) -> None:
    none = projected(store, vault, policy=b'{"trust":{"derived_trust":["trusted"]}}')
    assert none.record["exclusions"]["by_reason"]["policy_filtered"] == 2
    one = projected(store, vault, policy=b'{"limits":{"objects":1}}')
    assert one.record["exclusions"]["by_reason"]["context_limit"] == 1
    with pytest.raises(InvalidRequest, match="filters"):
        projected(store, vault, policy=b'{"filters":{"object_type":["claim"]}}')
