"""Taking the bytes of erased versions away. PAMSPEC §16.3; `store-format/versions.md`.

What a pack keeps is durable in a new pack before the erasing transaction is appended; that is
the commit. Only then is anything removed, and whoever writes next finishes what a writer that
died had begun.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.errors import StoreDamaged
from pamctl.limits import DOCUMENT_BYTES_MAX
from pamctl.named_tuples import NamedTuple
from pamctl.store import files
from pamctl.store.layout import ScopeLayout
from pamctl.store.leftovers import Traces
from pamctl.store.plain_files import open_plain
from pamctl.store.records import StoredVersion
from pamctl.store.versions import Versions, remainder


class Erasing(NamedTuple):
    """What an `erasure` entry does.

    stub: the bytes that stay.
    place: where the version stands; None for one that the same commit would make, and of
        which then nothing but the stub is ever written.
    """

    stub: bytes
    place: StoredVersion | None = None


def stub_bytes(envelope: Mapping[str, Any], erased: Mapping[str, Any]) -> bytes:
    """What stays of a version.

    erased: the body of its `erasure` entry, of which the stub repeats which version it was
        and what made it go.
    """
    named = {member: erased[member] for member in ("address", "event_id", "erased_at")}
    return canonical({"envelope": remainder(envelope), "erased": named})


def withheld_stub(envelope: Mapping[str, Any], address: str) -> bytes:
    """What goes into a bundle for a version whose content does not leave the store, and stays
    in its place wherever it is imported."""
    return canonical({"envelope": remainder(envelope), "withheld": {"address": address}})


def rewrite_packs(layout: ScopeLayout, erasures: Mapping[str, Erasing]) -> list[dict[str, Any]]:
    """Write each pack that holds one of these versions anew, with stubs in their places.

    Durable when this returns; the old packs stay. The bodies of the `pack` entries that
    announce the new ones and say which they replace.
    """
    affected = {
        erasing.place.pack: None
        for erasing in erasures.values()
        if erasing.place is not None and erasing.place.pack is not None
    }
    bodies = []
    for old in affected:
        lines = []
        with os.fdopen(open_plain(layout.pack_file(old)), "rb") as pack:
            while line := pack.readline(DOCUMENT_BYTES_MAX + 1):
                data = line.removesuffix(b"\n")
                if len(data) > DOCUMENT_BYTES_MAX:
                    raise StoreDamaged(
                        f"the pack {old} has a line that is longer than a version may be",
                        hint="run `pamctl fsck` to see what is damaged; nothing was changed",
                        path=str(layout.pack_file(old)),
                    )
                erasing = erasures.get(sha256_digest(data))
                lines.append(data if erasing is None else erasing.stub)
        data = b"\n".join(lines) + b"\n"
        name = sha256_hex(data)
        files.create_idempotent(layout.pack_file(name), data, staging=layout.staging)
        bodies.append({"name": name, "versions": len(lines), "replaces": old})
    return bodies


def unfinished(
    layout: ScopeLayout, erased: Collection[str], replaced: Mapping[str, str]
) -> tuple[Traces, list[str], list[str]]:
    """What a writer that committed an erasure has not removed yet.

    Arguments:
        erased: addresses that the ledger says were erased.
        replaced: packs that the ledger says were replaced, and by which.

    Returns what can be told of the erased versions from those bytes, the addresses of
    version files that are still there, and the packs. A pack is not counted whose
    replacement is missing: it may be the only one that has the other versions.
    """
    traces, addresses, packs = Traces(), [], []
    for address in erased:
        path = layout.version_file(address)
        if path.is_file() and not path.is_symlink():
            traces.learn(path.read_bytes())
            addresses.append(address)
    for name, successor in replaced.items():
        with (
            contextlib.suppress(FileNotFoundError, StoreDamaged),
            os.fdopen(open_plain(layout.pack_file(name)), "rb") as pack,
        ):
            while line := pack.readline(DOCUMENT_BYTES_MAX + 1):
                data = line.removesuffix(b"\n")
                if sha256_digest(data) in erased:
                    traces.learn(data)
            if successor in replaced or layout.pack_file(successor).is_file():
                packs.append(name)
    return traces, addresses, packs


def remove(
    layout: ScopeLayout,
    bodies: Mapping[str, Mapping[str, Any]],
    addresses: Iterable[str],
    packs: Iterable[str],
) -> None:
    """Put stubs in the place of version files, and let these packs go. Durable.

    bodies: of the `erasure` entries, by address. A file whose bytes are not the version's
    makes no stub and stays; `version-altered` is what a checker says of it.
    """
    versions, gone = Versions(layout), []
    for address in addresses:
        found = versions.find(address)
        if found is not None and not found.erased and found.envelope is not None:
            stub = stub_bytes(found.envelope, bodies[address])
            files.create_idempotent(layout.stub_file(address), stub, staging=layout.staging)
        elif found is None or not found.erased:
            continue
        gone.append(layout.version_file(address))
    files.remove_durably([*gone, *(layout.pack_file(name) for name in packs)])
