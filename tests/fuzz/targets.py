"""What reads bytes that come from strangers, each with bytes to begin from.

A target is given any bytes. It may refuse them in the ways that its reader's documentation
names; any other exception is a defect, and so is an answer that claims more than was there.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pamctl
from pamctl.audit.bundle import verify_bundle
from pamctl.audit.disorder import Disorder
from pamctl.audit.facts import Facts
from pamctl.audit.findings import Findings
from pamctl.audit.ledger import read_ledger
from pamctl.audit.orderly_ledger import OrderlyLedger
from pamctl.audit.orderly_versions import OrderlyVersions
from pamctl.audit.pins import PinWatch
from pamctl.audit.records import Records
from pamctl.audit.signatures import SignatureCheck
from pamctl.audit.versions import VersionReader
from pamctl.encoding.digests import sha256_digest
from pamctl.errors import PamError
from pamctl.exchange.exporting import export_bundle
from pamctl.projection.reasons import REASONS
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import Ledger
from pamctl.store.records import START
from pamctl.store.versions import Versions
from tests.projections import Case, example

SCOPE = "workspace:default"
_HUMAN = {"actor_id": "actor:local:tester", "actor_kind": "human"}
_FIXED_NS = 1_767_225_600_000_000_000


@dataclass(frozen=True)
class Target:
    """seeds: valid inputs. read: takes any bytes; raises for a defect alone."""

    seeds: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], None]


class _Place:
    """A scope to put bytes into, and to take them out again."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pamctl-fuzz-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.root = self.folder / ".pam"
        ticks = iter(range(_FIXED_NS, 2**62, 1_000_000_000))
        draws = iter(range(1, 2**62))
        self.store = pamctl.init_store(
            self.root,
            clock=lambda: next(ticks),
            entropy=lambda count: next(draws).to_bytes(count, "big"),
        )
        given: dict[str, Any] = {
            "scope_id": SCOPE,
            "object_type": "claim",
            "actor": _HUMAN,
            "provenance": {"activity": "observed"},
        }
        made = self.store.create(
            **given, object_id="mem:a", canonical_content={"n": 1.5}, idempotency_key="key:a"
        )
        with self.store.group() as group:
            for name in ("b", "c"):
                content = {"text": f"naïve {name} \U0001f375"}
                request = {**given, "object_id": f"mem:{name}", "canonical_content": content}
                group.perform("create", request)
        named = {"object_id": "mem:a", "expected_version_id": made["version_id"]}
        erase = {"policy_basis": "asked", "erase": True}
        self.store.redact(scope_id=SCOPE, actor=_HUMAN, **named, **erase)
        self.layout: ScopeLayout = self.store.directory.scope(SCOPE)
        self.ledger = self.layout.ledger.read_bytes()
        (self.pack,) = self.layout.packs.iterdir()
        self.packed = self.pack.read_bytes()
        bundle = io.BytesIO()
        export_bundle(self.store, bundle)
        self.bundle = bundle.getvalue()

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """An empty folder."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    @contextlib.contextmanager
    def proving(self) -> Iterator[tuple[str, Records, Facts]]:
        """What a proof is made with; that there is none is no defect."""
        with (
            self.scratch() as folder,
            Records(folder, 2) as records,
            Facts(folder, 1) as facts,
            contextlib.suppress(Disorder),
        ):
            yield "folder", records, facts


def _orderly(folder: str, records: Records, facts: Facts) -> OrderlyVersions:
    named = (place().root, folder, SCOPE, {SCOPE: folder})
    return OrderlyVersions(*named, records, facts, SignatureCheck())


@cache
def place() -> _Place:
    """The scope, made once a process."""
    return _Place()


def read_a_ledger(data: bytes) -> None:
    """The store's reader and the checker's: what the one takes, the other has nothing against
    as far as its chain goes."""
    at = place()
    at.layout.ledger.write_bytes(data)
    taken = 0
    with contextlib.suppress(PamError):
        for transaction in Ledger(at.layout).transactions(START):
            assert transaction.after.offset <= len(data)
            taken = transaction.after.entries
    findings = Findings()
    scope = {"scope_id": SCOPE, "scope_kind": "workspace"}
    with at.scratch() as folder, Facts(folder, 1) as facts:
        state = read_ledger(
            at.layout.ledger,
            "ledger.jsonl",
            folder="folder",
            scope=scope,
            store_id=at.store.store_id,
            facts=facts,
            pins=PinWatch(()),
            findings=findings,
        )
    assert state.entries >= taken or findings.kept
    with at.proving() as (folder, records, facts):
        told = (folder, scope, at.store.store_id, records, facts, Findings())
        proven = OrderlyLedger("ledger.jsonl", *told).read(
            at.layout.ledger, len(data), PinWatch(())
        )
        assert proven == state
        assert not findings.kept


def read_a_pack(data: bytes) -> None:
    """A pack with these bytes: of what was there before, nothing is read but itself."""
    at = place()
    at.pack.write_bytes(data)
    versions = Versions(at.layout)
    for line in at.packed.splitlines():
        found = versions.find(sha256_digest(line))
        if found is not None and not found.erased:
            assert versions.read(found) == line
    findings = Findings()
    with at.scratch() as folder, Facts(folder, 1) as facts:
        VersionReader(at.root, "folder", SCOPE, facts, findings).read_pack(at.pack)
    with at.proving() as told:
        _orderly(*told).read_pack(at.pack)
        assert not findings.kept


def read_a_version(data: bytes) -> None:
    """A version file under the address that its bytes have."""
    at, address = place(), sha256_digest(data)
    file = at.layout.version_file(address)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    found = Versions(at.layout).find(address)
    assert found is not None
    assert Versions(at.layout).read(found) == data
    findings = Findings()
    with at.scratch() as folder, Facts(folder, 1) as facts:
        reader = VersionReader(at.root, "folder", SCOPE, facts, findings)
        reader.read_folder(file.parent)
    with at.proving() as told:
        _orderly(*told).read_folder(file.parent)
        assert not findings.kept
    file.unlink()


def read_a_bundle(data: bytes) -> None:
    """The bundle verifier: only what was exported verifies."""
    at = place()
    with at.scratch() as folder:
        answer = verify_bundle(lambda: io.BytesIO(data), folder)
    assert data == at.bundle or not answer["valid"]


def verify_a_record(data: bytes) -> None:
    """The record verifier: a verdict for any bytes, with a reason where it is a no."""
    verdict = _case().verdict(data)
    assert verdict["valid"] or verdict["reason"] in REASONS


@cache
def _case() -> Case:
    return example()


TARGETS = {
    "ledger": Target(lambda: [place().ledger], read_a_ledger),
    "pack": Target(lambda: [place().packed], read_a_pack),
    "version": Target(lambda: place().packed.splitlines(), read_a_version),
    "bundle": Target(lambda: [place().bundle], read_a_bundle),
    "record": Target(lambda: [_case().projection.record_text], verify_a_record),
}
