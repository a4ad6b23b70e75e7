"""The keys of a store: made once, private ones kept private, public ones believed with care."""

import stat
from pathlib import Path

import pytest

from pamctl.crypto.keys import PrivateKey
from pamctl.encoding.canonical import canonical
from pamctl.errors import InvalidRequest, ObjectNotFound, ServiceUnavailable, StoreDamaged
from pamctl.store import files
from pamctl.store.key_records import bindings
from pamctl.store.keyring import Keyring
from tests.projections import KEY, OTHER_KEY

NOW = "2026-08-03T09:00:00Z"
LATER = "2026-08-04T09:00:00Z"
SEED = bytes(range(32))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "keys"


@pytest.fixture
def keyring(folder: Path) -> Keyring:
    return Keyring(folder)


def test_a_key_is_two_files(keyring: Keyring, folder: Path) -> None:
    record = keyring.generate("laptop", seed=SEED, now=NOW, actor_id="actor:local:me")
    assert {path.name for path in folder.iterdir()} == {"laptop.json", "laptop.pem"}
    assert stat.S_IMODE((folder / "laptop.pem").stat().st_mode) == 0o600
    public = PrivateKey.from_seed(SEED).public
    assert record == {
        "key_id": public.key_id,
        "public_key_spki_b64u": public.spki_b64u,
        "actor_id": "actor:local:me",
        "status": "active",
        "valid_from": NOW,
        "valid_to": None,
        "created_at": NOW,
    }
    assert (folder / "laptop.json").read_bytes() == canonical(record) + b"\n"
    assert keyring.show("laptop") == record
    assert keyring.own() == {"laptop": record}
    assert keyring.private("laptop").public == public


def test_a_key_whose_record_cannot_be_written_is_not_made(
    keyring: Keyring, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_new = files.create_new

    def failing(path: Path, data: bytes, **more: int) -> None:
        if path.suffix == ".json":
            raise ServiceUnavailable("the device failed")
        create_new(path, data, **more)

    monkeypatch.setattr(files, "create_new", failing)
    with pytest.raises(ServiceUnavailable):
        keyring.generate("laptop", seed=SEED, now=NOW)
    monkeypatch.undo()
    assert list(folder.iterdir()) == []
    assert keyring.generate("laptop", seed=SEED, now=NOW)["status"] == "active"


def test_half_a_key_is_forgotten_and_a_whole_one_is_not(keyring: Keyring, folder: Path) -> None:
    keyring.forget_unfinished("laptop")
    keyring.generate("laptop", seed=SEED, now=NOW)
    keyring.forget_unfinished("laptop")
    assert keyring.private("laptop").public == PrivateKey.from_seed(SEED).public
    (folder / "laptop.json").unlink()
    keyring.forget_unfinished("laptop")
    assert list(folder.iterdir()) == []


def test_a_private_key_is_never_in_its_record(keyring: Keyring, folder: Path) -> None:
    keyring.generate("laptop", seed=SEED, now=NOW)
    assert SEED.hex() not in (folder / "laptop.json").read_text()
    assert b"PRIVATE" not in (folder / "laptop.json").read_bytes()


def test_a_name_is_taken_once(keyring: Keyring, folder: Path) -> None:
    keyring.generate("laptop", seed=SEED, now=NOW)
    before = (folder / "laptop.pem").read_bytes()
    with pytest.raises(InvalidRequest, match="taken"):
        keyring.generate("laptop", seed=bytes(32), now=NOW)
    assert (folder / "laptop.pem").read_bytes() == before
    # What an interrupted generation left behind is not overwritten either.
    (folder / "half.pem").write_bytes(b"")
    (folder / "other.json").write_bytes(b"")
    for name in ("half", "other"):
        with pytest.raises(InvalidRequest, match="taken"):
            keyring.generate(name, seed=SEED, now=NOW)
    assert not (folder / "other.pem").exists()


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "a b", "a" * 65, "é\n"])
def test_a_name_is_no_path(keyring: Keyring, name: str) -> None:
    for use in (keyring.show, keyring.private):
        with pytest.raises(InvalidRequest, match="no name for a key"):
            use(name)
    with pytest.raises(InvalidRequest, match="no name for a key"):
        keyring.generate(name, seed=SEED, now=NOW)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666])
def test_a_private_key_that_others_reach_is_not_used(
    keyring: Keyring, folder: Path, mode: int
) -> None:
    keyring.generate("laptop", seed=SEED, now=NOW)
    (folder / "laptop.pem").chmod(mode)
    with pytest.raises(InvalidRequest, match="others can read or write") as refused:
        keyring.private("laptop")
    assert "chmod 600" in refused.value.details["hint"]
    (folder / "laptop.pem").chmod(0o400)
    keyring.private("laptop")


def test_a_private_key_is_no_link(keyring: Keyring, folder: Path) -> None:
    keyring.generate("laptop", seed=SEED, now=NOW)
    (folder / "laptop.pem").rename(folder / "elsewhere")
    (folder / "laptop.pem").symlink_to(folder / "elsewhere")
    with pytest.raises(InvalidRequest, match="cannot be read"):
        keyring.private("laptop")


def test_a_private_key_belongs_to_its_record(keyring: Keyring, folder: Path) -> None:
    keyring.generate("laptop", seed=SEED, now=NOW)
    keyring.generate("phone", seed=bytes(32), now=NOW)
    (folder / "laptop.pem").write_bytes((folder / "phone.pem").read_bytes())
    with pytest.raises(StoreDamaged, match="not the private key"):
        keyring.private("laptop")


def test_a_key_that_is_not_there_names_those_that_are(keyring: Keyring) -> None:
    with pytest.raises(ObjectNotFound) as missing:
        keyring.private("laptop")
    assert "pamctl key generate laptop" in missing.value.details["hint"]
    keyring.generate("phone", seed=SEED, now=NOW)
    with pytest.raises(ObjectNotFound) as missing:
        keyring.show("laptop")
    assert "phone" in missing.value.details["hint"]


def test_others_keys_are_trusted_by_role(keyring: Keyring, folder: Path) -> None:
    record = keyring.trust(KEY.public, "adapter", now=NOW, adapter_id="urn:x:a", valid_to=LATER)
    keyring.trust(OTHER_KEY.public, "author", now=NOW, actor_id="actor:x:y")
    assert keyring.trusted("adapter") == {KEY.public.key_id: record}
    assert list(keyring.trusted("author")) == [OTHER_KEY.public.key_id]
    assert keyring.show(KEY.public.key_id) == record
    assert list(folder.iterdir()) == [folder / "trusted"]
    assert keyring.own() == {}
    keyring.trust(KEY.public, "author", now=LATER)
    assert keyring.trusted("adapter")[KEY.public.key_id]["roles"] == ["adapter", "author"]


def test_another_role_takes_nothing_away(keyring: Keyring) -> None:
    keyring.trust(
        KEY.public, "author", now=NOW, actor_id="actor:x:y", valid_from=NOW, valid_to=LATER
    )
    keyring.trust(KEY.public, "adapter", now=LATER, adapter_id="urn:x:a")
    again = keyring.trust(KEY.public, "author", now=LATER)
    assert (again["actor_id"], again["adapter_id"]) == ("actor:x:y", "urn:x:a")
    assert (again["valid_from"], again["valid_to"]) == (NOW, LATER)
    assert keyring.show(KEY.public.key_id) == again


def test_a_key_is_bound_to_what_an_actor_can_be_called(keyring: Keyring, folder: Path) -> None:
    for actor_id in ("me", "bad actor", "actor:", "actor:" + "x" * 600):
        with pytest.raises(InvalidRequest, match="no identifier of an actor"):
            keyring.generate("laptop", seed=SEED, now=NOW, actor_id=actor_id)
        with pytest.raises(InvalidRequest, match="no identifier of an actor"):
            keyring.trust(KEY.public, "author", now=NOW, actor_id=actor_id)
    assert not folder.exists()


def test_a_record_is_not_made_longer_than_one_is_read(keyring: Keyring) -> None:
    made = keyring.generate("laptop", seed=SEED, now=NOW)
    with pytest.raises(InvalidRequest, match="KEY_RECORD_BYTES_MAX"):
        keyring.revoke("laptop", now=LATER, reason="r" * 70_000)
    assert keyring.show("laptop") == made


def test_no_key_ends_before_it_begins(keyring: Keyring, folder: Path) -> None:
    with pytest.raises(InvalidRequest, match="cannot end at"):
        keyring.generate("laptop", seed=SEED, now=LATER, valid_to=NOW)
    with pytest.raises(InvalidRequest, match="cannot end at"):
        keyring.trust(KEY.public, "author", now=NOW, valid_from=LATER, valid_to=NOW)
    assert not folder.exists()


def test_a_revoked_key_stays_revoked(keyring: Keyring) -> None:
    keyring.generate("laptop", seed=SEED, now=NOW)
    record = keyring.revoke("laptop", now=LATER, reason="lost")
    assert (record["status"], record["revoked_at"], record["reason"]) == ("revoked", LATER, "lost")
    again = keyring.revoke("laptop", now="2027-01-01T00:00:00Z", compromised=True)
    assert (again["status"], again["revoked_at"]) == ("compromised", LATER)
    assert keyring.revoke("laptop", now=LATER)["status"] == "compromised"
    assert keyring.show("laptop")["status"] == "compromised"

    keyring.trust(KEY.public, "adapter", now=NOW)
    keyring.revoke(KEY.public.key_id, now=LATER)
    assert keyring.show(KEY.public.key_id)["status"] == "revoked"
    with pytest.raises(InvalidRequest, match="cannot be trusted again"):
        keyring.trust(KEY.public, "adapter", now=LATER)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"status":"active"', b'"status":"good"'),
        (b'"status":"active"', b'"status":"active","status":"active"'),
        (b'"key_id":"', b'"key_id":"0'),
        (b'"valid_to":null', b'"valid_to":5'),
        (b'"valid_to":null,', b""),
        (b"{", b"["),
        (b'"created_at":', b'"created":'),
    ],
)
def test_a_record_that_was_altered_is_not_believed(
    keyring: Keyring, folder: Path, old: bytes, new: bytes
) -> None:
    keyring.generate("laptop", seed=SEED, now=NOW)
    record = folder / "laptop.json"
    text = record.read_bytes()
    if old == b'"valid_to":null,':
        text = text.replace(b',"valid_to":null', b"")
    record.write_bytes(text.replace(old, new))
    with pytest.raises(StoreDamaged, match=r"laptop\.json"):
        keyring.show("laptop")


def test_a_folder_of_too_many_keys_is_not_looked_through(
    keyring: Keyring, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        keyring.generate(f"key{number}", seed=bytes([number]) * 32, now=NOW)
    monkeypatch.setattr("pamctl.store.key_records.KEY_RECORDS_MAX", 3)
    assert len(keyring.own()) == 3
    monkeypatch.setattr("pamctl.store.key_records.KEY_RECORDS_MAX", 2)
    with pytest.raises(StoreDamaged, match="KEY_RECORDS_MAX"):
        keyring.own()


def test_bindings_are_found_without_a_look_at_the_keys(keyring: Keyring, folder: Path) -> None:
    keyring.generate("me", seed=SEED, now=NOW, actor_id="actor:local:me")
    keyring.trust(KEY.public, "author", now=NOW, actor_id="actor:local:you")
    keyring.trust(OTHER_KEY.public, "adapter", now=NOW, actor_id="actor:local:it")
    (folder / "broken.json").write_bytes(b"{")
    (folder / "link.json").symlink_to(folder / "me.json")
    (folder / "folder.json").mkdir()
    assert [one.name for one in bindings(folder, "actor:local:me")] == ["me"]
    assert [one.name for one in bindings(folder, "actor:local:you")] == [None]
    assert bindings(folder, "actor:local:it") == []
    assert bindings(folder, "actor:local:m") == []
    assert bindings(folder / "nowhere", "actor:local:me") == []
    # A record that speaks of the actor and is broken must not unbind him.
    (folder / "me.json").write_bytes(b'{"actor_id":"actor:local:me"}')
    with pytest.raises(StoreDamaged):
        bindings(folder, "actor:local:me")
