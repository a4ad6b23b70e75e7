"""Versions: found where they are, believed only when their bytes match their address."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

import pamctl
from pamctl.encoding.base64url import decode
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.encoding.strict_json import parse
from pamctl.errors import InvalidObject, ServiceUnavailable, StoreDamaged
from pamctl.limits import DEPTH_MAX, DOCUMENT_BYTES_MAX
from pamctl.store.commit import NewVersion
from pamctl.store.layout import ScopeLayout
from pamctl.store.records import StoredVersion
from pamctl.store.versions import (
    SALT_BYTES,
    VersionErased,
    Versions,
    remainder,
    version_bytes,
)
from tests.scope_ledgers import commit, event, new_scope, version


@pytest.fixture
def layout(tmp_path: Path) -> ScopeLayout:
    """A scope with version 1 in a file and versions 2 to 4 in a pack."""
    layout = new_scope(tmp_path / ".pam")
    commit(layout, [event(1, version(1))])
    commit(layout, *([event(number, version(number))] for number in (2, 3, 4)))
    return layout


def pack_of(layout: ScopeLayout) -> Path:
    (pack,) = layout.packs.iterdir()
    return pack


def test_the_bytes_of_a_version() -> None:
    salt = bytes(range(SALT_BYTES))
    data = version_bytes({"object_id": "mem:1", "canonical_content": "naïve\n"}, salt)
    assert data == (
        b'{"envelope":{"canonical_content":"na\xc3\xafve\\n","object_id":"mem:1"},'
        b'"salt":"AAECAwQFBgcICQoLDA0ODw"}'
    )
    assert decode(orjson.loads(data)["salt"]) == salt


def test_the_same_content_has_another_address_each_time() -> None:
    envelope = {"object_id": "mem:1", "canonical_content": "guess me"}
    one = NewVersion.seal(envelope, b"\x00" * SALT_BYTES)
    two = NewVersion.seal(envelope, b"\x01" * SALT_BYTES)
    assert one.address != two.address
    assert one.address == sha256_digest(one.data)


def test_a_version_that_no_reader_would_take_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    data = version_bytes({"a": "b"}, b"\x00" * SALT_BYTES)
    monkeypatch.setattr("pamctl.store.versions.DOCUMENT_BYTES_MAX", len(data) - 1)
    with pytest.raises(InvalidObject, match="DOCUMENT_BYTES_MAX"):
        version_bytes({"a": "b"}, b"\x00" * SALT_BYTES)


def test_the_deepest_content_that_is_accepted_is_read_back_by_a_strict_reader(
    tmp_path: Path,
) -> None:
    store = pamctl.init_store(tmp_path / ".pam")
    request = {
        "scope_id": "workspace:default",
        "object_type": "claim",
        "actor": {"actor_id": "actor:local:tester", "actor_kind": "human"},
        "provenance": {"activity": "noted"},
    }
    content: Any = "x"
    made = None
    for _ in range(DEPTH_MAX + 1):
        content = [content]
        try:
            made = store.perform("create", {**request, "canonical_content": content})
        except InvalidObject:
            break
    assert made is not None
    data = store.version_bytes("workspace:default", made["version_id"])
    assert parse(data)["envelope"]["canonical_content"] == content[0]
    store.close()


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_version_is_found_and_read_as_it_was_written(layout: ScopeLayout, number: int) -> None:
    sealed = version(number)
    stored = Versions(layout).find(sealed.address)
    assert stored is not None
    assert stored.envelope == sealed.envelope
    assert (stored.pack is None) == (number == 1)
    assert Versions(layout).read(stored) == sealed.data
    path = layout.version_file(sealed.address) if stored.pack is None else pack_of(layout)
    assert path.read_bytes()[stored.offset :][: stored.length] == sealed.data


def test_a_file_holds_the_version_and_nothing_else(layout: ScopeLayout) -> None:
    assert layout.version_file(version(1).address).read_bytes() == version(1).data


def test_a_version_that_is_nowhere(layout: ScopeLayout) -> None:
    assert Versions(layout).find(version(9).address) is None
    with pytest.raises(StoreDamaged, match="missing"):
        Versions(layout).read(StoredVersion(version(9).address, None, None, 0, 10))


@pytest.mark.parametrize("number", [1, 3])
def test_altered_bytes_are_never_handed_out(layout: ScopeLayout, number: int) -> None:
    stored = Versions(layout).find(version(number).address)
    assert stored is not None
    path = pack_of(layout) if stored.pack else layout.version_file(stored.address)
    whole = path.read_bytes()
    for place in range(stored.offset, stored.offset + stored.length):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert Versions(layout).find(stored.address) is None
        with pytest.raises(StoreDamaged, match="altered"):
            Versions(layout).read(stored)


@pytest.mark.parametrize("data", [b"", b"\n", b"{}", version(2).data, version(1).data + b"\n"])
def test_another_file_in_its_place_is_somebody_elses(layout: ScopeLayout, data: bytes) -> None:
    path = layout.version_file(version(1).address)
    path.write_bytes(data)
    assert Versions(layout).find(version(1).address) is None


def test_what_is_no_file_is_no_version(layout: ScopeLayout, tmp_path: Path) -> None:
    sealed = version(1)
    stored = StoredVersion(sealed.address, sealed.envelope, None, 0, len(sealed.data))
    path = layout.version_file(sealed.address)
    path.unlink()
    (tmp_path / "outside").write_bytes(sealed.data)

    path.symlink_to(tmp_path / "outside")
    assert Versions(layout).find(sealed.address) is None
    with pytest.raises(StoreDamaged, match="missing"):
        Versions(layout).read(stored)

    path.unlink()
    path.mkdir()
    assert Versions(layout).find(sealed.address) is None

    path.rmdir()
    os.mkfifo(path)
    assert Versions(layout).find(sealed.address) is None

    path.unlink()
    path.parent.rmdir()
    path.parent.write_bytes(b"")
    assert Versions(layout).find(sealed.address) is None


def test_a_file_that_cannot_be_read_is_not_called_missing(
    layout: ScopeLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ServiceUnavailable, match="Permission denied"):
        Versions(layout).find(version(1).address)


def test_a_giant_file_is_not_read(layout: ScopeLayout) -> None:
    path = layout.version_file(version(1).address)
    os.truncate(path, DOCUMENT_BYTES_MAX + 1)
    assert Versions(layout).find(version(1).address) is None
    with pytest.raises(StoreDamaged, match="DOCUMENT_BYTES_MAX"):
        Versions(layout).read(StoredVersion(version(1).address, None, None, 0, 2**40))


# Erasure stubs


def stub(number: int) -> bytes:
    erased = {"address": version(number).address, "event_id": "evt:1", "erased_at": "t"}
    return canonical({"envelope": {"object_id": f"mem:{number}"}, "erased": erased})


def test_of_an_erased_file_the_stub_is_found(layout: ScopeLayout) -> None:
    address = version(1).address
    stored = Versions(layout).find(address)
    assert stored is not None
    layout.version_file(address).unlink()
    layout.stub_file(address).write_bytes(stub(1))
    kept = {"object_id": "mem:1"}
    found = Versions(layout).find(address)
    assert found == StoredVersion(address, kept, None, 0, len(stub(1)), erased=True)
    with pytest.raises(VersionErased) as erased:
        Versions(layout).read(stored)
    assert erased.value.kept == kept
    assert Versions(layout).remains(found) == kept


def test_a_file_that_is_no_stub_stands_for_nothing_known(layout: ScopeLayout) -> None:
    address = version(1).address
    layout.version_file(address).unlink()
    layout.stub_file(address).write_bytes(stub(2))
    assert Versions(layout).find(address) == StoredVersion(
        address, None, None, 0, len(stub(2)), erased=True
    )


def test_what_is_left_is_told_while_the_bytes_are_still_there(layout: ScopeLayout) -> None:
    for number in (1, 3):
        found = Versions(layout).find(version(number).address)
        assert found is not None
        kept = Versions(layout).remains(found._replace(erased=True))
        assert kept == {"object_id": f"mem:{number}"}


def test_a_stub_beside_the_version_itself_stands_for_nothing(layout: ScopeLayout) -> None:
    # An erasure that died before its commit leaves a pack that nobody announced.
    for name in ("00" * 32, "ff" * 32):
        (layout.packs / f"{name}.jsonl").write_bytes(stub(3) + b"\n")
    versions = Versions(layout)
    assert versions.find(version(9).address) is None
    found = versions.find(version(3).address)
    assert found is not None
    assert found.envelope == version(3).envelope
    assert Versions(layout).read(found._replace(pack="77" * 32)) == version(3).data


def test_what_an_erasure_keeps() -> None:
    envelope = {
        "version_id": "ver:1",
        "canonical_content": "secret",
        "integrity": {"digest": "d", "algorithm": "sha256"},
        "quality_signals": {"staleness_score": 0.5},
        "provenance": {"activity": "noted", "source_ref": "urn:x", "integrity_ref": "sha256:x"},
    }
    assert remainder(envelope) == {
        "version_id": "ver:1",
        "provenance": {"activity": "noted", "source_ref": "urn:x"},
    }


def test_a_stub_in_a_pack_stands_for_the_version_that_it_names(layout: ScopeLayout) -> None:
    lines = pack_of(layout).read_bytes().splitlines()
    pack_of(layout).write_bytes(b"\n".join([lines[0], stub(3), lines[2]]) + b"\n")
    versions = Versions(layout)
    erased = versions.find(version(3).address)
    assert erased is not None
    assert erased.erased
    assert erased.envelope == {"object_id": "mem:3"}
    for number in (2, 4):
        stored = versions.find(version(number).address)
        assert stored is not None
        assert versions.read(stored) == version(number).data


# Packing


def test_a_version_that_moved_into_a_pack_is_still_read(layout: ScopeLayout) -> None:
    stored = Versions(layout).find(version(1).address)
    assert stored is not None
    versions = Versions(layout)
    (layout.packs / f"{'ab' * 32}.jsonl").write_bytes(version(1).data + b"\n")
    layout.version_file(version(1).address).unlink()
    assert versions.read(stored) == version(1).data


def test_a_version_whose_pack_was_replaced_is_still_read(layout: ScopeLayout) -> None:
    versions = Versions(layout)
    stored = versions.find(version(4).address)
    assert stored is not None
    old = pack_of(layout)
    (layout.packs / f"{'cd' * 32}.jsonl").write_bytes(version(4).data + b"\n")
    old.unlink()
    assert versions.read(stored) == version(4).data


def test_what_is_no_pack_is_passed_over(layout: ScopeLayout) -> None:
    sealed = version(7)
    for name in ("notes.txt", f"{'a' * 64}.json", f".{'a' * 64}.jsonl.7-0.new", "b.jsonl"):
        (layout.packs / name).write_bytes(sealed.data + b"\n")
    assert Versions(layout).find(sealed.address) is None


@pytest.mark.parametrize(
    "line", [b"", b"null", b"[]", b"{", b"\xff", b'{"erased":7}', b'{"erased":{}}']
)
def test_a_bad_line_in_a_pack_costs_no_other_line(layout: ScopeLayout, line: bytes) -> None:
    pack_of(layout).write_bytes(line + b"\n" + version(3).data + b"\n" + version(4).data)
    stored = Versions(layout).find(version(3).address)
    assert stored is not None
    assert stored.envelope == version(3).envelope
    assert Versions(layout).find(version(4).address) is not None  # though its newline is gone


def test_a_scope_without_packs(layout: ScopeLayout) -> None:
    # Folders that are empty do not survive git.
    pack_of(layout).unlink()
    layout.packs.rmdir()
    assert Versions(layout).find(version(2).address) is None
    assert Versions(layout).find(version(1).address) is not None
