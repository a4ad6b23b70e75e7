"""A bundle from a stranger is data: whatever is wrong with it, nothing of it is taken over, no
memory is filled by it, and the verdict names what was done to it."""

from __future__ import annotations

import hashlib
import io
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pamctl
from pamctl.audit.bundle import verify_bundle
from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import InvalidObject, PamError
from pamctl.limits import DEPTH_MAX, DOCUMENT_BYTES_MAX
from pamctl.model.bundles import COUNTED
from pamctl.service.store import Store
from tests.conftest import FixedClock, FixedEntropy

SCOPE = "workspace:default"
ACTOR = {"actor_id": "actor:local:owner", "actor_kind": "human"}
MEMORY_BYTES = 250 * 1024 * 1024


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A bundle with a bit of everything that can be tampered with."""
    path = tmp_path_factory.mktemp("origin") / ".pam"
    store = pamctl.init_store(path, clock=FixedClock(), entropy=FixedEntropy())
    made = [
        store.create(
            scope_id=SCOPE,
            object_id=f"mem:{name}",
            object_type="claim",
            canonical_content=name,
            actor=ACTOR,
            provenance={"activity": "noted"},
        )
        for name in ("tea", "coffee", "secret")
    ]
    store.redact(
        scope_id=SCOPE,
        object_id="mem:secret",
        expected_version_id=made[2]["version_id"],
        actor=ACTOR,
        policy_basis="policy:test",
        erase=True,
    )
    target = io.BytesIO()
    pamctl.export_bundle(store, target, actor=ACTOR)
    store.close()
    return target.getvalue()


@pytest.fixture
def store(tmp_path: Path) -> Any:
    return pamctl.init_store(tmp_path / ".pam")


def lines_of(bundle: bytes) -> list[bytes]:
    return bundle.splitlines()


def sealed(lines: list[bytes]) -> bytes:
    """Lines with the footer that they would have: whoever tampers can write that too."""
    counts = dict.fromkeys(COUNTED.values(), 0)
    for line in lines[1:]:
        for kind, name in COUNTED.items():
            counts[name] += line.startswith(b'{"%b":' % kind.encode())
    body = b"".join(line + b"\n" for line in lines)
    digest = hashlib.sha256(b"".join(_record(line) for line in lines)).hexdigest()
    footer = {"counts": counts, "digest": "sha256:" + digest}
    return body + canonical({"footer": footer}) + b"\n"


def _record(line: bytes) -> bytes:
    """As store-format/bundle.md has it, written down a second time."""
    name = line[2:].partition(b'"')[0]
    if name in (b"ledger", b"version", b"stub", b"embedding"):
        carried = line.partition(b":")[2][:-1]
    else:
        carried = line
        name = name if name in (b"scope", b"leaf") else b"header"
    return b"\n" + name + b" " + hashlib.sha256(carried).hexdigest().encode()


def refused(store: Store, bundle: bytes, scratch: Path) -> set[str]:
    """What a verdict finds in a bundle that must be refused, and leave no trace."""
    before = snapshot(store.path)
    with pytest.raises(PamError) as error:
        pamctl.import_bundle(store, io.BytesIO(bundle), actor=ACTOR)
    assert error.value.code in ("invalid_object", "invalid_request")
    assert snapshot(store.path) == before
    scratch.mkdir(exist_ok=True)
    verdict = verify_bundle(lambda: io.BytesIO(bundle), scratch)
    assert not verdict["valid"]
    json.dumps(verdict)
    return {finding["id"] for finding in verdict["findings"] if finding["severity"] != "notice"}


def snapshot(root: Path) -> dict[str, bytes]:
    """All files of a store but those that are derived or hold nothing."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "index" not in path.parts and path.name != "lock"
    }


def test_what_was_not_tampered_with_is_valid(bundle: bytes, store: Store, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    assert verify_bundle(lambda: io.BytesIO(bundle), tmp_path / "scratch")["valid"]
    assert sealed(lines_of(bundle)[:-1]) == bundle
    pamctl.import_bundle(store, io.BytesIO(bundle), actor=ACTOR)


Tamper = Callable[[list[bytes]], list[bytes]]


def _ledger(lines: list[bytes]) -> list[int]:
    return [number for number, line in enumerate(lines) if line.startswith(b'{"ledger":')]


def _versions(lines: list[bytes]) -> list[int]:
    return [number for number, line in enumerate(lines) if line.startswith(b'{"version":')]


def edit_a_version(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"coffee"', b'"poison"') for line in lines]


def edit_an_event(lines: list[bytes]) -> list[bytes]:
    at = _ledger(lines)[3]
    return [*lines[:at], lines[at].replace(b"actor:local", b"actor:other"), *lines[at + 1 :]]


def cut_the_end(lines: list[bytes]) -> list[bytes]:
    return lines[: _ledger(lines)[-2]]


def replay_a_line(lines: list[bytes]) -> list[bytes]:
    at = _versions(lines)[0]
    return [*lines[: at + 1], lines[at - 1], lines[at], *lines[at + 1 :]]


def swap_two_events(lines: list[bytes]) -> list[bytes]:
    one, other = _versions(lines)[:2]
    pairs = lines[one - 1 : one + 1], lines[other - 1 : other + 1]
    return [*lines[: one - 1], *pairs[1], *pairs[0], *lines[other + 1 :]]


def drop_a_line(lines: list[bytes]) -> list[bytes]:
    at = _ledger(lines)[1]
    return [*lines[:at], *lines[at + 1 :]]


def drop_a_version(lines: list[bytes]) -> list[bytes]:
    at = _versions(lines)[1]
    return [*lines[:at], *lines[at + 1 :]]


def take_another_version(lines: list[bytes]) -> list[bytes]:
    one, other = _versions(lines)[:2]
    return [*lines[:one], lines[other], *lines[one + 1 :]]


def bring_the_erased_back(lines: list[bytes]) -> list[bytes]:
    at = next(n for n, line in enumerate(lines) if line.startswith(b'{"stub":'))
    stub = json.loads(lines[at])["stub"]
    version = {"envelope": {**stub["envelope"], "canonical_content": "secret"}, "salt": "A" * 22}
    return [*lines[:at], canonical({"version": version}), *lines[at + 1 :]]


def forge_a_stub(lines: list[bytes]) -> list[bytes]:
    at = next(n for n, line in enumerate(lines) if line.startswith(b'{"stub":'))
    return [*lines[:at], lines[at].replace(b"object_type", b"object_type"[::-1]), *lines[at + 1 :]]


def withhold_the_erased(lines: list[bytes]) -> list[bytes]:
    """A stub that claims an erasure which never was."""
    at = _versions(lines)[0]
    version = lines[at].removeprefix(b'{"version":')[:-1]
    envelope = json.loads(version)["envelope"]
    kept = {name: member for name, member in envelope.items() if name != "canonical_content"}
    kept.pop("integrity", None)
    erased = {
        "address": sha256_digest(version),
        "event_id": "evt:1",
        "erased_at": "2026-01-01T00:00:00Z",
    }
    stub = canonical({"stub": {"envelope": kept, "erased": erased}})
    return [*lines[:at], stub, *lines[at + 1 :]]


def repeat_a_member(lines: list[bytes]) -> list[bytes]:
    at = _ledger(lines)[2]
    line = lines[at].replace(b'{"ledger":{', b'{"ledger":{"body":{},', 1)
    return [*lines[:at], line, *lines[at + 1 :]]


def hide_a_second_member(lines: list[bytes]) -> list[bytes]:
    at = _ledger(lines)[2]
    return [*lines[:at], lines[at][:-1] + b',"more":{}}', *lines[at + 1 :]]


def invalid_utf8(lines: list[bytes]) -> list[bytes]:
    at = _versions(lines)[0]
    return [*lines[:at], lines[at].replace(b'"tea"', b'"\xff\xfe"'), *lines[at + 1 :]]


def lone_surrogate(lines: list[bytes]) -> list[bytes]:
    at = _versions(lines)[0]
    return [*lines[:at], lines[at].replace(b'"tea"', b'"\\ud800"'), *lines[at + 1 :]]


def deep_nesting(lines: list[bytes]) -> list[bytes]:
    at = _versions(lines)[0]
    deep = b"[" * (DEPTH_MAX * 40) + b"]" * (DEPTH_MAX * 40)
    return [*lines[:at], lines[at].replace(b'"tea"', deep), *lines[at + 1 :]]


def gigantic_line(lines: list[bytes]) -> list[bytes]:
    at = _versions(lines)[0]
    huge = b'"' + b"a" * (DOCUMENT_BYTES_MAX + 100) + b'"'
    return [*lines[:at], lines[at].replace(b'"tea"', huge), *lines[at + 1 :]]


def line_of_no_kind(lines: list[bytes]) -> list[bytes]:
    return [*lines, b'{"key":"-----BEGIN PRIVATE KEY-----"}']


def _scope_id_of(value: str) -> Tamper:
    def tamper(lines: list[bytes]) -> list[bytes]:
        return [line.replace(SCOPE.encode(), value.encode()) for line in lines]

    tamper.__name__ = f"scope_{value}"
    return tamper


def scope_twice(lines: list[bytes]) -> list[bytes]:
    header = json.loads(lines[0])
    header["scopes"] *= 2
    return [canonical(header), *lines[1:], *lines[1:]]


def scope_unlisted(lines: list[bytes]) -> list[bytes]:
    return [*lines, b'{"scope":"workspace:unlisted"}']


def another_head(lines: list[bytes]) -> list[bytes]:
    header = json.loads(lines[0])
    header["scopes"][0]["head"] = "0" * 64
    return [canonical(header), *lines[1:]]


def another_store(lines: list[bytes]) -> list[bytes]:
    header = json.loads(lines[0])
    header["scopes"][0]["store_id"] = "store:another"
    return [canonical(header), *lines[1:]]


def newer_format(lines: list[bytes]) -> list[bytes]:
    return [lines[0].replace(b'"format_version":1', b'"format_version":2'), *lines[1:]]


TAMPERED: list[tuple[Tamper, str]] = [
    (edit_a_version, "version-altered"),
    (edit_an_event, "ledger-chain-broken"),
    (cut_the_end, "bundle-head-wrong"),
    (replay_a_line, "ledger-forked"),
    (swap_two_events, "ledger-reordered"),
    (drop_a_line, "ledger-chain-broken"),
    (drop_a_version, "version-missing"),
    (take_another_version, "version-altered"),
    (bring_the_erased_back, "version-altered"),
    (forge_a_stub, "stub-mismatch"),
    (withhold_the_erased, "erasure-without-authority"),
    (repeat_a_member, "ledger-member-repeated"),
    (hide_a_second_member, "ledger-line-not-json"),
    (invalid_utf8, "version-altered"),
    (lone_surrogate, "version-altered"),
    (deep_nesting, "version-altered"),
    (gigantic_line, "bundle-line-too-long"),
    (line_of_no_kind, "bundle-line-invalid"),
    (_scope_id_of("../../../etc:x"), "bundle-line-invalid"),
    (_scope_id_of("workspace:../../x"), "ledger-chain-broken"),
    (scope_twice, "bundle-line-invalid"),
    (scope_unlisted, "bundle-line-misplaced"),
    (another_head, "bundle-head-wrong"),
    (another_store, "ledger-wrong-scope"),
    (newer_format, "bundle-format-unknown"),
]


@pytest.mark.parametrize(
    ("tamper", "finding"), TAMPERED, ids=[tamper.__name__ for tamper, _ in TAMPERED]
)
def test_what_was_tampered_with_is_refused_and_named(
    bundle: bytes, store: Store, tmp_path: Path, tamper: Tamper, finding: str
) -> None:
    """With a footer that fits: only the ledgers and versions tell."""
    tampered = sealed(tamper(lines_of(bundle)[:-1]))
    assert finding in refused(store, tampered, tmp_path / "scratch")


@pytest.mark.parametrize(
    ("tamper", "finding"), TAMPERED[:8], ids=[tamper.__name__ for tamper, _ in TAMPERED[:8]]
)
def test_the_footer_tells_as_well(
    bundle: bytes, store: Store, tmp_path: Path, tamper: Tamper, finding: str
) -> None:
    *lines, footer = lines_of(bundle)
    tampered = b"".join(line + b"\n" for line in [*tamper(lines), footer])
    found = refused(store, tampered, tmp_path / "scratch")
    assert found & {"bundle-digest-wrong", "bundle-counts-wrong"}
    assert finding in found


def test_a_bundle_that_is_cut_anywhere_is_refused(
    bundle: bytes, store: Store, tmp_path: Path
) -> None:
    """At every line, and within every line."""
    before = snapshot(store.path)
    ends, at = [], 0
    for line in lines_of(bundle):
        ends += [at, at + len(line) // 2, at + len(line)]
        at += len(line) + 1
    scratch = tmp_path / "scratch"
    for end in ends:
        cut = bundle[:end]
        with pytest.raises(PamError):
            pamctl.import_bundle(store, io.BytesIO(cut), actor=ACTOR)
        work = scratch / str(end)
        work.mkdir(parents=True)
        found = verify_bundle(lambda cut=cut: io.BytesIO(cut), work)
        assert "bundle-cut" in found["counts"], end
    assert snapshot(store.path) == before


def test_what_stands_behind_the_footer_is_refused(
    bundle: bytes, store: Store, tmp_path: Path
) -> None:
    for more in (b"\n", b"x", bundle):
        found = refused(store, bundle + more, tmp_path / f"scratch-{len(more)}")
        assert "bundle-continued" in found


@pytest.mark.parametrize("data", [b"", b"\n", b"{}", b"\xff", b"[" * 100_000, b"PK\x03\x04zip"])
def test_what_is_no_bundle_is_refused(store: Store, tmp_path: Path, data: bytes) -> None:
    assert refused(store, data, tmp_path / "scratch")


def test_every_flipped_byte_is_noticed(bundle: bytes, tmp_path: Path, thorough: bool) -> None:
    """By the verdict, whatever the byte."""
    step = 1 if thorough else 97
    for number, at in enumerate(range(0, len(bundle), step)):
        flipped = bytearray(bundle)
        flipped[at] ^= 0x01
        work = tmp_path / str(number)
        work.mkdir()
        verdict = verify_bundle(lambda data=bytes(flipped): io.BytesIO(data), work)
        assert not verdict["valid"], at


def test_an_archive_that_was_made_to_fill_a_disk_is_refused(
    store: Store, tmp_path: Path, bundle: bytes
) -> None:
    zstandard = pytest.importorskip("zstandard")
    packing = zstandard.ZstdCompressor(level=19)
    zeros = packing.compress(bytes(64 * 1024 * 1024))
    assert len(zeros) < 10_000
    found = refused(store, zeros, tmp_path / "scratch-1")
    assert found & {"bundle-expansion-too-large", "bundle-line-too-long"}
    *lines, _ = lines_of(bundle)
    many = b"".join(line + b"\n" for line in lines) + b'{"scope":"workspace:default"}\n' * 5_000_000
    found = refused(store, packing.compress(many), tmp_path / "scratch-2")
    assert "bundle-expansion-too-large" in found


@pytest.mark.parametrize("damage", ["cut", "flipped", "twice"])
def test_a_compressed_bundle_that_is_damaged_is_refused(
    store: Store, tmp_path: Path, bundle: bytes, damage: str
) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(bundle))
    if damage == "cut":
        packed = packed[:-10]
    elif damage == "flipped":
        packed[len(packed) // 2] ^= 0xFF
    else:
        packed = packed * 2
    found = refused(store, bytes(packed), tmp_path / "scratch")
    assert found
    assert ("bundle-continued" in found) == (damage == "twice")


def test_a_window_that_asks_for_too_much_memory_is_refused(
    store: Store, tmp_path: Path, bundle: bytes
) -> None:
    zstandard = pytest.importorskip("zstandard")
    wide = zstandard.ZstdCompressionParameters.from_level(3, window_log=30, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    packed = packer.compress(bundle) + packer.flush()
    assert "bundle-compression-invalid" in refused(store, packed, tmp_path / "scratch")


def test_a_hostile_bundle_does_not_fill_the_memory(tmp_path: Path, bundle: bytes) -> None:
    """A line that never ends is given up, not held."""
    *lines, _ = lines_of(bundle)
    path = tmp_path / "endless.jsonl"
    with path.open("wb") as file:
        file.write(b"".join(line + b"\n" for line in lines) + b'{"ledger":"')
        file.truncate(2 * 1024 * 1024 * 1024)
    done = subprocess.run(
        [sys.executable, "-m", "pamctl", "verify-export", str(path)],
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_AS, (4 * MEMORY_BYTES, 4 * MEMORY_BYTES)
        ),
    )
    assert done.returncode == 11, done.stderr.decode()
    assert "bundle-line-too-long" in json.loads(done.stdout)["counts"]


def test_findings_of_a_hostile_bundle_are_bounded(tmp_path: Path, bundle: bytes) -> None:
    *lines, _ = lines_of(bundle)
    many = sealed([*lines, *[b'{"nothing":1}'] * 20_000])
    tmp_path.joinpath("scratch").mkdir()
    verdict = verify_bundle(lambda: io.BytesIO(many), tmp_path / "scratch")
    assert verdict["counts"]["bundle-line-invalid"] == 20_000
    assert len(verdict["findings"]) < 300


def test_an_import_refuses_what_a_schema_does_not_allow(bundle: bytes, store: Store) -> None:
    *lines, _ = lines_of(bundle)
    at = _ledger(lines)[0]
    entry = json.loads(lines[at])["ledger"]
    entry["body"]["colour"] = "green"
    with pytest.raises(InvalidObject) as error:
        pamctl.import_bundle(
            store,
            io.BytesIO(sealed([*lines[:at], canonical({"ledger": entry}), *lines[at + 1 :]])),
            actor=ACTOR,
        )
    assert error.value.details["line"] == at + 1
