"""Trust of versions, derived from their signatures and a trust snapshot alone."""

from pathlib import Path
from typing import Any

import cbor2
import pytest

from pamctl.crypto.keys import PrivateKey
from pamctl.crypto.version_signatures import sign, verify_and_countersign
from pamctl.encoding.canonical import canonical
from pamctl.projection.profiles.pam import PamProfile
from pamctl.projection.profiles.pam_trust import KnownKeys, read_snapshot, trust_snapshot
from pamctl.projection.source import SourceRefused
from pamctl.store.keyring import Keyring
from tests.unit.test_projection_pam_profile import SALT, envelope, frames

OWNER, AUTHOR, STRANGER = (PrivateKey.from_seed(bytes([n]) * 32) for n in (1, 2, 3))
BEFORE, NOW, AFTER = (f"2026-08-0{day}T09:00:00.000000Z" for day in (2, 3, 4))
HEAD = "ab" * 32


def raw_id(key: PrivateKey) -> bytes:
    return bytes.fromhex(key.public.key_id)


SNAPSHOT = trust_snapshot(raw_id(OWNER), [raw_id(AUTHOR)], HEAD, 7)


def signed(key: PrivateKey, **members: Any) -> bytes:
    bare = envelope(**members)
    return canonical({"envelope": {**bare, "integrity": sign(bare, key)}, "salt": SALT})


def kept(author: PrivateKey, custodian: PrivateKey) -> bytes:
    here = envelope(scope_id="workspace:here")
    integrity = verify_and_countersign(signed(author), here, custodian)
    return canonical({"envelope": {**here, "integrity": integrity}, "salt": SALT})


def found(source: bytes, snapshot: bytes | None = SNAPSHOT) -> tuple[Any, ...]:
    opened = PamProfile().open(source, snapshot)
    assert opened is not None
    native = opened.native
    return (
        native["derived_trust"],
        native["authorship"],
        native["author_key_id_b64u"],
        native["custody_present"],
    )


UNSIGNED = canonical({"envelope": envelope(), "salt": SALT})


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        (UNSIGNED, ("unverified", "unknown", None, False)),
        (signed(OWNER), ("self", "signed", OWNER, False)),
        (signed(AUTHOR), ("trusted", "signed", AUTHOR, False)),
        (signed(STRANGER), ("unverified", "unknown", None, False)),
        (kept(OWNER, OWNER), ("self", "attested", OWNER, True)),
        (kept(AUTHOR, OWNER), ("trusted", "attested", AUTHOR, True)),
        (kept(STRANGER, OWNER), ("unverified", "unknown", None, True)),
        (kept(AUTHOR, AUTHOR), ("unverified", "unknown", None, False)),
        (kept(OWNER, STRANGER), ("unverified", "unknown", None, False)),
    ],
)
def test_labels_are_those_of_the_table(source: bytes, labels: tuple[Any, ...]) -> None:
    trust, authorship, author, custody = labels
    author = author and author.public.key_id_b64u
    assert found(source) == (trust, authorship, author, custody)


def test_the_label_stands_in_the_frame() -> None:
    opened = PamProfile().open(signed(AUTHOR), SNAPSHOT)
    assert opened is not None
    (header, _), *_ = frames(opened.fragment.decode())
    assert header.startswith(
        f"trust=trusted authorship=signed author_key={AUTHOR.public.key_id_b64u} custody=false "
    )


def test_a_signed_version_needs_the_snapshot_and_an_unsigned_one_does_not() -> None:
    assert PamProfile().open(signed(OWNER), None) is None
    assert found(UNSIGNED, None) == ("unverified", "unknown", None, False)
    nobody = trust_snapshot(None, [], HEAD, 7)
    assert found(signed(OWNER), nobody) == ("unverified", "unknown", None, False)


def test_a_signature_that_does_not_hold_is_refused() -> None:
    forged = signed(OWNER).replace(b"Tea is at four.", b"Tea is at five.")
    for snapshot in (SNAPSHOT, None):
        with pytest.raises(SourceRefused) as refused:
            PamProfile().open(forged, snapshot)
        assert refused.value.reason == "authentication_failed"


def test_integrity_of_another_kind_proves_nothing() -> None:
    source = canonical(
        {"envelope": envelope(integrity={"digest": "x", "algorithm": "sha"}), "salt": SALT}
    )
    assert found(source) == ("unverified", "unknown", None, False)


@pytest.mark.parametrize(
    "snapshot",
    [
        b"",
        b"\xff",
        SNAPSHOT[:-1],
        SNAPSHOT + b"\0",
        cbor2.dumps({1: b"", 2: [], 3: bytes(32)}),
        cbor2.dumps({1: b"", 2: [], 3: bytes(32), 4: 7, 5: 0}),
        cbor2.dumps({1: b"", 2: [], 3: bytes(32), 4: 7, 5: []}),
        cbor2.dumps({1: b"", 2: [], 3: bytes(32), 4: 7, 5: [b"short"]}),
        cbor2.dumps({1: b"o" * 8, 2: [], 3: bytes(32), 4: 7, 5: [b"o" * 8]}),
        cbor2.dumps({1: b"", 2: [], 3: bytes(32), 4: 7, 6: [b"a" * 8]}),
        cbor2.dumps({1: b"short", 2: [], 3: bytes(32), 4: 7}),
        cbor2.dumps({1: b"", 2: [b"short"], 3: bytes(32), 4: 7}),
        cbor2.dumps({1: b"", 2: [b"b" * 8, b"a" * 8], 3: bytes(32), 4: 7}),
        cbor2.dumps({1: b"", 2: [b"a" * 8, b"a" * 8], 3: bytes(32), 4: 7}),
        cbor2.dumps({1: b"", 2: [], 3: bytes(31), 4: 7}),
        cbor2.dumps({1: b"", 2: [], 3: bytes(32), 4: -1}),
        cbor2.dumps({1: b"", 2: [], 3: bytes(32), 4: True}),
        cbor2.dumps({1: b"", 2: [], 3: bytes(32), 4: 7.0}),
        cbor2.dumps([1, 2]),
        b"\x81" * 5000,
    ],
)
def test_a_snapshot_that_is_none_is_refused(snapshot: bytes) -> None:
    with pytest.raises(SourceRefused, match="trust snapshot"):
        read_snapshot(snapshot)
    with pytest.raises(SourceRefused):
        PamProfile().open(signed(OWNER), snapshot)


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    return Keyring(tmp_path / "keys")


def test_a_keyring_says_whose_signatures_count(keyring: Keyring) -> None:
    def add(name: str, seed: int, **how: Any) -> bytes:
        record = keyring.generate(name, seed=bytes([seed]) * 32, now=BEFORE, **how)
        return bytes.fromhex(record["key_id"])

    adapter = add("adapter", 10)
    first = add("owner", 11, actor_id="actor:local:me", owner=True)
    agent = add("agent", 12, actor_id="actor:local:agent")
    leaked = add("leaked", 13, actor_id="actor:local:leaky")
    keyring.trust(AUTHOR.public, "author", now=NOW)
    keyring.trust(STRANGER.public, "adapter", now=NOW)
    keyring.revoke("agent", now=NOW)
    keyring.revoke("leaked", now=NOW, compromised=True)
    known = KnownKeys(keyring)
    assert known.owner_key_id == first
    assert known.accepted_key_ids == sorted([agent, raw_id(AUTHOR)])
    assert adapter not in known.accepted_key_ids
    assert leaked not in known.accepted_key_ids
    # A new key of the owner's is the owner's, and the old one still counts.
    keyring.revoke("owner", now=NOW)
    second = bytes.fromhex(
        keyring.generate("new", seed=b"\x0e" * 32, now=NOW, owner=True)["key_id"]
    )
    known = KnownKeys(keyring)
    assert known.owner_key_id == second
    assert first in known.accepted_key_ids


def producing(keyring: Keyring, source: bytes) -> str:
    known = KnownKeys(keyring)
    snapshot = trust_snapshot(
        known.owner_key_id, known.accepted_key_ids, HEAD, 7, known.earlier_owner_key_ids
    )
    opened = PamProfile(known).open(source, snapshot)
    assert opened is not None
    # Whoever verifies without the keyring finds the same.
    verified = PamProfile().open(source, snapshot)
    assert verified == opened
    return opened.native["derived_trust"]


def test_a_revoked_key_counts_for_what_it_signed_before(keyring: Keyring) -> None:
    keyring.trust(AUTHOR.public, "author", now=BEFORE)
    assert producing(keyring, signed(AUTHOR, committed_at=AFTER)) == "trusted"
    keyring.revoke(AUTHOR.public.key_id, now=AFTER, at=NOW)
    assert producing(keyring, signed(AUTHOR, committed_at=BEFORE)) == "trusted"
    for late in (NOW, AFTER):
        with pytest.raises(SourceRefused) as refused:
            producing(keyring, signed(AUTHOR, committed_at=late))
        assert refused.value.reason == "authentication_failed"
    keyring.revoke(AUTHOR.public.key_id, now=AFTER, compromised=True)
    for whenever in (BEFORE, AFTER):
        assert producing(keyring, signed(AUTHOR, committed_at=whenever)) == "unverified"


def test_a_key_counts_within_its_validity(keyring: Keyring) -> None:
    keyring.trust(AUTHOR.public, "author", now=NOW, valid_from=NOW, valid_to=NOW)
    assert producing(keyring, signed(AUTHOR, committed_at=NOW)) == "trusted"
    for outside in (BEFORE, AFTER):
        with pytest.raises(SourceRefused, match="did not count"):
            producing(keyring, signed(AUTHOR, committed_at=outside))


def test_a_key_of_ones_own_counts_whatever_the_clock_said(keyring: Keyring) -> None:
    keyring.add("owner", OWNER, now=NOW, owner=True)
    assert producing(keyring, signed(OWNER, committed_at=BEFORE)) == "self"


def test_a_key_that_imitates_one_that_counts_is_refused(keyring: Keyring) -> None:
    """Ids are eight bytes: whoever finds another key with one of them gains nothing here."""
    keyring.trust(AUTHOR.public, "author", now=NOW)
    imitated = trust_snapshot(raw_id(OWNER), [raw_id(AUTHOR)], HEAD, 7)
    profile = PamProfile(KnownKeys(keyring))
    for source in (signed(OWNER), kept(AUTHOR, OWNER)):
        with pytest.raises(SourceRefused, match="imitates"):
            profile.open(source, imitated)
    assert profile.open(signed(AUTHOR), imitated) is not None


def test_an_earlier_key_of_the_owner_still_vouches(keyring: Keyring) -> None:
    """What was imported under it stays attested when a newer key takes its place, until it is
    revoked: nothing says when it countersigned."""
    keyring.add("owner", OWNER, now=BEFORE, owner=True)
    keyring.trust(AUTHOR.public, "author", now=BEFORE)
    imported = kept(AUTHOR, OWNER)
    alone = KnownKeys(keyring)
    assert alone.earlier_owner_key_ids == []
    assert producing(keyring, imported) == "trusted"
    keyring.generate("newer", seed=b"\x0e" * 32, now=NOW, owner=True)
    assert KnownKeys(keyring).earlier_owner_key_ids == [raw_id(OWNER)]
    assert producing(keyring, imported) == "trusted"
    keyring.revoke("owner", now=AFTER)
    assert KnownKeys(keyring).earlier_owner_key_ids == []
    assert producing(keyring, imported) == "unverified"


def test_an_earlier_owner_vouches_by_the_snapshot_alone() -> None:
    others = [raw_id(AUTHOR), raw_id(OWNER)]
    newer = raw_id(STRANGER)
    with_it = trust_snapshot(newer, others, HEAD, 7, [raw_id(OWNER)])
    without = trust_snapshot(newer, others, HEAD, 7)
    assert found(kept(AUTHOR, OWNER), with_it) == (
        "trusted",
        "attested",
        AUTHOR.public.key_id_b64u,
        True,
    )
    assert found(kept(AUTHOR, OWNER), without) == ("unverified", "unknown", None, False)
    # An accepted author is no custodian.
    assert found(kept(OWNER, AUTHOR), with_it) == ("unverified", "unknown", None, False)
