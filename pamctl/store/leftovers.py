"""What dead writers left that nobody was told of: orphans and quarantine, searched for what
was erased. Nothing else in them is touched, and what is left of a file is kept."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256, sha256_hex
from pamctl.errors import InvalidObject
from pamctl.model.vocabulary import IDENTIFIERS
from pamctl.store import files
from pamctl.store.layout import ScopeLayout, pack_name
from pamctl.store.packs import parsed_version
from pamctl.store.versions import version_files

_CONTENT = b'"canonical_content":'


class Addresses:
    """The addresses of versions, as digests: those that a scope's ledger names, and those of
    them that were erased. There may be hundreds of thousands."""

    def __init__(self, every: Collection[bytes], erased: Collection[bytes]) -> None:
        self._every = every
        self._erased = erased

    def has(self, address: str) -> bool:
        """Whether the ledger names it."""
        return bytes.fromhex(address[7:]) in self._every

    def has_kept(self, data: bytes) -> bool:
        """Whether the ledger names a version of these bytes, and it was not erased."""
        digest = sha256(data).digest()
        return digest in self._every and digest not in self._erased


class Traces:
    """By what erased versions can be recognized: their objects and their contents."""

    def __init__(self) -> None:
        self._objects: set[str] = set()
        self._contents: set[bytes] = set()

    def __bool__(self) -> bool:
        return bool(self._objects)

    def learn(self, data: bytes) -> None:
        """Take in the bytes of a version that is about to go."""
        envelope = parsed_version(data)[0]
        if envelope is not None:
            self._objects.update(_names(envelope))
            if "canonical_content" in envelope:
                self._contents.add(canonical(envelope["canonical_content"]))

    def in_line(self, data: bytes) -> bool:
        """Whether bytes that nobody committed are a version of an erased object, or hold the
        content of one, in whole or torn off."""
        envelope = parsed_version(data)[0]
        if envelope is not None:
            known = not self._objects.isdisjoint(_names(envelope))
            return "canonical_content" in envelope and (known or self._has(envelope))
        _, _, rest = data.rstrip(b"\x00").partition(_CONTENT)
        return bool(rest) and any(
            rest.startswith(content) or content.startswith(rest) for content in self._contents
        )

    def _has(self, envelope: Mapping[str, Any]) -> bool:
        try:
            return canonical(envelope["canonical_content"]) in self._contents
        except InvalidObject:
            return False


def erase_from_leftovers(
    layout: ScopeLayout,
    quarantine: Path,
    traces: Traces,
    *,
    committed: Addresses,
    announced: Collection[str],
) -> list[str]:
    """Take what was erased out of orphaned versions and packs, and out of quarantine.

    The caller holds the scope's lock, so that what no entry names was left by a writer that
    died. Durable.

    Arguments:
        quarantine: the folder where this scope's leftovers are set aside.
        committed: what the ledger names. A copy of a version that was not erased belongs to an
            object that has a say of its own, whatever it holds.
        announced: packs that the ledger names.

    Returns sentences for the user.
    """
    orphans = [
        path
        for address, path, is_stub in version_files(layout)
        if not is_stub and not committed.has(address) and traces.in_line(path.read_bytes())
    ]
    files.remove_durably(orphans)
    count = len(orphans)
    for path in list(_files(layout.packs)):
        name = pack_name(path.name)
        if name is not None and name not in announced:
            count += _erase_from_orphaned_pack(layout, name, traces, committed)
    in_quarantine = sum(_erase_lines(path, traces, committed) for path in list(_files(quarantine)))
    notices = []
    if count:
        notices.append(
            f"{count} versions that were never committed held what was erased, and are gone too"
        )
    if in_quarantine:
        notices.append(
            f"{in_quarantine} versions or parts of some that were set aside in {quarantine} held "
            "what was erased; they are gone, and the rest is kept"
        )
    return notices


def _erase_from_orphaned_pack(
    layout: ScopeLayout, name: str, traces: Traces, committed: Addresses
) -> int:
    """Write an orphaned pack anew, without what was erased, and without stubs of an erasure
    that never came to its commit. How many versions were erased.

    The rest stays a pack: a version that was committed may, after damage, stand nowhere else.
    """
    path = layout.pack_file(name)
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    rest = [line for line in lines if not _is_erased(line, traces, committed)]
    kept = [line for line in rest if parsed_version(line)[1] is None]
    if len(kept) == len(lines):
        return 0
    if kept:
        data = b"\n".join(kept) + b"\n"
        anew = layout.pack_file(sha256_hex(data))
        files.create_idempotent(anew, data, staging=layout.staging)
    files.remove_durably([path])
    return len(lines) - len(rest)


def _erase_lines(path: Path, traces: Traces, committed: Addresses) -> int:
    """Take lines that hold something erased out of a file in quarantine; how many."""
    lines = path.read_bytes().split(b"\n")
    kept = [line for line in lines if not _is_erased(line, traces, committed)]
    if len(kept) == len(lines):
        return 0
    if any(kept):
        files.replace_whole(path, b"\n".join(kept))
    else:
        files.remove_durably([path])
    return len(lines) - len(kept)


def _is_erased(line: bytes, traces: Traces, committed: Addresses) -> bool:
    return traces.in_line(line) and not committed.has_kept(line)


def _files(folder: Path) -> Iterator[Path]:
    """The regular files in a folder and below it; no link is followed."""
    if not folder.is_dir() or folder.is_symlink():
        return
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path))
        elif entry.is_file(follow_symlinks=False):
            yield Path(entry.path)


def _names(envelope: Mapping[str, Any]) -> set[str]:
    return {envelope[name] for name in IDENTIFIERS if isinstance(envelope.get(name), str)}
