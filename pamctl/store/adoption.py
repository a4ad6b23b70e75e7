"""Taking over what another store wrote, byte by byte. `store-format/custody.md`.

What comes in is built beside the scopes. It becomes part of the store when all of it was found
right, and by one rename: of the folder of a scope that is new here, of the ledger of one that is
here, after its packs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import copyfileobj, rmtree
from stat import S_IMODE
from typing import IO, Any

from pamctl.encoding.canonical import canonical
from pamctl.encoding.digests import sha256_digest, sha256_hex
from pamctl.errors import PamError, ServiceUnavailable
from pamctl.store import files
from pamctl.store.custody import add_custody, custody_line
from pamctl.store.directory import StoreDirectory
from pamctl.store.layout import ScopeLayout
from pamctl.store.ledger import damaged_ledger
from pamctl.store.lock import exclusive
from pamctl.store.packs import pack_lines, parsed_version
from pamctl.store.plain_files import open_plain
from pamctl.store.versions import Versions

_COPY_BYTES = 1 << 20
_BUFFER_BYTES = 128 * 1024
_YOUNG_SEC = 60


@contextlib.contextmanager
def place_to_build(root: Path) -> Iterator[Path]:
    """A folder in a store's folder to build in; it is gone when the block is left. Those that
    imports left that died go too."""
    with files.building(root, "import") as folder, exclusive(folder / "lock"):
        now = folder.stat().st_mtime
        for left in root.glob(".import.*.new"):
            # One that was made just now may not have its lock yet.
            if left != folder and left.is_dir() and left.stat().st_mtime < now - _YOUNG_SEC:
                with contextlib.suppress(ServiceUnavailable), exclusive(left / "lock", wait_sec=0):
                    rmtree(left, ignore_errors=True)
        yield folder


class StagedScope:
    """Ledger lines and packs of one scope, on their way. Nothing is durable yet.

    folder: to build in; made here.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._layout = ScopeLayout(folder)
        self._layout.packs.mkdir()
        self._ledger: IO[bytes] = self._layout.ledger.open("wb", _BUFFER_BYTES)
        self._pack: IO[bytes] | None = None
        # Not in the folder, which is to be the scope's.
        self.embeddings = folder.with_name(folder.name + ".embeddings")

    def add_embedding(self, data: bytes) -> None:
        """The next vector, as it stands in a bundle."""
        with self.embeddings.open("ab") as file:
            file.write(data + b"\n")

    def add_line(self, data: bytes) -> None:
        """The next ledger line."""
        self._ledger.write(data + b"\n")

    def add_version(self, data: bytes) -> None:
        """The next line of the pack that is being written."""
        if self._pack is None:
            self._pack = self._open_pack.open("wb", _BUFFER_BYTES)
        self._pack.write(data + b"\n")

    def name_pack(self, name: str) -> None:
        """The pack that was being written is whole, and this is the digest of its bytes."""
        assert self._pack is not None
        self._pack.close()
        self._pack = None
        files.name_unsettled(self._open_pack, self._layout.pack_file(name))

    def close(self) -> None:
        """All was added, or is given up."""
        self._ledger.close()
        if self._pack is not None:
            self._pack.close()

    @property
    def _open_pack(self) -> Path:
        return self.folder / "pack"

    def adopt(
        self, directory: StoreDirectory, scope: Mapping[str, Any], custody: Mapping[str, Any]
    ) -> None:
        """Become a scope that is not here yet. Durable when this returns."""
        for name in (self._layout.versions, self._layout.staging):
            name.mkdir()
        self._layout.scope_file.write_bytes(canonical(dict(scope)) + b"\n")
        self._layout.custody.write_bytes(custody_line(custody))
        directory.adopt_scope(self.folder, scope["scope_id"])

    def go_on_from(self, layout: ScopeLayout, at: int) -> None:
        """Put the first `at` bytes of a scope's ledger before the lines that were added: then
        what was built is the whole ledger that the scope will have. Those bytes never change,
        so this needs no lock. Raises StoreDamaged where they are not there."""
        whole = self.folder / "whole"
        with os.fdopen(open_plain(layout.ledger), "rb") as before, whole.open("xb") as joined:
            left = at
            while piece := before.read(min(left, _COPY_BYTES)):
                joined.write(piece)
                left -= len(piece)
            if left:
                raise damaged_ledger(layout.ledger, at - left, "is missing")
            with self._layout.ledger.open("rb") as added:
                copyfileobj(added, joined, _COPY_BYTES)
        files.name_unsettled(whole, self._layout.ledger)

    def take_over(
        self, layout: ScopeLayout, custody: Mapping[str, Any], *, beginning: bytes | None = None
    ) -> None:
        """Put what was built in the place of a scope's ledger, all of it by one rename: no
        reader sees a part of it, and no death leaves one. Durable when this returns; where it
        cannot be made so, the ledger is what it was. The caller holds the scope's lock, and
        knows that the ledger is still the one that was gone on from, or the `beginning` that
        gives way."""
        for pack in sorted(self._layout.packs.iterdir()):
            files.move_durably(pack, layout.packs / pack.name)
        add_custody(layout, custody)
        before = layout.ledger.stat()
        self._layout.ledger.chmod(S_IMODE(before.st_mode))
        try:
            files.move_durably(self._layout.ledger, layout.ledger)
        except BaseException:
            with contextlib.suppress(PamError):
                if beginning is None:
                    files.cut_durably(layout.ledger, before.st_size)
                else:
                    files.replace_whole(layout.ledger, beginning)
            raise


def stubs_in_packs(layout: ScopeLayout, stubs: Mapping[str, bytes]) -> dict[str, str]:
    """Write each pack that holds one of these versions anew, with the stub in its place; by
    address. Durable when this returns; the old packs stay. The new packs by the old ones."""
    versions = Versions(layout)
    found = [versions.find(address) for address in stubs]
    affected = {one.pack: None for one in found if one is not None and one.pack is not None}
    replaced = {}
    for old in affected:
        lines = [_in_place(data, stubs) for data, _ in pack_lines(layout, old)]
        data = b"\n".join(lines) + b"\n"
        name = sha256_hex(data)
        if name != old:
            files.create_idempotent(layout.pack_file(name), data, staging=layout.staging)
            replaced[old] = name
    return replaced


def _in_place(line: bytes, stubs: Mapping[str, bytes]) -> bytes:
    address = parsed_version(line)[1] or sha256_digest(line)
    return stubs.get(address, line)
