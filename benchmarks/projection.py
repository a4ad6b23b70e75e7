"""What projections cost, against the cryptography that they cannot do without.

    python -m benchmarks.projection [ROUNDS]

- Envelope verification of many records, canonical and not, a record, against a bare loop of
  Ed25519 verifications by `cryptography` over the same bytes.
- Full verification of a projection of 1 MB, of 100 and of 1,000 entries, from material in
  memory, against bare SHA-256 of everything that MPR §8 has a verifier hash (request, policy,
  trust snapshot, each source object, each fragment, the projection) and one Ed25519
  verification. Once with the native results that the relying party found itself, and once with
  sources that the verifier opens itself by pamctl's own source profile, which is no hashing.
- Making a record over 1,000 delivered versions of a store, selection, framing and signature
  included, against reading them and hashing them: of each its place is looked up in the index by
  its id, its file is opened, read and closed, and its SHA-256 compared with the index's. Again
  against a peer that is told the names of the files, and looks nothing up or compares; and with
  signed versions, where the peer verifies the signature of each as well.

Processor time, user's and system's, the least of all rounds: neither what waits for a disk nor
what other programs do counts on either side.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pamctl
from benchmarks.measure import HEADER, Comparison
from pamctl.encoding import base64url
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digests
from pamctl.projection import Materials, Verifier, project, store_policy
from pamctl.projection.produce import Projection
from pamctl.projection.profiles.pam import PamProfile
from pamctl.projection.record import NativeResult, signing_bytes
from pamctl.projection.source import OpenedSource, open_all
from pamctl.store.keyring import Keyring

SCOPE = "workspace:default"
ACTOR = {"actor_id": "actor:local:bench", "actor_kind": "human"}
KEY = "bench"
RECORDS = 500
TEXT = "Tea is at four, milk first, and nobody minds the rain. "


def in_turn(
    ours: Callable[[], object], peer: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """The least processor time of each, in seconds, run alternately: what a processor takes that
    nobody else keeps busy. The first rounds warm up."""
    least = [float("inf")] * 2
    for _ in range(rounds + 2):
        for which, call in enumerate((ours, peer)):
            start = time.process_time()
            call()
            least[which] = min(least[which], time.process_time() - start)
    return least[0], least[1]


def store_of(folder: Path, memories: int, content_bytes: int, *, signed: bool = False) -> Any:
    """A store with that many memories, each in a file of its own, and a key, which signs them
    where that is asked for."""
    store = pamctl.init_store(folder / ".pam")
    bound: dict[str, Any] = {"actor_id": ACTOR["actor_id"], "owner": True} if signed else {}
    Keyring(store.layout.keys).generate(
        KEY, seed=bytes(range(32)), now="2026-01-01T00:00:00Z", **bound
    )
    text = (TEXT * (content_bytes // len(TEXT) + 1))[:content_bytes]
    for number in range(memories):
        store.create(
            scope_id=SCOPE,
            object_type="claim",
            canonical_content=f"{number:06} {text}",
            actor=ACTOR,
            provenance={"activity": "observed", "source_ref": "urn:bench"},
            validation_state="corroborated",
        )
    return store


def made(store: Any) -> Projection:
    return project(
        store, scope_id=SCOPE, actor=ACTOR, request=b"when is tea?", policy=b"{}", key=KEY
    )


def bare_key(store: Any) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    raw = Keyring(store.layout.keys).private(KEY).public.raw
    return Ed25519PublicKey.from_public_bytes(raw)


def envelopes(store: Any, entries: int, rounds: int) -> list[Comparison]:
    """Records of that many entries each, as an agent makes them turn after turn."""
    records = [made(store) for _ in range(RECORDS)]
    verifier = verifier_for(store, records[-1])
    key = bare_key(store)
    signed = [
        (base64url.decode(one.record["proof"]["signature_b64u"]), signing_bytes(one.record))
        for one in records
    ]

    def bare() -> None:
        for signature, data in signed:
            key.verify(signature, data)

    found = []
    spellings = {
        "canonical": [one.record_text for one in records],
        "indented": [spread(one.record) for one in records],
    }
    for spelling, texts in spellings.items():

        def ours(texts: list[bytes] = texts) -> None:
            for text in texts:
                assert verifier.verify(text)["valid"]

        ours_sec, bare_sec = in_turn(ours, bare, rounds)
        found.append(
            Comparison(
                f"envelope of {entries} entries, {spelling} / bare Ed25519 verification",
                ours_sec / RECORDS,
                bare_sec / RECORDS,
                "<= 1.4" if spelling == "canonical" else "",
            )
        )
    return found


def spread(record: dict[str, Any]) -> bytes:
    return json.dumps(record, indent=1).encode()


def verifier_for(store: Any, projection: Projection) -> Verifier:
    policy = store_policy(Keyring(store.layout.keys), store.config)
    return Verifier(
        policy._replace(max_projection_age_sec=86400, max_trust_age_sec=86400),
        at=projection.record["created_at"],
    )


def full(folder: Path, entries: int, rounds: int) -> list[Comparison]:
    """A projection of one megabyte in that many entries."""
    store = store_of(folder, entries, 1_000_000 // entries - 300)
    projection = made(store)
    assert len(projection.record["delivered"]) == entries
    assert 900_000 < len(projection.text) < 1_100_000
    opened = materials(projection, None)
    given = materials(projection, native_results(projection))
    verifier, key = verifier_for(store, projection), bare_key(store)
    text = projection.record_text
    signature = base64url.decode(projection.record["proof"]["signature_b64u"])
    signed = signing_bytes(projection.record)

    def bare() -> None:
        for piece in (projection.request, projection.policy, projection.trust_snapshot):
            sha256(piece).digest()
        for piece in projection.sources:
            sha256(piece).digest()
        for piece in projection.fragments:
            sha256(piece).digest()
        sha256(projection.text).digest()
        key.verify(signature, signed)

    found = []
    for what, material, target in (
        ("native results given", given, "<= 1.5"),
        ("sources opened by the pam profile", opened, ""),
    ):

        def ours(material: Materials = material) -> None:
            verdict = verifier.verify(text, material)
            assert verdict["valid"], verdict

        ours_sec, bare_sec = in_turn(ours, bare, rounds)
        name = f"full, 1 MB in {entries} entries, {what} / bare hashing and verification"
        found.append(Comparison(name, ours_sec, bare_sec, target))
    return found


def materials(projection: Projection, results: list[NativeResult | None] | None) -> Materials:
    return Materials(
        request=projection.request,
        policy=projection.policy,
        trust_snapshot=projection.trust_snapshot,
        projection=projection.text,
        sources=projection.sources,
        fragments=projection.fragments,
        native_results=results,
    )


def native_results(projection: Projection) -> list[NativeResult | None]:
    """What a relying party finds that opens the source objects itself."""
    digests = sha256_digests(projection.sources)
    found = open_all(PamProfile(), projection.sources, digests, projection.trust_snapshot)
    return [one.native if isinstance(one, OpenedSource) else None for one in found]


def producing(folder: Path, memories: int, rounds: int) -> Iterator[Comparison]:
    """From a warm store: the selection by index, every version opened, framed and hashed."""
    store = store_of(folder, memories, 400)
    projection = made(store)
    assert len(projection.record["delivered"]) == memories
    for what, peer, target in (
        ("finding, reading and hashing them", find_and_read(store, projection), "<= 1.5"),
        ("reading and hashing files of known names", read_named(store, projection), ""),
    ):
        ours_sec, peer_sec = in_turn(lambda: made(store), peer, rounds)
        yield Comparison(f"a record over {memories} versions / {what}", ours_sec, peer_sec, target)


def producing_signed(folder: Path, memories: int, rounds: int) -> Comparison:
    """As `producing`, over versions that are signed as `pamctl init` makes them."""
    store = store_of(folder, memories, 400, signed=True)
    projection = made(store)
    bare = verifying(projection, bare_key(store), find_and_read(store, projection))
    ours_sec, bare_sec = in_turn(lambda: made(store), bare, rounds)
    name = f"a record over {memories} signed versions / finding, reading, hashing and verifying"
    return Comparison(f"{name} them", ours_sec, bare_sec, "")


def verifying(projection: Projection, key: Any, read: Callable[[], None]) -> Callable[[], None]:
    """`read`, and one Ed25519 verification for each version."""
    pairs = []
    for source in projection.sources:
        envelope = json.loads(source)["envelope"]
        integrity = envelope.pop("integrity")
        message = b"pamctl-version-signature-v1\0" + canonical(envelope)
        pairs.append((base64url.decode(integrity["signature"]), message))

    def bare() -> None:
        read()
        for signature, message in pairs:
            key.verify(signature, message)

    return bare


def find_and_read(store: Any, projection: Projection) -> Callable[[], None]:
    """One look-up by id and one file for each version, in the plainest way that there is."""
    names = [json.loads(source)["envelope"]["version_id"] for source in projection.sources]
    folder = store.open_scope(SCOPE).layout.versions
    (index,) = (store.layout.root / "index").glob("*.sqlite")
    database = sqlite3.connect(f"file:{index}?mode=ro", uri=True)
    place = "SELECT address, length FROM version WHERE version_id = ?"

    def read() -> None:
        for name in names:
            digest, length = database.execute(place, (name,)).fetchone()
            digits = digest.hex()
            file = os.open(f"{folder}/{digits[:2]}/{digits[2:]}.json", os.O_RDONLY | os.O_CLOEXEC)
            try:
                assert sha256(os.read(file, length)).digest() == digest
            finally:
                os.close(file)

    return read


def read_named(store: Any, projection: Projection) -> Callable[[], None]:
    """The files of the versions, named beforehand."""
    folder = store.open_scope(SCOPE).layout.versions
    digits = [sha256(source).hexdigest() for source in projection.sources]
    files = [f"{folder}/{one[:2]}/{one[2:]}.json" for one in digits]

    def read() -> None:
        for name in files:
            file = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
            try:
                sha256(os.read(file, 1 << 20)).digest()
            finally:
                os.close(file)

    return read


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        folder = Path(scratch)
        print(HEADER)
        for comparison in (
            *envelopes(store_of(folder / "three", 3, 200), 3, rounds),
            *envelopes(store_of(folder / "ten", 10, 200), 10, rounds),
            *full(folder / "hundred", 100, rounds),
            *full(folder / "thousand", 1000, rounds),
            *producing(folder / "producing", 1000, rounds),
            producing_signed(folder / "signed", 1000, rounds),
        ):
            print(comparison.row(), flush=True)


if __name__ == "__main__":
    main()
